"""Which columns move the prediction, and where the predictive variance comes from."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ..estimators.table import take
from . import svg
from .case import Case
from .words import listed, number, percent

MOST = 15
BAR = 220.0
NAMED = 5


@dataclass(frozen=True)
class Feature:
    name: str
    bar: Markup
    mean: str
    interval: str
    spread: str


@dataclass(frozen=True)
class Influences:
    reading: str
    features: tuple[Feature, ...]
    left_out: int
    rows: int


@dataclass(frozen=True)
class Source:
    name: str
    bar: Markup
    share: str


@dataclass(frozen=True)
class Split:
    reading: str
    sources: tuple[Source, ...]
    histogram: Markup
    rows: int


def influences(case: Case) -> Influences | None:
    """Mean |change| of the mean and the spread of y a standard deviation of each feature."""
    places = case.details()
    if not np.isfinite(case.model.posterior_.plan.h.lipschitz) or not places.size:
        return None
    found = case.model.influence(take(case.X, places))
    scale = np.array(case.model.units_.x.scale)
    mean, low, high = (
        part * scale for part in (found.mean.mean, found.mean.lower, found.mean.upper)
    )
    spread = found.sd.mean * scale
    order = np.argsort(-mean, kind="stable")
    most = max(float(high.max()), 1e-300)
    features = tuple(
        Feature(
            found.names[j],
            whisker(mean[j] / most, low[j] / most, high[j] / most),
            number(mean[j], 3),
            f"{number(low[j], 3)} to {number(high[j], 3)}",
            number(spread[j], 3),
        )
        for j in order[:MOST]
    )
    clear = [found.names[j] for j in order if low[j] > np.median(mean)]
    return Influences(leading(clear), features, max(len(order) - MOST, 0), len(places))


def leading(clear: list[str]) -> str:
    """A sentence on the columns whose influence is surely above that of a typical one."""
    if not clear:
        return "No column moves the prediction clearly more than a typical one."
    names = (
        listed(clear[:NAMED]) if len(clear) <= NAMED else f"{', '.join(clear[:NAMED])} and others"
    )
    verb = "moves" if len(clear) == 1 else "move"
    return f"{names} {verb} the prediction clearly more than a typical column."


def whisker(mean: float, low: float, high: float) -> Markup:
    """A bar with its interval; the numbers stand beside it in the table."""
    parts = [
        svg.box(0, 5, BAR * mean, 12, "bar"),
        svg.segment(BAR * low, 11, BAR * high, 11, "axis"),
        svg.segment(BAR * low, 7, BAR * low, 15, "axis"),
        svg.segment(BAR * high, 7, BAR * high, 15, "axis"),
    ]
    return small(parts)


def small(parts: list[Markup]) -> Markup:
    return Markup('<svg class="small" viewBox="-1 0 {:g} 22" aria-hidden="true">{}</svg>').format(
        BAR + 2, svg.EMPTY.join(parts)
    )


def split(case: Case) -> Split | None:
    """Variance from not knowing the parameters against noise of the outcome."""
    places = case.details()
    if not places.size:
        return None
    parts = case.model.decompose(take(case.X, places))
    share = parts.epistemic / (parts.epistemic + parts.aleatoric)
    noise = np.average(parts.shares, axis=0, weights=parts.aleatoric) * (1 - share.mean())
    names = ["not knowing the parameters", *(noise_name(s) for s in parts.sources)]
    shares = [float(share.mean()), *map(float, noise)]
    sources = tuple(
        Source(
            name, small([svg.box(0, 5, BAR * s, 12, "bar" if i else "bar epistemic")]), percent(s)
        )
        for i, (name, s) in enumerate(zip(names, shares, strict=True))
    )
    return Split(split_reading(share, case, places), sources, histogram(share), len(places))


def noise_name(source: str) -> str:
    return "noise of the outcome" if source == "outcome" else f"noise {source}"


def split_reading(share: np.ndarray, case: Case, places: np.ndarray) -> str:
    row = int(case.rows[places[share.argmax()]])
    mean = float(share.mean())
    text = (
        f"On average {percent(mean)} of the predictive variance comes from not knowing the "
        "parameters (epistemic): more rows of the same kind would reduce it. The rest is noise "
        "given these columns (aleatoric): only better columns would."
    )
    if len(places) > 1:
        text += f" The model knows least about row {row} ({percent(float(share.max()))})."
    return text


def histogram(share: np.ndarray) -> Markup:
    counts, edges = np.histogram(100 * share, 20, (0, 100))
    plot = svg.panel((0, 100), (0, 1.15 * counts.max()), 440, 220)
    hints = [
        f"{count} rows between {a:.0f} and {b:.0f} %"
        for count, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    parts = [
        svg.axes(plot, "epistemic share of the variance, %", "rows"),
        svg.bars(plot, edges, counts, "bar epistemic", hints),
    ]
    title = (
        f"Histogram over {len(share)} rows of the epistemic share of the predictive variance: from "
        f"{percent(float(share.min()))} to {percent(float(share.max()))}."
    )
    return svg.drawing("split", title, parts, 440, 220)
