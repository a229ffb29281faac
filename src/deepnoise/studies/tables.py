"""Tables from ledgers: ours beside the paper's and the best published, in text, Markdown or LaTeX.

A cell is the mean over splits with its standard error.  Bold is best among the methods that were
run on most splits; a dagger marks those that a paired test on the common splits cannot tell from
it at 5 %.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from scipy import stats

from ..baselines.registry import METHODS
from ..datasets.uci import NAMES

ALPHA = 0.05
# The fixed splits hold out a tenth of the rows.
UCI_OVERLAP = 1 / 9
METRICS = {
    "rmse": "RMSE",
    "nll": "NLL",
    "lattice_nll": "NLL of the interval mass",
    "wepi95": "WEPI-95",
    "crps": "CRPS",
    "coverage95": "coverage of central 95 % intervals",
    "l1": "error × 1000",
    "seconds": "seconds of a fit",
    "memory_mib": "peak memory, MiB",
}
# No value is better than another: coverage is best where it is nominal, cost is no score.
UNRANKED = {"coverage95", "seconds", "memory_mib"}


@dataclass(frozen=True)
class Cell:
    """Mean and standard error over splits; infinite where a split has no finite value."""

    mean: float
    error: float
    count: int
    best: bool = False
    tied: bool = False


@dataclass(frozen=True)
class Table:
    """Cells by (set, column); a column is a method of ours or a published source."""

    title: str
    sets: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]


def tables(rows: Iterable[dict[str, Any]], metrics: Iterable[str] = METRICS) -> list[Table]:
    """A table for every metric that the rows have."""
    rows = [row for row in rows if not row.get("error")]
    made = (_table(rows, metric) for metric in metrics)
    return [table for table in made if table.cells]


def _table(rows: list[dict[str, Any]], metric: str) -> Table:
    values: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
    for row in rows:
        if (value := _value(row, metric)) is not None:
            place = values.setdefault((row["set"], row["method"]), {})
            place[row["split"], row["seed"]] = value
    sets = tuple(dict.fromkeys(row["set"] for row in rows))
    known = [name for name in METHODS if any((s, name) in values for s in sets)]
    cells: dict[tuple[str, str], Cell] = {}
    for name in sets:
        ours = {method: values[name, method] for method in known if (name, method) in values}
        overlap = UCI_OVERLAP if name in NAMES else 0.0
        ranked = _ranked(ours, metric not in UNRANKED, overlap)
        cells |= {(name, METHODS[method].label): cell for method, cell in ranked.items()}
    columns = [METHODS[name].label for name in known]
    for source, found in published(metric).items():
        if any(name in found for name in sets):
            columns.append(source)
            cells |= {(s, source): Cell(found[s], np.nan, 0) for s in sets if s in found}
    return Table(METRICS[metric], sets, tuple(columns), cells if known else {})


def _value(row: dict[str, Any], metric: str) -> float | None:
    if metric == "seconds":
        return row["fit_seconds"]
    if metric == "memory_mib":
        return row.get("memory_mib")
    if metric not in row["metrics"]:
        return None
    value = row["metrics"][metric]
    return np.inf if value is None else value


def _ranked(ours: dict[str, dict], rank: bool, overlap: float) -> dict[str, Cell]:
    """Cells of one set."""
    cells = {name: _cell(list(found.values())) for name, found in ours.items()}
    if not (rank and cells):
        return cells
    most = max(cell.count for cell in cells.values())
    best = min((n for n in cells if cells[n].count == most), key=lambda name: cells[name].mean)
    for name, cell in cells.items():
        close = name != best and tied(ours[name], ours[best], overlap)
        cells[name] = Cell(cell.mean, cell.error, cell.count, name == best, close)
    return cells


def _cell(values: list[float]) -> Cell:
    count = len(values)
    if not np.isfinite(values).all():
        return Cell(np.inf, np.nan, count)
    error = np.std(values, ddof=1) / np.sqrt(count) if count > 1 else np.nan
    return Cell(float(np.mean(values)), float(error), count)


def tied(one: dict, other: dict, overlap: float) -> bool:
    """Whether a test on the splits that two methods share, two at least, leaves them equal (5 %).

    A paired t-test; ``overlap``, test rows over training rows, widens its variance because splits
    of one set share rows (Nadeau and Bengio 2003); it is 0 for independent replicates.
    """
    common = sorted(set(one) & set(other))
    apart = np.array([one[split] - other[split] for split in common])
    if len(common) < 2 or not np.isfinite(apart).all():
        return False
    if not apart.any():
        return True
    variance = (1 / len(common) + overlap) * apart.var(ddof=1)
    if variance == 0:
        return False
    return bool(2 * stats.t.sf(abs(apart.mean()) / np.sqrt(variance), len(common) - 1) >= ALPHA)


def published(metric: str) -> dict[str, dict[str, float]]:
    """Numbers by source and set, from the paper and the literature."""
    text = (resources.files(__package__) / "published.toml").read_text("utf-8")
    return tomllib.loads(text).get(metric, {})


def render(table: Table, style: str = "text") -> str:
    """A table as "text", "markdown" or "latex"."""
    styles = {"text": _text, "markdown": _markdown, "latex": _latex}
    if style not in styles:
        raise ValueError(f"style must be one of {', '.join(styles)}; got {style!r}")
    counts: dict[str, list[int]] = {}
    for (name, _), cell in table.cells.items():
        counts.setdefault(name, []).append(cell.count)
    most = {name: max(found) for name, found in counts.items()}
    body = [
        [name, *(table.cells.get((name, column)) for column in table.columns)]
        for name in table.sets
        if name in most
    ]
    return styles[style](table, body, most)


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "∞"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _words(cell: Cell | None, most: int) -> str:
    if cell is None:
        return "–"
    words = _number(cell.mean)
    if cell.error > 1e-9 * abs(cell.mean):
        words += f" ({cell.error:.1g})"
    if 0 < cell.count < most:
        words += f" [{cell.count}]"
    return words + ("†" if cell.tied else "")


def _text(table: Table, body: list[list[Any]], most: dict[str, int]) -> str:
    lines = [["", *table.columns]]
    for name, *cells in body:
        words = [_words(cell, most[name]) for cell in cells]
        bold = [f"*{w}" if c is not None and c.best else w for w, c in zip(words, cells)]
        lines.append([name, *bold])
    widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
    rows = ["  ".join(w.rjust(n) for w, n in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([table.title, *rows])


def _markdown(table: Table, body: list[list[Any]], most: dict[str, int]) -> str:
    lines = [f"| {table.title} | " + " | ".join(table.columns) + " |"]
    lines.append("|---" * (1 + len(table.columns)) + "|")
    for name, *cells in body:
        words = [_words(cell, most[name]) for cell in cells]
        bold = [f"**{w}**" if c is not None and c.best else w for w, c in zip(words, cells)]
        lines.append(f"| {name} | " + " | ".join(bold) + " |")
    return "\n".join(lines)


def _latex(table: Table, body: list[list[Any]], most: dict[str, int]) -> str:
    signs = {"†": r"$^\dagger$", "∞": r"$\infty$", "–": "--", "%": r"\%", "×": r"$\times$"}

    def escaped(text: str) -> str:
        return "".join(signs.get(letter, letter) for letter in text)

    lines = [r"\begin{tabular}{l" + "r" * len(table.columns) + "}", r"\toprule"]
    lines.append(" & ".join(escaped(w) for w in (table.title, *table.columns)) + r" \\")
    lines.append(r"\midrule")
    for name, *cells in body:
        words = [escaped(_words(cell, most[name])) for cell in cells]
        bold = [rf"\textbf{{{w}}}" if c is not None and c.best else w for w, c in zip(words, cells)]
        lines.append(" & ".join([name, *bold]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
