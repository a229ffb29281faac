"""Are the densities honest, are they sharp, and which outcomes can be predicted?"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from ..prediction import metrics
from ..prediction.density.supported import Density
from .style import (
    BLUE,
    GREY,
    INK,
    RED,
    SKY,
    canvas,
    dot_size,
    legend_above,
    one_outcome,
    paper_style,
    vector,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAND = 0.95


@paper_style
def calibration(
    density: Density,
    y: ArrayLike,
    bins: int | None = None,
    outcome: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Histogram of F(y | x), and coverage of central intervals against their nominal level.

    Both carry the band in which a right model lies with 95 % probability, bar by bar and level by
    level.  A histogram that is a hump means densities too wide, a bowl too narrow, a slope a bias.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
    y : array (N,)
        Observed outcomes.
    bins : int, optional
        Bars of the histogram.
    outcome : str
        Name of y.
    ax : list of two axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    density = one_outcome(density)
    y = vector(y, len(density), "y")
    pit = metrics.pit(density, y)
    figure, axes = canvas(ax, figsize, title, (6.4, 3.0), 2)
    _histogram(axes[0], pit, bins or int(np.clip(len(pit) // 10, 5, 20)), outcome)
    _coverage(axes[1], np.abs(2 * pit - 1))
    return figure


@paper_style
def sharpness(
    density: Density,
    y: ArrayLike,
    coverage: float = 0.9,
    outcome: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Width of the central interval against the distance of y from the predictive median.

    Wide intervals should go with large errors.  Crosses are rows outside their interval.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
    y : array (N,)
        Observed outcomes.
    coverage : float
        Probability of the interval.
    outcome : str
        Name of y.
    ax : axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    density = one_outcome(density)
    y = vector(y, len(density), "y")
    low, middle, high = density.quantile([(1 - coverage) / 2, 0.5, (1 + coverage) / 2]).T
    inside, width, error = (low <= y) & (y <= high), high - low, np.abs(y - middle)
    figure, (axis,) = canvas(ax, figsize, title, (4.2, 3.4))
    kinds = ((inside, BLUE, "o", 0.0, "inside"), (~inside, RED, "x", 1.0, "outside"))
    for rows, colour, marker, line, name in kinds:
        look = {"s": 1.5 * dot_size(len(y)), "color": colour, "marker": marker, "lw": line}
        axis.scatter(width[rows], error[rows], alpha=0.8, label=f"{name} ({rows.sum()})", **look)
    ends = np.array([width.min(), width.max()])
    span = np.ptp(ends) or ends[0]
    ends = np.array([max(ends[0] - 0.06 * span, 0), ends[1] + 0.06 * span])
    axis.plot(ends, ends / 2, color=GREY, lw=0.9, label="half the width")
    axis.set(xlabel=f"width of the {100 * coverage:g} % interval of {outcome}", xlim=ends)
    axis.set_ylabel(f"|{outcome} − median|")
    axis.set_ylim(0, 1.08 * max(error.max(), ends[1] / 2))
    legend_above([axis], ax is None, len(y))
    return figure


def _histogram(axis: Any, pit: np.ndarray, bins: int, outcome: str) -> None:
    counts, edges = np.histogram(pit, bins, (0, 1))
    low, high = binom.interval(BAND, len(pit), 1 / bins)
    axis.axhspan(low, high, color=GREY, alpha=0.4, lw=0, label=f"{100 * BAND:.0f} % if right")
    axis.bar(edges[:-1], counts, 1 / bins, align="edge", color=SKY, edgecolor="white", lw=0.6)
    axis.hlines([low, high], 0, 1, color=GREY, lw=0.9)
    axis.axhline(len(pit) / bins, color=INK, lw=0.8, ls=(0, (4, 2)))
    axis.set(xlim=(0, 1), xlabel=f"F({outcome} | x)", ylabel="rows")
    axis.set_ylim(0, 1.28 * max(counts.max(), high))
    axis.legend(loc="upper right")


def _coverage(axis: Any, needed: np.ndarray) -> None:
    nominal = np.linspace(0, 1, 201)
    share = np.searchsorted(np.sort(needed), nominal, side="right") / len(needed)
    low, high = (end / len(needed) for end in binom.interval(BAND, len(needed), nominal))
    # At level 1 everything is covered; scipy's interval is not defined at the two ends.
    low, high = (np.where(np.isfinite(end) & (end >= 0), end, nominal) for end in (low, high))
    label = f"{100 * BAND:.0f} % if right"
    axis.fill_between(nominal, low, high, color=GREY, alpha=0.4, lw=0, label=label)
    axis.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=(0, (4, 2)))
    axis.plot(nominal, share, color=BLUE, label="covered")
    axis.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    axis.set(xlabel="nominal level of the interval", ylabel="share of rows inside")
    axis.legend(loc="upper left")


@paper_style
def outcome_skill(
    selection: Any,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Skill of every outcome with its 90 % interval, and the probability that it is enough.

    Parameters
    ----------
    selection : OutcomeSelection
        What ``estimator.select_outcomes(X, y)`` returns.
    ax : axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    count = len(selection.names)
    figure, (axis,) = canvas(ax, figsize, title, (4.8, 1.3 + 0.3 * count))
    skill = selection.skill
    for q, y in enumerate(np.arange(count)[::-1]):
        found = selection.names[q] in selection.predictable
        colour, fill = (BLUE, BLUE) if found else (GREY, "white")
        label = "predictable, with 90 % interval" if found else "not enough"
        axis.plot([skill.lower[q], skill.upper[q]], [y, y], color=colour, linewidth=3, alpha=0.6)
        look = {"color": colour, "mfc": fill, "markersize": 5, "ls": "", "label": label}
        axis.plot(skill.mean[q], y, marker="o" if found else "s", **look)
        text = f"P = {selection.probability[q]:.3f}"
        axis.text(
            1.02, y, text, transform=axis.get_yaxis_transform(), va="center", fontsize=8,
            fontweight="bold" if found else "normal",
        )  # fmt: skip
    axis.axvline(selection.threshold, color=INK, linewidth=0.7, linestyle=(0, (4, 3)))
    axis.set(yticks=np.arange(count)[::-1], ylim=(-0.6, count - 0.4))
    axis.set_yticklabels(selection.names)
    measure = "R²" if selection.loss == "squared" else "share of the CRPS explained"
    axis.set_xlabel(f"{measure} on held-out rows, P(more than {selection.threshold:g})")
    legend_above([axis], ax is None)
    return figure
