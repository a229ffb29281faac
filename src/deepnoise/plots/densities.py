"""Predictive densities of rows: ridges and fans."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..prediction.density.derived import smoothed
from ..prediction.density.supported import (
    Density,
    axis_ends,
    drawn_levels,
    grid_between,
    is_of_counts,
    point_masses,
)
from .style import (
    BLUE,
    INK,
    RED,
    canvas,
    dot_size,
    legend_above,
    one_outcome,
    paper_style,
    region_name,
    regions,
    vector,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_RIDGES = 12
FEW = 40
# Overlaps the next ridge a little and hides none.
HEIGHT = 1.3
# Bars that overlap could not be told apart.
BARS = 0.85
BANDS = ((0.95, "#C6DCEC"), (0.8, "#8FBBD9"), (0.5, "#5296C4"))

SEEN = {"s": 22, "color": RED, "edgecolor": "white", "lw": 0.6, "zorder": 5, "label": "observed"}


@paper_style
def ridge(
    density: Density,
    y: ArrayLike | None = None,
    rows: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    xlabel: str = "y",
    coverage: float | None = 0.9,
    region: str = "central",
    points: int = 400,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Densities of some rows, one above the other, with what was observed.

    Each is scaled to the same height: what counts is where and how wide it is.  Densities are
    smoothed so far as moves no value of a cdf by more than 0.01.  Counts are bars.  A value with a
    probability of its own, such as 0, has a dark bar, as high as its row's curve for 100 %.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
    y : array (N,), optional
        Observed outcomes of all rows.
    rows : list of int, optional
        Places of rows to draw, from 0, from the bottom; by default up to 12, spread over the
        predictive medians.
    labels : list of str, optional
        Names of the rows drawn, or of all rows; by default "row 1" is the first.
    xlabel : str
        Name of the outcome.
    coverage : float or None
        Probability of the dark part.
    region : {"central", "hdi"}
        Whether the dark part is the central interval or the highest-density region, which is in
        several pieces where the density has several modes.
    ax : axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    density = one_outcome(density)
    observed = None if y is None else vector(y, len(density), "y")
    chosen = _spread(density) if rows is None else _numbers(rows, len(density))
    names = _labels(labels, chosen, len(density))
    few = smoothed(density[chosen])
    seen = None if observed is None else observed[chosen]
    grid = _grid(few, seen, points)
    heights = few.pdf_grid(grid)
    heights *= (BARS if is_of_counts(few) else HEIGHT) / heights.max(axis=1, keepdims=True)
    dark = None if coverage is None else regions(few, coverage, region)
    size = (4.5, 0.9 + 0.32 * len(chosen))
    figure, (axis,) = canvas(ax, figsize, title, size)
    draw = _bars if is_of_counts(few) else _ridge
    for i in reversed(range(len(chosen))):
        draw(axis, i, grid, heights[i], () if dark is None else dark[i])
    for point, mass in point_masses(few):
        _stems(axis, point, mass)
    if coverage is not None:
        axis.fill_between([], [], color=BLUE, alpha=0.6, lw=0, label=region_name(coverage, region))
    if seen is not None:
        axis.scatter(seen, np.arange(len(chosen)), **SEEN)
    legend_above([axis], ax is None)
    axis.set(yticks=range(len(chosen)), yticklabels=names, xlabel=xlabel, xlim=axis_ends(few, grid))
    axis.set_ylim(-0.35, len(chosen) - 1 + HEIGHT + 0.15)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    return figure


def _ridge(axis: Any, i: int, grid: np.ndarray, height: np.ndarray, dark: Any) -> None:
    """A curve over the line of its row, the pieces ``dark`` (k, 2) darker."""
    axis.fill_between(grid, i, i + height, color=BLUE, alpha=0.3, lw=0, zorder=-i)
    for low, high in dark:
        x = np.unique(np.r_[low, grid[(grid > low) & (grid < high)], high])
        top = i + np.interp(x, grid, height)
        axis.fill_between(x, i, top, color=BLUE, alpha=0.45, lw=0, zorder=-i)
    axis.plot(grid, i + height, color="white", lw=1.6, zorder=-i)
    axis.plot(grid, i + height, color=BLUE, lw=0.9, zorder=-i)


def _bars(axis: Any, i: int, grid: np.ndarray, height: np.ndarray, dark: Any) -> None:
    """The same of counts: a bar for each."""
    inside = np.zeros(len(grid), bool)
    for low, high in dark:
        inside |= (grid >= low) & (grid <= high)
    width = 0.8 * np.diff(grid).min(initial=1.0)
    for part, alpha in ((inside, 0.75), (~inside, 0.3)):
        axis.bar(grid[part], height[part], width, i, color=BLUE, alpha=alpha, lw=0, zorder=-i)


def _stems(axis: Any, point: float, mass: np.ndarray) -> None:
    base = np.arange(len(mass))
    label = f"probability of {point:g}"
    look = {"color": INK, "lw": 2.4, "zorder": 3, "label": label, "capstyle": "butt"}
    axis.vlines(np.full(len(mass), point), base, base + HEIGHT * mass, **look)


@paper_style
def fan(
    density: Density,
    y: ArrayLike | None = None,
    order: ArrayLike | None = None,
    xlabel: str | None = None,
    ylabel: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Median and central 50, 80 and 95 % intervals of every row.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
    y : array (N,), optional
        Observed outcomes.
    order : array (N,), optional
        Where the rows stand on the horizontal axis, such as a time or a feature; by default they
        are sorted by their predictive medians.
    xlabel : str, optional
        Name of the order.
    ylabel : str
        Name of the outcome.
    ax : axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    density = one_outcome(density)
    observed = None if y is None else vector(y, len(density), "y")
    levels = [(1 + sign * level) / 2 for level, _ in BANDS for sign in (-1, 1)]
    quantiles = density.quantile([*levels, 0.5])
    place = None if order is None else vector(order, len(density), "order")
    sort = np.argsort(quantiles[:, -1] if place is None else place, kind="stable")
    x = np.arange(1, len(density) + 1) if place is None else place[sort]
    figure, (axis,) = canvas(ax, figsize, title, (5.5, 3.2))
    _bands(axis, x, quantiles[sort])
    if observed is not None:
        style = {"s": dot_size(len(x)), "color": INK, "lw": 0, "zorder": 4}
        axis.scatter(x, observed[sort], alpha=0.8, label="observed", **style)
    axis.set(xlabel=xlabel or ("rows, by predictive median" if place is None else "order"))
    axis.set_ylabel(ylabel)
    if len(x) == 1:
        axis.set(xticks=x, xlim=(x[0] - 1, x[0] + 1))
    legend_above([axis], ax is None, len(x))
    return figure


def _bands(axis: Any, x: np.ndarray, quantiles: np.ndarray) -> None:
    """Filled bands; bars where rows are few or share their place."""
    bars = len(x) <= FEW or (np.diff(x) <= 0).any()
    width = float(np.clip(150 / len(x), 1.2, 9))
    for k, (level, colour) in enumerate(BANDS):
        low, high = quantiles[:, 2 * k], quantiles[:, 2 * k + 1]
        label = f"{100 * level:.0f} % interval"
        if bars:
            axis.vlines(x, low, high, color=colour, lw=width, label=label)
        else:
            axis.fill_between(x, low, high, color=colour, lw=0, label=label)
    if bars:
        style = {"marker": "_", "s": max(width, 2.0) ** 2, "lw": 1.2, "zorder": 3}
        axis.scatter(x, quantiles[:, -1], color="white", **style)
    else:
        axis.plot(x, quantiles[:, -1], color=BLUE, lw=1.4, label="median")


def _spread(density: Density) -> np.ndarray:
    """Up to MAX_RIDGES rows, evenly spaced in the order of their medians."""
    order = np.argsort(density.quantile(0.5), kind="stable")
    return order[np.linspace(0, len(order) - 1, min(len(order), MAX_RIDGES)).round().astype(int)]


def _numbers(rows: Sequence[int], total: int) -> np.ndarray:
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or not chosen.size or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError("rows must be a list of row numbers")
    if chosen.min() < -total or chosen.max() >= total:
        raise ValueError(f"rows must be from 0 to {total - 1}; got {chosen.tolist()}")
    return chosen % total


def _labels(labels: Sequence[str] | None, chosen: np.ndarray, total: int) -> list[str]:
    if labels is None:
        return [f"row {n + 1}" for n in chosen]
    if len(labels) == len(chosen):
        return [str(label) for label in labels]
    if len(labels) == total:
        return [str(labels[n]) for n in chosen]
    raise ValueError(
        f"labels must name the {len(chosen)} rows drawn or all {total}; got {len(labels)}"
    )


def _grid(density: Density, y: np.ndarray | None, points: int) -> np.ndarray:
    """Values of y that hold nearly all mass of all rows, and the observations."""
    ends = density.quantile(drawn_levels(density))
    low, high = ends[:, 0].min(), ends[:, 1].max()
    if y is not None:
        low, high = min(low, y.min()), max(high, y.max())
    margin = 0.03 * (high - low)
    return grid_between(density, low - margin, high + margin, points)
