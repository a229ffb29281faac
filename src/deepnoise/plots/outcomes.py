"""Which outcomes can be predicted."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, GREY, INK, new_figure, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@paper_style
def outcome_skill(selection: Any) -> "Figure":
    """Skill of every outcome with its 90 % interval, and the probability that it is enough.

    Parameters
    ----------
    selection : OutcomeSelection
        What ``estimator.select_outcomes(X, y)`` returns.
    """
    count = len(selection.names)
    figure, axes = new_figure((4.8, 1.0 + 0.3 * count))
    axis, skill = axes[0, 0], selection.skill
    for q, y in enumerate(np.arange(count)[::-1]):
        found = selection.names[q] in selection.predictable
        colour = BLUE if found else GREY
        axis.plot([skill.lower[q], skill.upper[q]], [y, y], color=colour, linewidth=3, alpha=0.6)
        axis.plot(skill.mean[q], y, "o", color=colour, markersize=5)
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
    return figure
