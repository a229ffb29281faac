"""Run the examples and write what they show to docs/gallery/: one page per script, offline.

A script is made of cells: comment lines that begin a block are text in Markdown, what follows is
code.  Below the code of a cell stands what it printed and what its last expression is.  Each script
shows one picture; a comment ``<!-- alt: ... -->`` in its cell describes it in words.
"""

import ast
import contextlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "docs" / "gallery"
NAMES = ("quick_start", "multimodal", "survival", "missing", "several_outcomes", "brain")
DPI = 110
# Enough for smooth shades, at a third of the bytes.
COLOURS = 256
ALT = re.compile(r"\n*<!-- alt: (.*?) -->", re.DOTALL)
NOTE = "*This page is made from `examples/{name}.py` by `make examples`.*"


@dataclass(frozen=True)
class Cell:
    text: str
    code: str


def cells(source: str) -> list[Cell]:
    """Comment blocks at the left margin, after an empty line, begin a cell."""
    found: list[tuple[list[str], list[str]]] = []
    lines = source.splitlines()
    for i, line in enumerate(lines):
        begins = line.startswith("#") and (i == 0 or not lines[i - 1].strip())
        if begins or not found:
            found.append(([], []))
        text, code = found[-1]
        if line.startswith("#") and not any(code):
            text.append(line.removeprefix("#").removeprefix(" "))
        else:
            code.append(line)
    return [Cell("\n".join(text).strip(), "\n".join(code).strip()) for text, code in found]


def words(text: str) -> tuple[str, str]:
    """The text of a cell without its description of a picture, and that description."""
    found = ALT.search(text)
    return ALT.sub("", text), " ".join(found[1].split()) if found else ""


def run(code: str, namespace: dict[str, Any]) -> tuple[str, Any]:
    """What the code prints, and the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "example", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "example", "eval"), namespace)
    return printed.getvalue(), value


def shown(value: Any, picture: Path, alt: str) -> str:
    """A value as text, or as the picture that it is."""
    if not hasattr(value, "savefig"):
        return f"```text\n{value}\n```"
    if not alt or picture.exists():
        raise ValueError(f"{picture.name}: one picture per page, with <!-- alt: ... --> beside it")
    # Twice the pixels that are shown, for screens that have them.
    value.savefig(picture, dpi=2 * DPI)
    Image.open(picture).convert("RGB").quantize(COLOURS).save(picture, optimize=True)
    width = round(DPI * value.get_figwidth())
    return f'![{alt}]({picture.name}){{ width="{width}" }}'


def page(name: str, source: str, folder: Path) -> str:
    namespace: dict[str, Any] = {"__name__": name}
    picture = folder / f"{name}.png"
    picture.unlink(missing_ok=True)
    parts = []
    for cell in cells(source):
        text, alt = words(cell.text)
        parts.append(text)
        if not cell.code:
            continue
        parts.append(f"```python\n{cell.code}\n```")
        printed, value = run(cell.code, namespace)
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
        if value is not None:
            parts.append(shown(value, picture, alt))
    parts.append(NOTE.format(name=name))
    return "\n\n".join(part for part in parts if part) + "\n"


def main(names: list[str]) -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in names or NAMES:
        source = (HERE / f"{name}.py").read_text("utf-8")
        (PAGES / f"{name}.md").write_text(page(name, source, PAGES), "utf-8")
        print(PAGES / f"{name}.md")


if __name__ == "__main__":
    main(sys.argv[1:])
