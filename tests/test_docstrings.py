"""Docstrings in numpydoc: the reference pages print a type and a default for each entry."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from deepnoise.baselines.registry import METHODS
from deepnoise.estimators.files import ESTIMATORS, NETWORKS

SOURCE = Path(__file__).resolve().parents[1] / "src" / "deepnoise"
SECTIONS = ("Parameters", "Attributes", "Returns", "Examples", "Raises")
CLASSES = {
    name: module
    for name, module in {
        **ESTIMATORS,
        **NETWORKS,
        **{m.estimator: m.module for m in METHODS.values()},
    }.items()
    if name != "BDeepNoiseSurvival"  # whose parameters are its parent's, as it says
}


def entries(docstring: str, section: str) -> list[str]:
    """The first lines of the entries of a section: "hidden : tuple of int"."""
    lines = inspect.cleandoc(docstring).splitlines()
    if section not in lines:
        return []
    rest = lines[lines.index(section) + 2 :]
    ends = [n for n, line in enumerate(rest) if line in SECTIONS]
    return [line for line in rest[: min(ends, default=len(rest))] if re.match(r"\S", line)]


def several(entry: str) -> bool:
    """Whether an entry names more than one parameter."""
    return "," in entry.partition(" : ")[0]


def documented() -> list[tuple[str, str]]:
    """Where and what, for every entry of a section of parameters or attributes."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [
        (f"{path.relative_to(SOURCE)}: {node.name}", entry)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, kinds)
        for section in ("Parameters", "Attributes")
        for entry in entries(ast.get_docstring(node) or "", section)
    ]


def test_entries_are_found():
    text = "Fit.\n\n    Parameters\n    ----------\n    a, b : int\n        Both.\n    c : int\n"
    assert entries(text, "Parameters") == ["a, b : int", "c : int"]
    assert several("a, b : int")
    assert not several("c : {1, 2}")
    assert (
        "estimators/bdeepnoise.py: BDeepNoiseRegressor",
        "warmup : int, optional",
    ) in documented()


def test_every_entry_names_one_parameter():
    assert not [(place, entry) for place, entry in documented() if several(entry)]


@pytest.mark.parametrize("name", CLASSES)
def test_estimators_document_each_of_their_parameters_once(name):
    try:
        made = getattr(import_module(CLASSES[name]), name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("deepnoise"):
            raise
        pytest.skip(str(error))
    named = [entry.partition(" : ")[0] for entry in entries(made.__doc__, "Parameters")]
    assert sorted(named) == sorted(inspect.signature(made).parameters)
