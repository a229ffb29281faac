"""P(y >= c): is it right on average and in groups, and what is it for single rows?"""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.stats import binom

from ..estimators.outcomes import representative
from ..estimators.scoring import keeps_rows, training_rows
from ..estimators.table import take
from ..prediction.density.supported import SupportedDensity
from . import svg
from .case import Case
from .words import capitalized, counted, number, percent

BAND = 0.95
# Rows that a group of the reliability picture must have.
A_GROUP = 10
GROUPS = 5
WIDTH, HEIGHT = 440, 260


@dataclass(frozen=True)
class Group:
    predicted: str
    observed: str
    allowed: str
    rows: str


@dataclass(frozen=True)
class Row:
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
    rows: tuple[Row, ...]


def above(case: Case) -> tuple[Above, ...]:
    wanted = dict.fromkeys(case.thresholds or (usual(case),))
    return tuple(one(case, n, c) for n, c in enumerate(wanted))


def usual(case: Case) -> float:
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


def one(case: Case, n: int, c: float) -> Above:
    at = float(np.log(c)) if case.log else c
    chance = case.density.probability_above(at)
    known, share = happened(case, at)
    groups: tuple[Group, ...] = ()
    picture = None
    if known.any() and len(chance) >= 2 * A_GROUP:
        groups, picture = reliability(chance, share, f"{case.target} ≥ {number(c)}", n)
    return Above(number(c), reading(chance, known, share), groups, picture, rows(case, at))


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


def reading(chance: np.ndarray, known: np.ndarray, share: np.ndarray) -> str:
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


def rows(case: Case, at: float) -> tuple[Row, ...]:
    """The rows whose densities are drawn."""
    few = take(case.X, case.shown)
    if case.bayesian:
        found = case.model.predict_above(few, at, BAND)
    else:
        found = case.density[case.shown].probability_above(at)[:, None]
    known, share = happened(case, at)
    return tuple(
        Row(
            capitalized(case.called(place)),
            percent(float(line[0])),
            f"{percent(float(line[1]))} to {percent(float(line[2]))}" if case.bayesian else "–",
            ("yes" if share[place] else "no") if known[place] else "not known",
        )
        for place, line in zip(case.shown, np.clip(found, 0, 1), strict=True)
    )
