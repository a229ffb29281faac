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
    head = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in [*names, last])
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in cells[: len(names)])
        + f'<td style="{CELL}">{"".join(cells[len(names) :])}</td></tr>'
        for cells in rows
    )
    return f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _caption(title: str) -> str:
    return f'<caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
