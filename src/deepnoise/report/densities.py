"""Densities of single rows, with what was observed and how sure the model is of the curve."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ..estimators.table import take
from . import svg
from .case import Case
from .words import number, percent

LEVEL = 0.9
POINTS = 161
WIDTH, HEIGHT = 440, 190


@dataclass(frozen=True)
class Shown:
    """One row: its number, a sentence and a picture."""

    row: int
    reading: str
    picture: Markup


def shown_rows(case: Case) -> tuple[Shown, ...]:
    """All on the same axis, so that they can be compared."""
    places = case.shown
    few = case.density[places]
    observed = None if case.y is None else case.y[places]
    grid = common_grid(few, observed)
    heights = few.pdf_grid(grid)
    band = None
    if case.bayesian:
        band = case.model.density_bands(take(case.X, places), grid, LEVEL, [0.5]).pdf
    # A single tall band must not flatten the curves: it is cut off.
    tall = 0.0 if band is None else float(np.median(band.upper.max(axis=1)))
    top = 1.08 * max(heights.max(), tall)
    quantiles = few.quantile([0.05, 0.5, 0.95])
    shown = []
    for i, place in enumerate(places):
        number_ = int(case.rows[place])
        y = None if observed is None else float(observed[i])
        ends = None if band is None else (band.lower[i], np.minimum(band.upper[i], top))
        words = reading(quantiles[i], y, None if y is None else float(few[i].cdf(y)[0]))
        drawn = draw(number_, grid, heights[i], ends, y, quantiles[i], top, case.target, words)
        shown.append(Shown(number_, words, drawn))
    return tuple(shown)


def common_grid(density, observed: np.ndarray | None) -> np.ndarray:
    """Values of y that hold nearly all mass of all rows, and the observations."""
    ends = density.quantile([0.002, 0.998])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    if observed is not None:
        low, high = min(low, observed.min()), max(high, observed.max())
    margin = 0.03 * (high - low)
    return np.linspace(low - margin, high + margin, POINTS)


def reading(quantiles: np.ndarray, y: float | None, below: float | None) -> str:
    low, median, high = (number(q, 3) for q in quantiles)
    text = f"Median {median}, 90 % between {low} and {high}."
    if y is None or below is None:
        return text
    if quantiles[0] <= y <= quantiles[2]:
        return f"{text} Observed {number(y)}, inside."
    side, share = ("above", 1 - below) if y > quantiles[2] else ("below", below)
    return f"{text} Observed {number(y)}, {side}: only {percent(max(share, 0.0))} lies beyond."


def draw(row, grid, height, band, y, quantiles, top, target, words) -> Markup:
    plot = svg.panel((grid[0], grid[-1]), (0, top), WIDTH, HEIGHT, left=14, top=10)
    parts = [svg.axes(plot, target, most=(6, 0))]
    inside = (grid >= quantiles[0]) & (grid <= quantiles[2])
    if band is not None:
        parts.append(svg.area(plot, grid, band[0], band[1], "band"))
    if inside.sum() > 1:
        parts.append(svg.area(plot, grid[inside], 0, height[inside], "mass"))
    parts.append(svg.line(plot, grid, height, "curve"))
    if y is not None:
        parts += [svg.upright(plot, y, "observed"), svg.dots(plot, y, 0, "observed", radius=4)]
    return svg.drawing(
        f"row-{row}", f"Density of {target} of row {row}. {words}", parts, WIDTH, HEIGHT
    )
