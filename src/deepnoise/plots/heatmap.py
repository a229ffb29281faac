"""The predictive density over one feature, as a picture of p(y | x), or several side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..estimators.insight import to_draw
from ..estimators.table import take
from ..prediction.density.derived import bandwidths, widened
from ..prediction.density.supported import (
    Density,
    SupportedDensity,
    axis_ends,
    grid_between,
    is_of_counts,
    point_masses,
)
from ..prediction.per_draw import spaced
from .style import (
    BLUE,
    INK,
    RED,
    canvas,
    dot_size,
    legend_above,
    new_figure,
    one_outcome,
    paper_style,
    region_name,
    regions,
    vector,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_DOTS = 1000
# Places at which it is found out how much smoothing the densities need.
SMOOTHED_AT = 12
# Places at which point masses are drawn.
SQUARES = 15
MEDIANS, TYPICAL = "other columns at their medians", "others at medians or commonest values"


@paper_style
def density_heatmap(
    model: Any,
    x_grid: ArrayLike,
    feature: int | str = 0,
    X: Any = None,
    y: ArrayLike | None = None,
    coverage: float | None = 0.9,
    region: str = "central",
    points: int = 300,
    xlabel: str | None = None,
    ylabel: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """p(y | x) as a heat map over one feature, with the data as dots.

    Of an estimator of several features this is a slice: the others stay at their medians (most
    frequent values, if they are not numbers).  Rows do not lie on that slice, so they are moved
    there: drawn is y less E[y | x] of the row, plus E[y | x] of the slice at its value of the
    feature.  Axis and legend say so.  Densities are smoothed so far as moves no value of a cdf by
    more than 0.01.  A value with a probability of its own, such as 0, has a row of squares, whose
    areas are the probabilities.

    Parameters
    ----------
    model : estimator, PredictiveMixture or SupportedDensity
        A fitted estimator, or densities of which row i belongs to ``x_grid[i]``.
    x_grid : array (G,)
        Increasing values of the feature.
    feature : int or str
        Number or name of the column of X.
    X : array or frame (N, P), optional
        Rows; needed unless the estimator has one feature.  With densities, the feature itself
        (N,) will do.
    y : array (N,), optional
        Outcomes of these rows, drawn as dots: at most 1000, evenly spaced.
    coverage : float or None
        Probability of what is outlined.
    region : {"central", "hdi"}
        Whether that is the central interval or the highest-density region, which is in several
        pieces where the density has several modes.
    xlabel : str, optional
        Name of the feature.
    ylabel : str
        Name of the outcome.
    ax : axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    grid = _increasing(x_grid)
    density = one_outcome(_density(model, grid, feature, X), "model")
    if len(density) != len(grid):
        raise ValueError(
            f"x_grid must have one value for each of the {len(density)} densities; got {len(grid)}"
        )
    dots, sliced = _dots(model, X, y, feature)
    smooth = widened(density, _widths(density, grid))
    levels = _levels(density, None if dots is None else dots[1], points)
    figure, (axis,) = canvas(ax, figsize, title, (4.8, 3.6))
    heights = smooth.pdf_grid(levels).T
    _draw(figure, axis, grid, levels, heights, is_of_counts(smooth))
    _outline(axis, grid, smooth, coverage, region, (levels, heights))
    _squares(axis, grid, smooth)
    if dots is not None:
        look = {"s": dot_size(len(dots[0])), "color": INK, "alpha": 0.75, "lw": 0, "zorder": 4}
        axis.scatter(*dots, label="rows, moved to this slice" if sliced else "data", **look)
    axis.set(
        xlim=(grid if len(grid) > 1 else _edges(grid))[[0, -1]],
        ylim=axis_ends(smooth, levels, half=0.5),
    )
    axis.set_ylabel(ylabel)
    name = xlabel or (feature if isinstance(feature, str) else f"feature {feature}")
    axis.set_xlabel(f"{name}\n({_slice_name(X, feature)})" if sliced else name)
    legend_above([axis], ax is None, 1 if dots is None else len(dots[0]))
    return figure


def profile(X: Any, feature: int | str, grid: np.ndarray) -> Any:
    """A table of the kind of X: one column runs over a grid, the others stay at typical values."""
    if not hasattr(X, "columns"):
        X = np.asarray(X, dtype=float)
        j = _column_number(feature, X.shape[1])
        table = np.tile(np.median(X, axis=0), (len(grid), 1))
        table[:, j] = grid
        return table
    names = list(X.columns)
    chosen = _column_name(feature, names)
    columns = {
        name: grid if name == chosen else [_typical(np.asarray(X[name]))] * len(grid)
        for name in names
    }
    return type(X)(columns)


