"""The examples in docstrings run, and give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted((SOURCE / "deepnoise").rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


# Most estimators compile programs of their own for their examples.
QUICK = ("bdeepnoise", "outcomes", "settings", "scoring")


def tiered(name: str):
    *_, folder, module = name.split(".")
    slow = folder == "estimators" and module not in QUICK
    return pytest.param(name, marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize("name", [tiered(name) for name in MODULES])
def test_examples_run(name, tmp_path, monkeypatch):
    try:
        module = import_module(name)
    except ImportError as error:
        pytest.skip(str(error))
    # Examples that save a model write to the working folder.
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted
    assert not results.failed, f"python -m doctest shows {results.failed} failures in {name}"


def test_the_examples_of_the_main_classes_are_among_them():
    named = {
        f"deepnoise.{name}" for name in ("estimators.bdeepnoise", "prediction.density.mixture")
    }
    assert named <= set(MODULES)
