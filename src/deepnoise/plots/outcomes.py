"""Which outcomes can be predicted."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, GREY, INK, canvas, legend_above, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
