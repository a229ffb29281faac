"""Densities of single rows, and the rows that the model found least likely."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ..estimators.insight import to_draw
from ..estimators.table import take
from ..prediction.credible import Band
from ..prediction.density.derived import bandwidths, widened
from ..prediction.density.supported import (
    Density,
    axis_ends,
    drawn_levels,
    grid_between,
    is_of_counts,
    point_masses,
)
from ..prediction.metrics import log_scores
from . import svg
from .case import Case
from .words import capitalized, number, percent

LEVEL = 0.9
POINTS = 161
WIDTH, HEIGHT = 440, 190
MOST = 10
COLUMNS = 12


@dataclass(frozen=True)
class Shown:
    """One row: its name, a sentence and a picture."""

    row: str
    reading: str
    picture: Markup


def shown_rows(case: Case) -> tuple[Shown, ...]:
    """All on the same axis, so that they can be compared; of times P(time > t), not its slope.

    Densities are smoothed, no cdf by more than 0.01.
    """
    places = case.shown
    exact = case.density[places]
    fine = exact if case.log else to_draw(case.model).predict_density(take(case.X, places))
    widths = bandwidths(fine)
    few = exact if case.log else widened(fine, widths)
    grid = common_grid(case, few)
    heights = 1 - few.cdf_grid(np.log(grid)) if case.log else few.pdf_grid(grid)
    band = credible(case, grid, widths)
    masses = point_masses(few)
    top = 1.08 * tallest(heights, band)
    quantiles = case.out(exact.quantile([0.05, 0.5, 0.95]))
    shown = []
    for i, place in enumerate(places):
        around = None if band is None else (band.lower[i], np.minimum(band.upper[i], top))
        words = reading(case, int(place), quantiles[i])
        plot = svg.panel(
            axis_ends(few, grid), (0, top), WIDTH, HEIGHT, left=52 if case.log else 14, top=10
        )
        parts = [svg.axes(plot, case.target, most=(6, 3 if case.log else 0))]
        draw = counts if is_of_counts(few) else curve
        parts += draw(plot, grid, heights[i], around, quantiles[i])
        parts += [stem(plot, point, float(mass[i])) for point, mass in masses]
        parts += [] if case.seen is None else mark(case, int(place), plot)
        words += "".join(
            f" Exactly {number(point)}: {percent(float(mass[i]))}." for point, mass in masses
        )
        what = f"Probability of more {case.target}" if case.log else f"Density of {case.target}"
        title = f"{what}, {case.called(place)}. {words}"
        drawn = svg.drawing(f"row-{case.rows[place]}", title, parts, WIDTH, HEIGHT)
        shown.append(Shown(capitalized(case.called(place)), words, drawn))
    return tuple(shown)


def tallest(heights: np.ndarray, band: Band | None) -> float:
    """The height of the highest band, at most twice that of the highest curve: it is cut there."""
    tall = float(heights.max())
    return tall if band is None else float(np.clip(band.upper.max(), tall, 2 * tall))


def credible(case: Case, grid: np.ndarray, widths: np.ndarray) -> Band | None:
    """The band of each curve, where the model has draws."""
    if not case.bayesian:
        return None
    rows = take(case.X, case.shown)
    if not case.log:
        return case.model.density_bands(rows, grid, LEVEL, [0.5], widths).pdf
    below = case.model.density_bands(rows, np.log(grid), LEVEL, [0.5]).cdf
    return Band(1 - below.mean, 1 - below.upper, 1 - below.lower)


def common_grid(case: Case, density: Density) -> np.ndarray:
    """Values of y that hold nearly all mass of all rows, and the observations."""
    low, high = ends(case, density)
    if case.seen is not None:
        known = np.concatenate([end[case.shown] for end in case.ends])
        known = known[np.isfinite(known)]
        low, high = min(low, known.min(initial=low)), max(high, known.max(initial=high))
    margin = 0.03 * (high - low)
    return grid_between(density, low if case.log else low - margin, high + margin, POINTS)


def ends(case: Case, density: Density) -> tuple[float, float]:
    """Between which nearly all mass of all rows lies; late times are few and far, and cut."""
    low, high = drawn_levels(density)
    found = case.out(density.quantile([low, 0.95 if case.log else high]))
    return float(found[:, 0].min()), float(found[:, 1].max())


def reading(case: Case, place: int, quantiles: np.ndarray) -> str:
    low, median, high = (number(q, 3) for q in quantiles)
    text = f"Median {median}, 90\N{NO-BREAK SPACE}% between {low} and {high}."
    if case.seen is None:
        return text
    seen, density = case.observation(place), case.density[place]
    lower, upper = (float(end[place]) for end in case.bounds)
    if lower != upper:
        share = float(density.probability_between(lower, upper)[0])
        return f"{text} Observed: {seen}, where {percent(share)} of the density lies."
    y = float(case.out(lower))
    if quantiles[0] <= y <= quantiles[2]:
        return f"{text} Observed {seen}, inside."
    below = float(density.cdf(lower)[0])
    side, share = ("above", 1 - below) if y > quantiles[2] else ("below", below)
    return f"{text} Observed {seen}, {side}: only {percent(max(share, 0.0))} lies beyond."


def curve(plot: svg.Panel, grid, height, band, quantiles) -> list[Markup]:
    parts = []
    inside = (grid >= quantiles[0]) & (grid <= quantiles[2])
    if band is not None:
        parts.append(svg.area(plot, grid, band[0], band[1], "band"))
    if inside.sum() > 1:
        parts.append(svg.area(plot, grid[inside], 0, height[inside], "mass"))
    return [*parts, svg.line(plot, grid, height, "curve")]


def counts(plot: svg.Panel, grid, height, band, quantiles) -> list[Markup]:
    """A bar for each count, darker inside the interval, and a whisker for the band."""
    inside = (grid >= quantiles[0]) & (grid <= quantiles[2])
    half, ground, parts = 0.4 * np.diff(grid).min(initial=1.0), float(plot.y(0)), []
    for k, (value, top) in enumerate(zip(grid, height, strict=True)):
        left, right, y = (
            float(plot.x(value - half)),
            float(plot.x(value + half)),
            float(plot.y(top)),
        )
        style = "bar" if inside[k] else "bar noise"
        hint = f"{number(value)}: {percent(float(top))}"
        parts.append(svg.box(left, y, right - left, ground - y, style, hint))
        if band is not None:
            at, low, high = (left + right) / 2, *map(float, plot.y([band[0][k], band[1][k]]))
            parts.append(svg.segment(at, low, at, high, "whisker"))
    return parts


def stem(plot: svg.Panel, point: float, mass: float) -> Markup:
    """A bar for a value with a probability of its own: the whole height is 100 %."""
    at, ground = float(plot.x(point)), plot.y.start
    top = ground + mass * (plot.y.stop - ground)
    return svg.box(at - 3, top, 6, ground - top, "bar", f"{number(point)}: {percent(mass)}")


def mark(case: Case, place: int, plot: svg.Panel) -> list[Markup]:
    """What was observed: a line, or a bar on the axis over all that it may be."""
    low, high = (float(end[place]) for end in case.ends)
    if low == high:
        return [svg.upright(plot, low, "observed"), svg.dots(plot, low, 0, "observed", radius=4)]
    low, high = max(low, plot.x.low), min(high, plot.x.high)
    start, stop, ground = float(plot.x(low)), float(plot.x(high)), float(plot.y(0))
    return [svg.box(start, ground - 5, stop - start, 5, "window")]


@dataclass(frozen=True)
class Worst:
    """Rows, the most surprising first; ``left_out`` columns are not shown."""

    left_out: int
    rows: tuple["WorstRow", ...]


@dataclass(frozen=True)
class WorstRow:
    """``features`` are the names of columns and their values, in a line."""

    name: str
    observed: str
    interval: str
    where: str
    features: Markup


def worst(case: Case) -> Worst:
    surprise = -log_scores(case.density, case.outcomes)
    places = np.argsort(-surprise, kind="stable")[: min(MOST, len(surprise))]
    ends = case.out(case.density[places].interval(0.9))
    names, columns = table_columns(case, places)
    rows = [
        WorstRow(
            capitalized(case.called(place)),
            case.observation(place),
            f"{number(ends[i, 0])} to {number(ends[i, 1])}",
            where(case, int(place)),
            inline([(name, cell(column[i])) for name, column in zip(names, columns)]),
        )
        for i, place in enumerate(places)
    ]
    return Worst(max(len(names) - COLUMNS, 0), tuple(rows))


def where(case: Case, place: int) -> str:
    low, high = (float(end[place]) for end in case.bounds)
    density = case.density[place]
    if low != high:
        return f"there lies {percent(float(density.probability_between(low, high)[0]))}"
    return side(float(density.cdf(low)[0]))


def side(below: float) -> str:
    if below >= 0.5:
        return f"above {percent(below)} of the density"
    return f"below {percent(1 - below)} of the density"


def inline(pairs: list[tuple[str, str]]) -> Markup:
    """Pairs that are not torn apart at the end of a line."""
    one = Markup('<span class="together"><span class="soft">{}</span> {}</span>')
    return Markup(" · ").join(one.format(*pair) for pair in pairs)


def table_columns(case: Case, places: np.ndarray) -> tuple[tuple[str, ...], list[Any]]:
    names = tuple(column.name for column in case.model.encoder_.columns)
    few = take(case.X, places)
    if hasattr(few, "columns"):
        return names, [list(few[name]) for name in list(few.columns)[:COLUMNS]]
    return names, list(np.asarray(few).T[:COLUMNS])


def cell(value: Any) -> str:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return number(float(value))
    return str(value)
