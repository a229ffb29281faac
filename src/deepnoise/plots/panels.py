"""Heat maps of densities over one feature side by side: methods down, data sets across."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .style import INK, dot_size, new_figure, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
