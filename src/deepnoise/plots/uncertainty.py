"""Where the uncertainty comes from."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .style import BLUE, GREY, INK, ORANGE, RED, canvas, legend_above, paper_style, vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@paper_style
def uncertainty_parts(
    parts: Any,
    entropy: Any = None,
    order: ArrayLike | None = None,
    xlabel: str | None = None,
    outcome: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Variance of every row by its sources, the paper's bound on it and, if given, the entropy.

    Parameters
    ----------
    parts : VarianceParts
        What ``estimator.decompose(X)`` returns, of one outcome.
    entropy : EntropyParts, optional
        What ``estimator.decompose_entropy(X)`` returns, of the same rows.
    order : array (N,), optional
        Where to put the rows, such as a feature; by default they are ranked by their variance.
    xlabel : str, optional
        Name of what they are ordered by.
    outcome : str
        Name of y.
    ax : list of two axes, three with entropy, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    if np.ndim(parts.epistemic) != 1:
        raise ValueError("parts must be of one outcome")
    rows = len(parts.epistemic)
    if entropy is not None and len(entropy.total) != rows:
        raise ValueError(f"entropy must be of the same {rows} rows; got {len(entropy.total)}")
    total = parts.epistemic + parts.aleatoric
    place = np.argsort(np.argsort(total)) + 1.0 if order is None else vector(order, rows, "order")
    chosen = np.argsort(place, kind="stable")
    label = xlabel or ("row, by variance" if order is None else "order")
    columns = 2 if entropy is None else 3
    figure, axes = canvas(ax, figsize, title, (3.0 * columns, 2.7), columns)
    _variance(axes[0], parts, place, chosen, label)
    axes[0].set_title(f"variance of {outcome}")
    if entropy is not None:
        _entropy(axes[1], entropy, place, chosen, label)
    _bounds(axes[-1], parts)
    axes[-1].set_xlabel(f"variance of {outcome}")
    legend_above(axes[:1], ax is None)
    return figure


def _variance(axis: Any, parts: Any, place: np.ndarray, chosen: np.ndarray, label: str) -> None:
    import matplotlib as mpl

    noises = (parts.shares * parts.aleatoric[:, None]).T
    shades = mpl.colormaps["Blues"](np.linspace(0.3, 0.9, len(noises)))
    axis.stackplot(
        place[chosen],
        [parts.epistemic[chosen], *noises[:, chosen]],
        labels=["not knowing Θ", *parts.sources],
        colors=[ORANGE, *shades],
        linewidth=0,
    )
    axis.set(xlabel=label, ylim=(0, None))
    axis.margins(x=0)


def _entropy(axis: Any, entropy: Any, place: np.ndarray, chosen: np.ndarray, label: str) -> None:
    low, high, x = entropy.aleatoric[chosen], entropy.total[chosen], place[chosen]
    axis.fill_between(x, low, high, color=ORANGE, alpha=0.8, linewidth=0)
    axis.plot(x, low, color=BLUE, linewidth=1.4)
    axis.plot(x, high, color=INK, linewidth=0.8)
    axis.set(title="entropy in nats, of noise and of Θ", xlabel=label)
    axis.margins(x=0)


def _bounds(axis: Any, parts: Any) -> None:
    """What the noise of each layer adds, beside the most that Theorem 3 lets it add."""
    noises = parts.shares * parts.aleatoric[:, None]
    edges = np.r_[0, 1 : noises.shape[1] : 2]
    layers = np.add.reduceat(noises, edges, axis=1)
    added = np.c_[layers, layers.sum(axis=1)]
    bound = np.r_[parts.bounds, parts.bounds.sum()]
    names = [*(f"layer {l}" for l in range(len(parts.bounds))), "all"]
    y = np.arange(len(names))[::-1]
    axis.hlines(y, added.min(axis=0), added.max(axis=0), color=BLUE, linewidth=4, alpha=0.4)
    axis.plot(added.mean(axis=0), y, "o", color=BLUE, markersize=4)
    finite = np.isfinite(bound)
    axis.plot(bound[finite], y[finite], "|", color=RED, markersize=11, markeredgewidth=1.6)
    axis.hlines(y[finite], added.mean(axis=0)[finite], bound[finite], color=GREY, linewidth=0.6)
    axis.set(title="noise (blue) and its bound (red)", xscale="log")
    axis.set(yticks=y, yticklabels=names, ylim=(-0.6, len(names) - 0.4))
