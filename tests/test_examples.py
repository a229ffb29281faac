"""The examples run, at toy size, and their pages are made of what they show."""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.test_docs import shrunk

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("render", ROOT / "examples" / "render.py")
render = importlib.util.module_from_spec(spec)
spec.loader.exec_module(render)


def toy(name: str) -> str:
    """The script with a tiny estimator."""
    source = (ROOT / "examples" / f"{name}.py").read_text("utf-8")
    return "from tests.test_docs import TOYS\n\nglobals().update(TOYS)\n" + shrunk(source)


@pytest.mark.slow
@pytest.mark.parametrize("name", render.NAMES)
def test_examples_run(name, tmp_path):
    page = render.page(name, toy(name), tmp_path)
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert pictures
    assert sorted(pictures) == sorted(path.name for path in tmp_path.iterdir())
    assert "tinyRegressor(" in page
    assert "```text" in page


@pytest.mark.parametrize("name", render.NAMES)
def test_pages_are_of_these_scripts(name):
    source = (ROOT / "examples" / f"{name}.py").read_text("utf-8")
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text("utf-8")
    for cell in render.cells(source):
        assert cell.text in page
        assert cell.code in page
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", page):
        assert (ROOT / "docs" / "examples" / picture).stat().st_size < 200_000


def test_cells():
    found = render.cells("# # Title\n#\n# text\n\na = 1\nb = [  # why\n    2\n]\n\n# more\n\na\n")
    assert [(cell.text, cell.code) for cell in found] == [
        ("# Title\n\ntext", "a = 1\nb = [  # why\n    2\n]"),
        ("more", "a"),
    ]
    assert render.run("a = 2\nprint(a)\na + 1", {}) == ("2\n", 3)