def _slice_name(X: Any, feature: int | str) -> str:
    if not hasattr(X, "columns"):
        return MEDIANS
    others = set(X.columns) - {_column_name(feature, list(X.columns))}
    return MEDIANS if all(_numeric(np.asarray(X[name])) for name in others) else TYPICAL


def _numeric(values: np.ndarray) -> bool:
    return np.issubdtype(values.dtype, np.number)


def _typical(values: np.ndarray) -> Any:
    if _numeric(values):
        return np.median(values)
    # By text, as categories may mix types that have no order.
    texts, first, counts = np.unique(values.astype(str), return_index=True, return_counts=True)
    return values[first[counts.argmax()]] if len(texts) else None


def _density(model: Any, grid: np.ndarray, feature: int | str, X: Any) -> Any:
    if isinstance(model, Density):
        return model
    if not hasattr(model, "predict_density"):
        raise TypeError(
            f"model must be an estimator or a PredictiveMixture; got {type(model).__name__}"
        )
    if X is None:
        if model.n_features_in_ > 1 or hasattr(model, "feature_names_in_"):
            raise ValueError("X must be given: rows whose medians hold the other features")
        X = np.zeros((1, 1))
    return to_draw(model).predict_density(profile(X, feature, grid))


def _widths(density: Density, grid: np.ndarray) -> np.ndarray:
    """Sds of the smoothing, which change slowly from one value of the feature to the next."""
    some = spaced(len(grid), SMOOTHED_AT)
    return np.interp(grid, grid[some], bandwidths(density[some]))


def _draw(
    figure: Any,
    axis: Any,
    grid: np.ndarray,
    levels: np.ndarray,
    heights: np.ndarray,
    counts: bool,
) -> None:
    from matplotlib.colors import PowerNorm

    # A spike somewhere must not leave the rest white.
    top = np.quantile(heights, 0.998)
    norm = PowerNorm(0.6, vmin=0, vmax=top if top > 0 else None)
    style = {"rasterized": True, "cmap": "Blues", "norm": norm}
    mesh = axis.pcolormesh(_edges(grid), _edges(levels), heights, **style)
    label = "probability" if counts else "density"
    bar = figure.colorbar(mesh, ax=axis, label=label, extend="max", aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2, width=0.7)


def _edges(centres: np.ndarray) -> np.ndarray:
    """Where the cells around these values meet."""
    if len(centres) == 1:
        return centres + np.array([-0.5, 0.5])
    half = np.diff(centres) / 2
    return np.concatenate([centres[:1] - half[:1], centres[:-1] + half, centres[-1:] + half[-1:]])


def _outline(
    axis: Any,
    grid: np.ndarray,
    density: Density,
    coverage: float | None,
    region: str,
    drawn: tuple[np.ndarray, np.ndarray],
) -> None:
    mark = {"marker": "o", "ms": 4} if len(grid) == 1 else {}
    axis.plot(grid, density.quantile(0.5), color=RED, label="median", **mark)
    if coverage is None:
        return
    look = {"color": BLUE, "lw": 0.9, "ls": (0, (4, 2))}
    found, label = regions(density, coverage, region), region_name(coverage, region)
    if region == "central" or len(grid) == 1 or isinstance(density, SupportedDensity):
        ends = np.array([(pieces.min(), pieces.max()) for pieces in found])
        axis.plot(grid, ends[:, 0], label=label, **look, **mark)
        axis.plot(grid, ends[:, 1], **look, **mark)
        return
    # All ends of a highest-density region have the same density.
    levels, heights = drawn
    edge = [np.interp(p, levels, column).mean() for p, column in zip(found, heights.T, strict=True)]
    axis.contour(grid, levels, heights / edge, [1.0], colors=BLUE, linewidths=0.9)
    axis.plot([], [], label=label, color=BLUE, lw=0.9)


def _squares(axis: Any, grid: np.ndarray, density: Density) -> None:
    some = spaced(len(grid), SQUARES)
    for point, mass in point_masses(density):
        label = f"probability of {point:g}, by area"
        at = np.full(len(some), point)
        axis.scatter(grid[some], at, 60 * mass[some], RED, marker="s", lw=0, label=label, zorder=5)


