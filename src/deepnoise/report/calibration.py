"""Do the densities keep their promises?  PIT histogram, coverage, and P(y >= c)."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.stats import binom

from ..estimators.outcomes import representative
from ..estimators.scoring import keeps_rows, training_rows
from ..estimators.table import take
from ..prediction import metrics
from ..prediction.density.supported import SupportedDensity
from . import svg
from .case import Case
from .words import capitalized, counted, number, percent

BAND = 0.95
LEVELS = (0.5, 0.8, 0.9, 0.95)
FEW = 20
# |mean PIT - 1/2| beyond this many standard errors is called a bias; false alarm 1 %.
BIAS = 2.576
# Rows that a group of the reliability picture must have.
A_GROUP = 10
GROUPS = 5
WIDTH, HEIGHT = 440, 260


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


@dataclass(frozen=True)
class Group:
    predicted: str
    observed: str
    allowed: str
    rows: str


@dataclass(frozen=True)
class RowAbove:
    name: str
    probability: str
    interval: str
    happened: str


@dataclass(frozen=True)
class Above:
    """One threshold c."""

    c: str
    reading: str
    groups: tuple[Group, ...]
    picture: Markup | None
    rows: tuple[RowAbove, ...]


def above(case: Case) -> tuple[Above, ...]:
    wanted = dict.fromkeys(case.thresholds or (usual_threshold(case),))
    return tuple(one_threshold(case, n, c) for n, c in enumerate(wanted))


def usual_threshold(case: Case) -> float:
    """A round number near the upper quartile of the training outcomes, or of the medians."""
    if isinstance(case.density, SupportedDensity):
        # Many medians may be 0, which all outcomes reach.
        seen = case.density.mean()
        seen = np.ceil(seen) if case.density.support.discrete else seen
    elif keeps_rows(case.model):
        seen = representative(training_rows(case.model)[1])
    else:
        seen = case.density.quantile(0.5)
    quarter = float(case.out(np.nanquantile(seen, 0.75)))
    return float(f"{quarter:.2g}")


def one_threshold(case: Case, n: int, c: float) -> Above:
    at = float(np.log(c)) if case.log else c
    chance = case.density.probability_above(at)
    known, share = happened(case, at)
    groups: tuple[Group, ...] = ()
    picture = None
    if known.any() and len(chance) >= 2 * A_GROUP:
        groups, picture = reliability(chance, share, f"{case.target} ≥ {number(c)}", n)
    return Above(
        number(c), mean_reading(chance, known, share), groups, picture, rows_above(case, at)
    )


def happened(case: Case, at: float) -> tuple[np.ndarray, np.ndarray]:
    """Of which rows it is known whether y >= c, and whether it was: 1 or 0.

    The others have the probability that the model gives it once their window is known.
    """
    if case.seen is None:
        return np.zeros(len(case.rows), bool), np.zeros(len(case.rows))
    low, high = case.bounds
    known = (low >= at) | (high < at)
    within = case.density.log_mass(np.clip(at, low, np.maximum(low, high)), high)
    whole = case.density.log_mass(low, high)
    exact = low == high
    guess = np.exp(np.where(exact, 0.0, within) - np.where(exact, 0.0, whole))
    return known, np.where(known, low >= at, guess)


def mean_reading(chance: np.ndarray, known: np.ndarray, share: np.ndarray) -> str:
    expected = float(chance.mean())
    if not known.any():
        return f"On average the model gives it {percent(expected)}."
    found, spread = float(share.mean()), float(np.sqrt(np.sum(chance * (1 - chance)))) / len(chance)
    text = f"On average the model gives it {percent(expected)}; it came true in {percent(found)}"
    if abs(found - expected) > 1.96 * spread:
        word = "more often" if found > expected else "less often"
        text += f", {word} than chance allows."
    else:
        text += ", as chance allows."
    if known.all():
        return text
    return (
        f"{text} In {counted(int((~known).sum()), 'row')} it is not known: they count by what the "
        "model says of them once it is told what is known, and so cannot speak against it."
    )


def reliability(
    chance: np.ndarray, share: np.ndarray, event: str, n: int
) -> tuple[tuple[Group, ...], Markup]:
    """Rows in groups of like probability: predicted against what came true."""
    count = min(GROUPS, len(chance) // A_GROUP)
    places = np.array_split(np.argsort(chance, kind="stable"), count)
    means = np.array([chance[p].mean() for p in places])
    shares = np.array([share[p].mean() for p in places])
    sizes = np.array([len(p) for p in places])
    ends = np.stack(binom.interval(BAND, sizes, means), axis=1) / sizes[:, None]
    groups = tuple(
        Group(percent(float(m)), percent(float(s)), f"{percent(a)} to {percent(b)}", str(int(size)))
        for m, s, (a, b), size in zip(means, shares, ends, sizes, strict=True)
    )
    plot = svg.panel((0, 100), (0, 104), WIDTH, HEIGHT)
    parts = [
        svg.axes(plot, f"predicted P({event}), %", "came true, %"),
        svg.line(plot, [0, 100], [0, 100], "dashed"),
    ]
    for m, (a, b) in zip(means, ends, strict=True):
        at, low, high = float(plot.x(100 * m)), *map(float, plot.y([100 * a, 100 * b]))
        parts.append(svg.segment(at, low, at, high, "whisker"))
    hints = [f"{g.rows} rows: predicted {g.predicted}, came true {g.observed}" for g in groups]
    parts.append(svg.dots(plot, 100 * means, 100 * shares, "dot", hints, 4))
    title = f"Predicted probability against what came true, in groups. {'; '.join(hints)}."
    return groups, svg.drawing(f"above-{n}", title, parts, WIDTH, HEIGHT)


def rows_above(case: Case, at: float) -> tuple[RowAbove, ...]:
    """The rows whose densities are drawn."""
    few = take(case.X, case.shown)
    if case.bayesian:
        found = case.model.predict_above(few, at, BAND)
    else:
        found = case.density[case.shown].probability_above(at)[:, None]
    known, share = happened(case, at)
    return tuple(
        RowAbove(
            capitalized(case.called(place)),
            percent(float(line[0])),
            f"{percent(float(line[1]))} to {percent(float(line[2]))}" if case.bayesian else "–",
            ("yes" if share[place] else "no") if known[place] else "not known",
        )
        for place, line in zip(case.shown, np.clip(found, 0, 1), strict=True)
    )
