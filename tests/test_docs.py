"""Every block of code of README.md and of the pages runs, at toy size.

A page is read from its top: ``python`` blocks share their names, ``bash`` blocks hold commands of
deepnoise, both in one empty folder.  Blocks of other kinds (``sh``: installing, serving, data that
are not here) do not run.  Pages of the gallery are run by ``test_examples.py``.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import deepnoise
from deepnoise.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TUTORIAL = "docs/tutorials/command_line.md"
TINY = {"hidden": (3,), "chains": 2, "warmup": 10, "draws": 10, "paths": 2, "init": "prior"}
TINY |= {"sampler": "gibbs", "progress": False}
TINY_OPTIONS = "--hidden 3 --chains 2 --warmup 10 --draws 10 --paths 2 --init prior --sampler gibbs"
# Run by other tests, which know how to make them small.
ELSEWHERE = {"docs/how_to/neuro.md": "tests/neuro/test_study.py"}
SLOW = {
    "docs/explanation/bands.md",
    "docs/explanation/convergence.md",
    "docs/how_to/censored.md",
    "docs/how_to/classes.md",
    "docs/how_to/conformal.md",
    "docs/how_to/large_tables.md",
    "docs/how_to/missing.md",
    "docs/how_to/model_selection.md",
    "docs/how_to/report.md",
    "docs/how_to/several_outcomes.md",
    "docs/how_to/sites.md",
    "docs/how_to/support.md",
    TUTORIAL,
}


def pages() -> list[str]:
    """README.md and every page but results, reference and gallery."""
    found = [path.relative_to(ROOT) for path in sorted(DOCS.rglob("*.md"))]
    left_out = ("results", "reference", "gallery")
    return ["README.md", *(str(path) for path in found if path.parts[1] not in left_out)]


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
    arguments = shlex.split(shrunk(line), comments=True)
    assert arguments.pop(0) == "deepnoise", f"a bash block holds commands of deepnoise only: {line}"
    if arguments[0] == "fit":
        arguments += TINY_OPTIONS.split()
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"


def run_block(kind: str, code: str, page: str, namespace: dict) -> None:
    if kind == "python":
        exec(compile(shrunk(code), page, "exec"), namespace)
    elif kind == "bash":
        for line in code.replace("\\\n", " ").splitlines():
            if line.strip() and not line.startswith("#"):
                run_command(line)


def test_blocks_are_found_and_shrunk():
    kinds = [kind for kind, _ in blocks(TUTORIAL)]
    assert kinds.count("bash") > 5
    assert "tinyRegressor(random_state=0)" in shrunk(dict(blocks("README.md"))["python"])
    assert shrunk("deepnoise resume model --draws 400") == "deepnoise resume model --draws 12"
    assert {*SLOW, *ELSEWHERE} <= set(pages())


def with_code(page: str) -> bool:
    return page not in ELSEWHERE and any(kind in ("python", "bash") for kind, _ in blocks(page))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else [])
        for page in pages()
        if with_code(page)
    ],
)
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = dict(TOYS)
    if page != TUTORIAL and "past.csv" in (ROOT / page).read_text("utf-8"):
        run_block(*next(b for b in blocks(TUTORIAL) if b[0] == "python"), TUTORIAL, namespace)
    for kind, code in blocks(page):
        run_block(kind, code, page, namespace)


def test_the_reference_lists_every_public_name():
    listed = set(re.findall(r"^::: (\S+)", (DOCS / "reference/python.md").read_text("utf-8"), re.M))
    assert {f"deepnoise.{name}" for name in deepnoise.__all__} <= listed
    from deepnoise import plots

    assert {f"deepnoise.plots.{name}" for name in plots.__all__} <= listed


def test_the_reference_has_every_command(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "hooks"))
    import command_line

    text = command_line.commands()
    assert "## deepnoise study neuro" in text
    for name, command in main.commands.items():
        assert name == "study" or f"## deepnoise {name}\n" in text
        for option in command.params:
            assert name == "study" or option.param_type_name == "argument" or option.opts[0] in text
    assert command_line.PLACE in (DOCS / command_line.PAGE).read_text("utf-8")
    sys.modules.pop("command_line")
