"""Small HTML for notebooks, in the colours of the page around it; every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

CELL = "text-align:left;padding:2px 10px;vertical-align:top"
NAME = f"{CELL};font-weight:normal;opacity:.75"


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> str:
    """A titled list of names and values."""
    lines = "".join(
        f'<tr><th scope="row" style="{NAME}">{escape(str(name))}</th>'
        f'<td style="{CELL}">{escape(str(value))}</td></tr>'
        for name, value in pairs
    )
    return f"<table>{_caption(title)}<tbody>{lines}</tbody></table>"


def table(title: str, names: Sequence[str], rows: Iterable[Sequence[str]], last: str = "") -> str:
    """A titled table of texts; ``last`` names a column whose cells are HTML already."""
    heads = [*names, last] if last else names
    head = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in heads)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in cells[: len(names)])
        + "".join(f'<td style="{CELL}">{cell}</td>' for cell in cells[len(names) :])
        + "</tr>"
        for cells in rows
    )
    return f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lines(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same table as plain text: names to the left, numbers to the right."""
    cells = [list(names), *map(list, rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(names))]
    shown = [
        "  ".join(
            cell.rjust(width) if j else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join([title, *(line.rstrip() for line in shown)])


def _caption(title: str) -> str:
    return f'<caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
