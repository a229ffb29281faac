"""Do the densities keep their promises?  PIT histogram, coverage curve, and a verdict."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.stats import binom

from ..prediction import metrics
from . import svg
from .case import Case
from .words import counted, number, percent

BAND = 0.95
LEVELS = (0.5, 0.8, 0.9, 0.95)
FEW = 20
# |mean PIT - 1/2| beyond this many standard errors is called a bias; false alarm 1 %.
BIAS = 2.576


@dataclass(frozen=True)
class Coverage:
    level: str
    covered: str
    expected: str
    reading: str


@dataclass(frozen=True)
class Calibration:
    status: str
    verdict: str
    windows: str
    table: tuple[Coverage, ...]
    histogram: Markup
    curve: Markup


def calibration(case: Case) -> Calibration:
    pit = metrics.pit_seen(case.density, case.outcomes)
    needed = np.abs(2 * pit - 1)
    status, verdict = judge(pit)
    return Calibration(status, verdict, windows(case), table(needed), histogram(pit), curve(needed))


def windows(case: Case) -> str:
    """How rows count that were not seen exactly."""
    if not case.windowed:
        return ""
    return (
        f"{counted(case.windowed, 'row')} not seen exactly: each is put at a random place within "
        "what is known of it, as its density has it, so that right densities still fill the "
        "picture evenly. This supposes that rows were not censored because of their outcomes."
    )


def judge(pit: np.ndarray) -> tuple[str, str]:
    """unknown, narrow, wide, biased or good, and a sentence."""
    rows = len(pit)
    if rows < FEW:
        return "unknown", f"{counted(rows, 'row')}: too few to judge calibration ({FEW} at least)."
    inside = int(np.sum(np.abs(2 * pit - 1) <= 0.9))
    low, high = binom.interval(BAND, rows, 0.9)
    found = f"90\N{NO-BREAK SPACE}% intervals hold {percent(inside / rows)} of the rows"
    if inside < low:
        return "narrow", f"Too narrow: {found}. The model is surer than it should be."
    shift = (pit.mean() - 0.5) * np.sqrt(12 * rows)
    if abs(shift) > BIAS:
        side = "above" if shift > 0 else "below"
        return "biased", f"Biased: observations lie {side} their densities too often; {found}."
    if inside > high:
        return "wide", f"Too wide: {found}. The model is less sure than it could be."
    return "good", f"No sign against them: {found}, and nothing leans to one side."


def expected(rows: int, level: float) -> tuple[float, float]:
    """Shares between which the coverage of a right model lies with 95 % probability."""
    low, high = binom.interval(BAND, rows, level)
    return float(low) / rows, float(high) / rows


def table(needed: np.ndarray) -> tuple[Coverage, ...]:
    lines = []
    for level in LEVELS:
        share = float(np.mean(needed <= level))
        low, high = expected(len(needed), level)
        reading = (
            "as promised" if low <= share <= high else "too few" if share < low else "too many"
        )
        lines.append(
            Coverage(percent(level), percent(share), f"{percent(low)} to {percent(high)}", reading)
        )
    return tuple(lines)


def histogram(pit: np.ndarray) -> Markup:
    bins = int(np.clip(len(pit) // 10, 4, 20))
    counts, edges = np.histogram(pit, bins, (0, 1))
    low, high = binom.interval(BAND, len(pit), 1 / bins)
    plot = svg.panel((0, 1), (0, 1.15 * max(counts.max(), high)), 440, 260)
    hints = [
        f"{counted(int(count), 'row')} between {number(a, 2)} and {number(b, 2)}"
        for count, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    mean = len(pit) / bins
    parts = [
        svg.axes(plot, "share of the density below what was observed", "rows"),
        svg.area(plot, [0, 1], low, high, "expected"),
        svg.bars(plot, edges, counts, "bar", hints),
        svg.line(plot, [0, 1], [mean, mean], "dashed"),
    ]
    title = (
        f"Histogram of where observations fell in their densities, {bins} bins. A right model "
        f"has {number(low)} to {number(high)} rows in a bin; counts are "
        f"{', '.join(map(str, counts))}."
    )
    return svg.drawing("pit", title, parts, 440, 260)


def curve(needed: np.ndarray) -> Markup:
    nominal = np.linspace(0, 1, 101)
    share = np.searchsorted(np.sort(needed), nominal, side="right") / len(needed)
    ends = np.array([expected(len(needed), p) if 0 < p < 1 else (p, p) for p in nominal])
    plot = svg.panel((0, 100), (0, 104), 440, 260)
    parts = [
        svg.axes(plot, "nominal level of the interval, %", "rows inside, %"),
        svg.area(plot, 100 * nominal, 100 * ends[:, 0], 100 * ends[:, 1], "expected"),
        svg.line(plot, [0, 100], [0, 100], "dashed"),
        svg.line(plot, 100 * nominal, 100 * share, "curve"),
    ]
    held = "; ".join(f"{percent(p)}: {percent(float(np.mean(needed <= p)))}" for p in LEVELS)
    title = f"Share of rows inside their central intervals against the nominal level. {held}."
    return svg.drawing("coverage", title, parts, 440, 260)
