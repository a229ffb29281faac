"""The examples run, at toy size, and their pages are made of what they show."""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.test_docs import shrunk

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery"
PICTURE = re.compile(r"!\[.+?\]\((.*?)\)")
spec = importlib.util.spec_from_file_location("render", ROOT / "examples" / "render.py")
render = importlib.util.module_from_spec(spec)
spec.loader.exec_module(render)


def toy(name: str) -> str:
    """The script with a tiny estimator and few rows."""
    source = (ROOT / "examples" / f"{name}.py").read_text("utf-8")
    source = source.replace("subjects=600", "subjects=60").replace("480", "48")
    return "from tests.test_docs import TOYS\n\nglobals().update(TOYS)\n" + shrunk(source)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:empty mask:UserWarning")  # nilearn, of a toy that finds none
@pytest.mark.parametrize("name", render.NAMES)
def test_examples_run(name, tmp_path):
    page = render.page(name, toy(name), tmp_path)
    assert PICTURE.findall(page) == [f"{name}.png"] == [path.name for path in tmp_path.iterdir()]
    assert "tiny" in page
    assert "```text" in page


@pytest.mark.parametrize("name", render.NAMES)
def test_pages_are_of_these_scripts(name):
    source = (ROOT / "examples" / f"{name}.py").read_text("utf-8")
    page = (GALLERY / f"{name}.md").read_text("utf-8")
    for cell in render.cells(source):
        text, alt = render.words(cell.text)
        assert text in page
        assert cell.code in page
        assert f"![{alt}]" in page or not alt
    (picture,) = PICTURE.findall(page)
    assert (GALLERY / picture).stat().st_size < 400_000


def test_the_gallery_shows_all():
    index = (GALLERY / "index.md").read_text("utf-8")
    for name in render.NAMES:
        assert f"{name}.png" in index
        assert f"({name}.md)" in index


def test_cells():
    found = render.cells("# # Title\n#\n# text\n\na = 1\nb = [  # why\n    2\n]\n\n# more\n\na\n")
    assert [(cell.text, cell.code) for cell in found] == [
        ("# Title\n\ntext", "a = 1\nb = [  # why\n    2\n]"),
        ("more", "a"),
    ]
    assert render.run("a = 2\nprint(a)\na + 1", {}) == ("2\n", 3)
    assert render.words("text\n\n<!-- alt: a\nb -->") == ("text", "a b")


def test_output_is_put_below_the_code(tmp_path):
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "examples" / "refresh.py")
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    code, command = "```python\nprint(1)\n```\n\n", "text\n\n```bash\necho 2\n```\n\n"
    page = f"{code}```text\nold\n```\n\n{command}end\n"
    new = f"{code}```text\n1\n```\n\n{command}```text\n2\n```\n\nend\n"
    assert refresh.refreshed(page) == new
    assert refresh.refreshed(new) == new
