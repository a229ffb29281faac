"""Which columns move the prediction and how, and where the predictive variance comes from."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ..estimators.effects import Effect
from ..estimators.effects import effects as found_effects
from ..estimators.table import take
from ..prediction.credible import Band
from ..prediction.influence import Influence
from . import svg
from .case import Case
from .words import listed, number, percent

MOST = 15
BAR = 220.0
NAMED = 5
LEVELS = 8
NOISE = "in the noise"
CURVES = 8
ROWS = 20
BAND = 0.9
WIDTH, HEIGHT = 440, 210
# So many letters fit below a picture on a phone; more levels than NAMED are not written out.
LETTERS, NAMED_LEVELS = 40, 12


@dataclass(frozen=True)
class Feature:
    """A column, or a level of the category above it: no bar and no size then."""

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
    """Change of the mean and the spread of y a standard deviation of each column."""
    places = case.details()
    if not np.isfinite(case.model.posterior_.plan.h.lipschitz) or not places.size:
        return None
    found = case.model.influence(take(case.X, places))
    effects = found.on_mean
    order = np.argsort(-effects.size, kind="stable")
    most = max(float(effects.size.max()), float(effects.floor[order[:MOST]].max()), 1e-300)
    features = [line for j in order[:MOST] for line in lines(found, j, most)]
    clear = [found.columns[j] for j in order if effects.clear[j]]
    return Influences(
        leading(clear, len(order)), tuple(features), max(len(order) - MOST, 0), len(places)
    )


def lines(found: Influence, j: int, most: float) -> list[Feature]:
    """A column, and below it the levels that it has."""
    effects, name = found.on_mean, found.columns[j]
    clear = bool(effects.clear[j])
    bar = floored(effects.size[j] / most, effects.floor[j] / most, clear)
    size = number(effects.size[j], 3)
    spread = number(found.on_sd.size[j], 3) if found.on_sd.clear[j] else NOISE
    if not clear:
        return [Feature(name, bar, f"{size}, {NOISE}", signed(effects.signed, j), spread)]
    own = [Feature(name, bar, size, signed(effects.signed, j), spread)]
    levels = found.levels.get(name)
    if levels is None:
        return own
    strongest = np.argsort(-np.abs(levels.mean.mean), kind="stable")[:LEVELS]
    return own + [
        Feature(f"{name} = {levels.names[k]}", svg.EMPTY, "", signed(levels.mean, k), "")
        for k in strongest
    ]


def signed(band: Band, j: int) -> str:
    """A change with its interval; a category has none of its own."""
    mean, low, high = (float(part[j]) for part in (band.mean, band.lower, band.upper))
    if np.isnan(mean):
        return "by level"
    return f"{'+' if mean > 0 else ''}{number(mean, 3)} ({number(low, 3)} to {number(high, 3)})"


def leading(clear: list[str], columns: int) -> str:
    """A sentence on the columns that can be told from noise."""
    if not clear:
        return "No column moves the prediction by more than noise would."
    if len(clear) == columns > 1:
        return f"All {columns} columns move the prediction by more than noise would."
    names = (
        listed(clear[:NAMED]) if len(clear) <= NAMED else f"{', '.join(clear[:NAMED])} and others"
    )
    verb = "moves" if len(clear) == 1 else "move"
    rest = "" if len(clear) == columns else "; the other columns cannot be told from noise"
    return f"{names} {verb} the prediction by more than noise would{rest}."


def floored(size: float, floor: float, clear: bool) -> Markup:
    """A bar and, upright, its floor; the numbers stand beside it in the table."""
    mark = min(floor, 1.0)
    parts = [
        svg.box(0, 5, BAR * size, 12, "bar" if clear else "bar noise"),
        svg.segment(BAR * mark, 2, BAR * mark, 20, "axis"),
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
    row = case.called(int(places[share.argmax()]))
    mean = float(share.mean())
    text = (
        f"On average {percent(mean)} of the predictive variance comes from not knowing the "
        "parameters (epistemic): more rows of the same kind would reduce it. The rest is noise "
        "given these columns (aleatoric): only better columns would."
    )
    if len(places) > 1:
        text += f" The model knows least about {row} ({percent(float(share.max()))})."
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


@dataclass(frozen=True)
class Curve:
    name: str
    picture: Markup


@dataclass(frozen=True)
class Effects:
    """``rows`` over which the curves are averaged; ``left_out`` columns move the mean less."""

    curves: tuple[Curve, ...]
    rows: int
    left_out: int


def effects(case: Case) -> Effects | None:
    """The columns that move the mean most, all on the same axis."""
    places = case.details()
    if not places.size:
        return None
    few = places[np.linspace(0, len(places) - 1, min(len(places), ROWS)).round().astype(int)]
    found = found_effects(case.model, take(case.X, few), BAND)
    order = sorted(found, key=lambda effect: -effect.span)[:CURVES]
    bands = [
        Band(*(case.out(part) for part in (e.curve.mean, e.curve.lower, e.curve.upper)))
        for e in order
    ]
    low, high = min(b.lower.min() for b in bands), max(b.upper.max() for b in bands)
    margin = 0.05 * (high - low)
    ends = low - margin, high + margin
    curves = tuple(
        Curve(effect.name, draw_effect(case, n, effect, band, ends))
        for n, (effect, band) in enumerate(zip(order, bands, strict=True))
    )
    return Effects(curves, len(few), len(found) - len(order))


def draw_effect(
    case: Case, n: int, effect: Effect, band: Band, ends: tuple[float, float]
) -> Markup:
    label = f"typical {case.target}" if case.log else f"mean of {case.unit}"
    parts = (
        draw_levels(effect, band, ends, label)
        if effect.is_category
        else draw_line(effect, band, ends, label)
    )
    values = [v if isinstance(v, str) else number(v, 3) for v in effect.values]
    told = "; ".join(
        f"{value}: {number(m, 3)} ({number(a, 3)} to {number(b, 3)})"
        for value, m, a, b in zip(values, band.mean, band.lower, band.upper, strict=True)
    )
    title = f"{label} as {effect.name} moves, with 90 % credible intervals. {told}."
    return svg.drawing(f"effect-{n}", title, parts, WIDTH, HEIGHT)


def draw_line(effect: Effect, band: Band, ends: tuple[float, float], label: str) -> list[Markup]:
    x = np.array(effect.values, float)
    plot = svg.panel((x[0], x[-1]), ends, WIDTH, HEIGHT)
    return [
        svg.axes(plot, effect.name, label, most=(6, 5)),
        svg.area(plot, x, band.lower, band.upper, "band"),
        svg.line(plot, x, band.mean, "curve"),
    ]


def draw_levels(effect: Effect, band: Band, ends: tuple[float, float], label: str) -> list[Markup]:
    """A dot with a whisker for each level of a category."""
    names = [str(name) for name in effect.values]
    plot = svg.panel((-0.5, len(names) - 0.5), ends, WIDTH, HEIGHT)
    parts = [svg.axes(plot, effect.name, label, most=(0, 5))]
    room = max(LETTERS // len(names), 2)
    for j, name in enumerate(names):
        at, low, high = float(plot.x(j)), *map(float, plot.y([band.lower[j], band.upper[j]]))
        parts.append(svg.segment(at, low, at, high, "whisker"))
        parts.append(svg.dots(plot, j, band.mean[j], "dot", [name], 4))
        short = name if len(name) <= room else f"{name[: room - 1]}…"
        if len(names) <= NAMED_LEVELS:
            parts.append(svg.text(at, plot.y.start + 17, short, "tick middle"))
    return parts
