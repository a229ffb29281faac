"""The code of README.md, of the tutorial and of the page on gaps runs, at toy size."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

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
    """Estimators get toy settings, longer runs a few draws."""
    code = re.sub(r"(BDeepNoise(?:Regressor|Survival|Classifier)\()(?!\))", r"\1**TINY, ", code)
    code = re.sub(r"(BDeepNoise\w+\()\)", r"\1**TINY)", code)
    return re.sub(r"(draws[= ])\d+", r"\g<1>12", code)


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
    assert "BDeepNoiseRegressor(**TINY, random_state=0)" in shrunk(blocks("README.md")[0][1])
    assert shrunk("deepnoise resume model --draws 400") == "deepnoise resume model --draws 12"


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md", "docs/beyond.md"])
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"TINY": TINY}
    for kind, code in blocks(page):
        if kind == "python":
            exec(compile(shrunk(code), page, "exec"), namespace)
        elif kind == "bash":
            for line in code.replace("\\\n", " ").splitlines():
                if line.startswith("deepnoise "):
                    run_command(line)
