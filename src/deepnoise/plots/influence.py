"""Which features move the prediction."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .style import BLUE, INK, ORANGE, new_figure, paper_style, vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BARS = 20


@paper_style
def influence_bars(
    influence: Any, scale: ArrayLike | None = None, unit: str | None = None
) -> "Figure":
    """Mean |∂E[y|x]/∂x| and |∂sd[y|x]/∂x| of each feature, with credible intervals.

    Parameters
    ----------
    influence : Influence
        What ``estimator.influence(X)`` returns, of one outcome.
    scale : array (P,), optional
        Multiplies: with the standard deviations of the features, ``estimator.units_.x.scale``,
        features in different units can be compared.
    unit : str, optional
        What the bars are per; by default "unit of the feature", or "standard deviation" if scaled.
    """
    total = len(influence.names)
    if np.ndim(influence.mean.mean) != 1:
        raise ValueError("influence must be of one outcome")
    factor = np.ones(total) if scale is None else vector(scale, total, "scale")
    order = np.argsort(influence.mean.mean * factor, kind="stable")[-MAX_BARS:]
    figure, axes = new_figure((5.6, 1.1 + 0.26 * len(order)), 1, 2, sharey=True)
    parts = ((axes[0, 0], influence.mean, BLUE, "mean"), (axes[0, 1], influence.sd, ORANGE, "sd"))
    for axis, part, colour, name in parts:
        mean, low, high = (v[order] * factor[order] for v in (part.mean, part.lower, part.upper))
        places = np.arange(len(order))
        axis.barh(places, mean, 0.7, color=colour, alpha=0.75)
        whiskers = np.maximum([mean - low, high - mean], 0)
        axis.errorbar(mean, places, xerr=whiskers, fmt="none", ecolor=INK, elinewidth=0.9)
        axis.set(title=f"on the {name} of y", xlim=(0, None))
        axis.tick_params(axis="y", length=0)
        axis.locator_params(axis="x", nbins=4)
    axes[0, 0].set(yticks=range(len(order)), ylim=(-0.6, len(order) - 0.4))
    axes[0, 0].set_yticklabels([_short(influence.names[j]) for j in order])
    per = unit or ("unit of the feature" if scale is None else "standard deviation")
    figure.supxlabel(f"mean |change of y| per {per}", fontsize=9)
    return figure


def _short(name: str, most: int = 24) -> str:
    """Cut in the middle: names often differ at their end only."""
    half = most // 2
    return name if len(name) <= most else f"{name[:half]}…{name[1 - half :]}"
