"""The predictive density over one feature, as a picture of p(y | x)."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..prediction.mixture import GaussianMixture
from .style import (
    BLUE,
    INK,
    RED,
    dot_size,
    legend_above,
    new_figure,
    one_outcome,
    paper_style,
    vector,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@paper_style
def density_heatmap(
    model: Any,
    x_grid: ArrayLike,
    feature: int | str = 0,
    X: Any = None,
    y: ArrayLike | None = None,
    coverage: float | None = 0.9,
    points: int = 300,
    xlabel: str | None = None,
    ylabel: str = "y",
) -> "Figure":
    """p(y | x) as a heat map over one feature, with the data as dots.

    Parameters
    ----------
    model : estimator or GaussianMixture
        A fitted estimator, or densities of which row i belongs to ``x_grid[i]``.
    x_grid : array (G,)
        Increasing values of the feature.
    feature : int or str
        Number or name of the column of X.
    X : array or frame (N, P), optional
        Rows.  With an estimator the other features are held at their medians (most frequent
        values, if they are not numbers), so X is needed unless the estimator has one feature.
        With densities, the feature itself (N,) will do.
    y : array (N,), optional
        Outcomes of these rows, drawn as dots.
    coverage : float or None
        The central interval to outline.
    """
    grid = _increasing(x_grid)
    density = one_outcome(_density(model, grid, feature, X), "model")
    if len(density) != len(grid):
        raise ValueError(
            f"x_grid must have one value for each of the {len(density)} densities; got {len(grid)}"
        )
    dots = _dots(X, y, feature)
    levels = _levels(density, None if dots is None else dots[1], points)
    heights = density.pdf_grid(levels).T
    figure, axes = new_figure((4.8, 3.4))
    axis = axes[0, 0]
    _draw(figure, axis, grid, levels, heights)
    _outline(axis, grid, density, coverage)
    if dots is not None:
        area = dot_size(len(dots[0]))
        axis.scatter(*dots, s=area, color=INK, alpha=0.75, lw=0, zorder=4, label="data")
    axis.set(xlim=(grid if len(grid) > 1 else _edges(grid))[[0, -1]], ylim=levels[[0, -1]])
    axis.set_ylabel(ylabel)
    axis.set_xlabel(xlabel or (feature if isinstance(feature, str) else f"feature {feature}"))
    legend_above(figure, 1 if dots is None else len(dots[0]))
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


def _typical(values: np.ndarray) -> Any:
    if np.issubdtype(values.dtype, np.number):
        return np.median(values)
    # By text, as categories may mix types that have no order.
    texts, first, counts = np.unique(values.astype(str), return_index=True, return_counts=True)
    return values[first[counts.argmax()]] if len(texts) else None


def _density(model: Any, grid: np.ndarray, feature: int | str, X: Any) -> Any:
    if isinstance(model, GaussianMixture):
        return model
    if not hasattr(model, "predict_density"):
        raise TypeError(
            f"model must be an estimator or a GaussianMixture; got {type(model).__name__}"
        )
    if X is None:
        if model.n_features_in_ > 1 or hasattr(model, "feature_names_in_"):
            raise ValueError("X must be given: rows whose medians hold the other features")
        X = np.zeros((1, 1))
    return model.predict_density(profile(X, feature, grid))


def _draw(figure: Any, axis: Any, grid: np.ndarray, levels: np.ndarray, heights: np.ndarray):
    from matplotlib.colors import PowerNorm

    # A spike somewhere must not leave the rest white.
    top = np.quantile(heights, 0.998)
    norm = PowerNorm(0.6, vmin=0, vmax=top if top > 0 else None)
    style = {"rasterized": True, "cmap": "Blues", "norm": norm}
    mesh = axis.pcolormesh(_edges(grid), _edges(levels), heights, **style)
    bar = figure.colorbar(mesh, ax=axis, label="density", extend="max", aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2, width=0.7)


def _edges(centres: np.ndarray) -> np.ndarray:
    """Where the cells around these values meet."""
    if len(centres) == 1:
        return centres + np.array([-0.5, 0.5])
    half = np.diff(centres) / 2
    return np.concatenate([centres[:1] - half[:1], centres[:-1] + half, centres[-1:] + half[-1:]])


def _outline(axis: Any, grid: np.ndarray, density: GaussianMixture, coverage: float | None) -> None:
    mark = {"marker": "o", "ms": 4} if len(grid) == 1 else {}
    axis.plot(grid, density.quantile(0.5), color=RED, label="median", **mark)
    if coverage is not None:
        ends = density.interval(coverage)
        for end, label in ((0, f"{100 * coverage:g} % interval"), (1, None)):
            axis.plot(grid, ends[:, end], color=BLUE, lw=0.9, ls=(0, (4, 2)), label=label, **mark)


def _dots(X: Any, y: ArrayLike | None, feature: int | str) -> tuple[np.ndarray, np.ndarray] | None:
    if y is None or X is None:
        return None
    if hasattr(X, "columns"):
        x = np.asarray(X[_column_name(feature, list(X.columns))], dtype=float)
    else:
        table = np.asarray(X, dtype=float)
        x = table if table.ndim == 1 else table[:, _column_number(feature, table.shape[1])]
    return x, vector(y, len(x), "y")


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


def _levels(density: GaussianMixture, y: np.ndarray | None, points: int) -> np.ndarray:
    ends = density.quantile([0.005, 0.995])
    # A few rows with wild tails must not shrink the picture of the others.
    low, high = np.quantile(ends[:, 0], 0.02), np.quantile(ends[:, 1], 0.98)
    if y is not None:
        low, high = min(low, y.min()), max(high, y.max())
    margin = 0.04 * (high - low)
    return np.linspace(low - margin, high + margin, points)