def _dots(
    model: Any, X: Any, y: ArrayLike | None, feature: int | str
) -> tuple[tuple[np.ndarray, np.ndarray] | None, bool]:
    """Places of the dots, and whether there are other columns, from which they were moved."""
    sliced = not isinstance(model, Density) and model.n_features_in_ > 1
    if y is None or X is None:
        return None, sliced
    some = spaced(len(X), MAX_DOTS)
    few, seen = take(X, some), vector(y, len(X), "y")[some]
    if hasattr(few, "columns"):
        x = np.asarray(few[_column_name(feature, list(few.columns))], dtype=float)
    else:
        table = np.asarray(few, dtype=float)
        x = table if table.ndim == 1 else table[:, _column_number(feature, table.shape[1])]
    if sliced:
        pair = (model.predict_density(rows) for rows in (few, profile(X, feature, x)))
        seen = _moved_dots(seen, *pair)
    return (x, seen), sliced


def _moved_dots(y: np.ndarray, own: Density, there: Density) -> np.ndarray:
    """y less its mean, plus that of the slice; on the scale of z where y has a support."""
    if not (isinstance(own, SupportedDensity) and isinstance(there, SupportedDensity)):
        return y - own.mean() + there.mean()
    support = own.support
    middle = np.log(y + 0.5) if support.discrete else support.least(y)
    with np.errstate(invalid="ignore"):
        moved = support.value(middle - own.latent.mean() + there.latent.mean())
    return np.where(np.isin(y, support.points), y, moved)


def _column_number(feature: int | str, columns: int) -> int:
    if not isinstance(feature, int | np.integer) or not -columns <= feature < columns:
        raise ValueError(
            f"feature must be the number of a column, 0 to {columns - 1}; got {feature!r}"
        )
    return int(feature)


def _column_name(feature: int | str, names: list) -> Any:
    if feature in names:
        return feature
    if isinstance(feature, str):
        raise ValueError(f"feature: X has no column {feature!r}")
    return names[_column_number(feature, len(names))]


def _increasing(x_grid: ArrayLike) -> np.ndarray:
    grid = np.asarray(x_grid, dtype=float)
    if grid.ndim != 1 or not grid.size or not np.isfinite(grid).all() or (np.diff(grid) <= 0).any():
        raise ValueError("x_grid must be a list of increasing numbers")
    return grid


def _levels(density: Density, y: np.ndarray | None, points: int) -> np.ndarray:
    ends = density.quantile([0.005, 0.995])
    # A few rows with wild tails must not shrink the picture of the others.
    low, high = np.quantile(ends[:, 0], 0.02), np.quantile(ends[:, 1], 0.98)
    if y is not None:
        low, high = min(low, y.min()), max(high, y.max())
    margin = 0.04 * (high - low)
    return grid_between(density, low - margin, high + margin, points)


@paper_style
def density_panels(
    x_grid: np.ndarray,
    y_grid: np.ndarray,
    heights: Sequence[Sequence[np.ndarray]],
    row_names: Sequence[str],
    column_names: Sequence[str],
    dots: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> "Figure":
    """p(y | x) of several methods on several sets, all on one scale of colours a column.

    Parameters
    ----------
    x_grid : array (X,)
    y_grid : array (Y,)
    heights : rows of columns of arrays (X, Y)
    dots : a pair of arrays a column, optional
        Observations, drawn in the first row.
    """
    from matplotlib.colors import PowerNorm

    rows, columns = len(row_names), len(column_names)
    figure, axes = new_figure(
        (2.4 * columns + 0.4, 1.7 * rows + 0.3), rows, columns, sharex=True, sharey=True
    )
    for j in range(columns):
        # One spike must not leave the rest white.
        top = max(float(np.quantile(line[j], 0.995)) for line in heights)
        norm = PowerNorm(0.6, vmin=0, vmax=top)
        for i in range(rows):
            axis = axes[i, j]
            style = {"rasterized": True, "cmap": "Blues", "norm": norm, "shading": "nearest"}
            axis.pcolormesh(x_grid, y_grid, np.asarray(heights[i][j]).T, **style)
            axis.set(xlim=x_grid[[0, -1]], ylim=y_grid[[0, -1]])
            if i == 0:
                axis.set_title(column_names[j])
            if j == 0:
                axis.set_ylabel(row_names[i])
        if dots:
            x, y = dots[j]
            axes[0, j].scatter(x, y, s=dot_size(len(x)) / 4, color=INK, alpha=0.4, lw=0)
    return figure
