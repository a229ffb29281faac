"""Curves of partial dependence."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, GREY, canvas, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 60


@paper_style
def dependence_curves(
    dependence: Any,
    ylabel: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Partial dependence as a thick line over the curves of single rows, at most 60 of them.

    Parameters
    ----------
    dependence : PartialDependence
        What ``partial_dependence`` returns, of one outcome.
    ylabel : str
        What the curves show.
    ax : axis, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    curves = np.asarray(dependence.individual)
    if curves.ndim != 2:
        raise ValueError("dependence must be of one outcome")
    figure, (axis,) = canvas(ax, figsize, title, (3.6, 2.8), 1)
    shown = curves[np.linspace(0, len(curves) - 1, min(len(curves), MOST_ROWS)).astype(int)]
    is_category = isinstance(dependence.values[0], str)
    x = np.arange(len(dependence.values)) if is_category else np.array(dependence.values, float)
    axis.plot(x, shown.T, color=GREY, linewidth=0.5, alpha=0.5)
    axis.plot(x, dependence.average, color=BLUE, linewidth=2.2, marker="o" if is_category else None)
    if is_category:
        axis.set_xticks(x, dependence.values)
    axis.set(xlabel=dependence.name, ylabel=ylabel)
    return figure
