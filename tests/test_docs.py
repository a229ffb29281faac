"""The code of README.md, of the tutorial and of the page on gaps runs, at toy size."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import deepnoise
from deepnoise.cli import main

ROOT = Path(__file__).resolve().parents[1]
TINY = {"hidden": (3,), "chains": 2, "warmup": 10, "draws": 10, "paths": 2, "init": "prior"}
TINY |= {"sampler": "gibbs", "progress": False}
TINY_OPTIONS = "--hidden 3 --chains 2 --warmup 10 --draws 10 --paths 2 --init prior --sampler gibbs"


def blocks(page: str) -> list[tuple[str, str]]:
    """Kind and text of every fenced block, in order."""
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shrunk(code: str) -> str:
    """Estimators get toy settings, longer runs a few draws or folds."""
    code = re.sub(r"BDeepNoise(\w+)\(", r"tiny\1(", code).replace("folds=20", "folds=2")
    return re.sub(r"(draws[= ])\d+", r"\g<1>12", code)


def tiny(kind: str):
    """The estimator of that kind, whose settings give way to toy ones."""
    made = getattr(deepnoise, f"BDeepNoise{kind}")
    return lambda **given: made(**{**given, **TINY})


TOYS = {f"tiny{kind}": tiny(kind) for kind in ("Regressor", "Survival", "Classifier")}


def run_command(line: str) -> None:
    arguments = shlex.split(shrunk(line), comments=True)[1:]
    if arguments[0] == "fit":
        arguments += TINY_OPTIONS.split()
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"


def test_blocks_are_found_and_shrunk():
    kinds = [kind for kind, _ in blocks("docs/tutorial.md")]
    assert kinds.count("python") > 5
    assert kinds.count("bash") > 5
    assert "tinyRegressor(random_state=0)" in shrunk(blocks("README.md")[0][1])
    assert shrunk("deepnoise resume model --draws 400") == "deepnoise resume model --draws 12"


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/tutorial.md",
        pytest.param("docs/beyond.md", marks=pytest.mark.slow),
        pytest.param("docs/beyond_outcomes.md", marks=pytest.mark.slow),
    ],
)
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = dict(TOYS)
    for kind, code in blocks(page):
        if kind == "python":
            exec(compile(shrunk(code), page, "exec"), namespace)
        elif kind == "bash":
            for line in code.replace("\\\n", " ").splitlines():
                if line.startswith("deepnoise "):
                    run_command(line)
