"""Have the chains mixed?  Traces and ranks of predictive functionals."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ..prediction.per_draw import in_words
from .style import CHAINS, INK, canvas, legend_above, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_PANELS = 6
# Beside colours, for those who do not see them all.
DASHES: tuple[Any, ...] = ("-", (0, (4, 1)), (0, (1, 1)), (0, (6, 1, 1, 1)))


@paper_style
def trace(
    values: Mapping[str, ArrayLike] | Any,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Every draw of every chain, a panel a functional; chains that have mixed look alike.

    Parameters
    ----------
    values : dict of arrays (chain, draw), or a fitted estimator
        Of an estimator, ``predictive_functionals()``.  The first six are drawn; "mean[7]" is
        called the mean of row 8, as rows of files count from 1.
    ax : axes, one a functional, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    panels = _panels(values)
    figure, axes = _grid_of(len(panels), ax, figsize, title, sharex=True)
    for axis, (name, draws) in zip(axes, panels.items(), strict=True):
        for c, chain in enumerate(draws):
            label = f"chain {c + 1}" if c < len(CHAINS) else None
            alone = {"marker": "o", "ms": 3} if len(chain) == 1 else {}
            x = np.arange(1, len(chain) + 1)
            axis.plot(x, chain, **_look(c), lw=0.7, alpha=0.8, label=label, **alone)
        axis.set_title(in_words(name))
    _finish(figure, axes, ax is None, "draw", "")
    return figure


@paper_style
def rank(
    values: Mapping[str, ArrayLike] | Any,
    bins: int | None = None,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Histogram of the ranks of each chain among all draws: flat if the chains agree.

    Parameters
    ----------
    values : dict of arrays (chain, draw), or a fitted estimator
        As for :func:`trace`.
    bins : int, optional
    ax : axes, one a functional, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    panels = _panels(values)
    figure, axes = _grid_of(len(panels), ax, figsize, title, sharex=True, sharey=True)
    draws = next(iter(panels.values())).shape[1]
    count = bins or int(np.clip(draws // 10, 2, 20))
    edges = np.linspace(0, 1, count + 1)
    for axis, (name, array) in zip(axes, panels.items(), strict=True):
        ranks = (rankdata(array, axis=None).reshape(array.shape) - 0.5) / array.size
        for c, chain in enumerate(ranks):
            label = f"chain {c + 1}" if c < len(CHAINS) else None
            share = np.histogram(chain, edges)[0] / draws * count
            axis.stairs(share, edges, **_look(c), lw=1.1, label=label)
        axis.axhline(1, color=INK, lw=0.8, ls=(0, (4, 2)))
        axis.set(title=in_words(name), xlim=(0, 1))
        axis.set_ylim(bottom=0)
    _finish(figure, axes, ax is None, "rank among all draws", "share × bins")
    return figure


def _panels(values: Any) -> dict[str, np.ndarray]:
    if hasattr(values, "predictive_functionals"):
        values = values.predictive_functionals()
    if not isinstance(values, Mapping) or not values:
        raise ValueError("values must be a dict of arrays (chain, draw), or a fitted estimator")
    arrays = {str(name): np.asarray(array, dtype=float) for name, array in values.items()}
    for name, array in arrays.items():
        if array.ndim != 2 or not array.size:
            raise ValueError(f"values[{name!r}] must be (chain, draw); got {array.shape}")
    if len({array.shape for array in arrays.values()}) > 1:
        raise ValueError("values must all have the same numbers of chains and draws")
    return dict(list(arrays.items())[:MAX_PANELS])


def _grid_of(
    panels: int, ax: Any, figsize: Any, title: str | None, **sharing: Any
) -> tuple["Figure", list]:
    columns = panels if panels <= 3 else -(-panels // 2)
    size = max(0.8 + 2.2 * columns, 4.5), 0.6 + 1.6 * -(-panels // columns)
    figure, axes = canvas(ax, figsize, title, size, panels, columns, **sharing)
    for lowest in axes[max(panels - columns, 0) :]:
        lowest.tick_params(labelbottom=True)
    return figure, axes


def _look(chain: int) -> dict[str, Any]:
    colour, dash = CHAINS[chain % len(CHAINS)], DASHES[chain % len(DASHES)]
    return {"color": colour, "ls": dash}


def _finish(figure: Any, axes: list, alone: bool, xlabel: str, ylabel: str) -> None:
    if alone:
        figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
    else:
        for axis in axes:
            axis.set(xlabel=xlabel, ylabel=ylabel)
    legend_above(axes[:1], alone)
