"""How chains are judged: three sets of four chains, with the numbers that deepnoise gives them."""

import numpy as np
from card import CHAINS, GREEN, GREY, INK, PALE, RED, new_card, panel
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnoise.inference.diagnostics import diagnose

DRAWS = 200
SD = 1.0  # of the noise of y, in the units of the traces
CASES = (("settled", GREEN), ("moving", RED), ("apart", RED))
WORDS = {
    "settled": ("Settled", "halves agree, chains agree"),
    "moving": ("Still moving", "the halves of a chain differ"),
    "apart": ("Steady, but apart", "halves agree, chains do not"),
}


def draw() -> Figure:
    figure, paper = new_card(452)
    for number, (case, colour) in enumerate(CASES):
        left = 58 + 214 * number
        means = traces(case)
        found = diagnose({"mean[0]": means, "sd[0]": np.full_like(means, SD)})
        if found.status != case:
            raise ValueError(f"drawn as {case}, judged {found.status}")
        head, what = WORDS[case]
        paper.text(left, 428, head, fontsize=10, fontweight="bold", color=colour, va="center")
        paper.text(left, 410, what, fontsize=8, color=GREY, va="center")
        one_trace(panel(figure, left, 256, 186, 140), means, first=number == 0)
        numbers = (
            f"R-hat {found.max_rhat:.2f}   within a chain {found.max_rhat_within:.2f}\n"
            f"effective draws {found.min_ess:.0f} of {means.size}"
        )
        paper.text(left, 205, numbers, fontsize=8, va="center", linespacing=1.5)
        densities(panel(figure, left, 74, 186, 86), means, first=number == 0)
        share = f"{100 * found.share_between:.1f} % of the predictive variance\nlies between chains"
        paper.text(left, 44, share, fontsize=8, va="center", linespacing=1.5)
    paper.plot([26, 674], [178, 178], color=PALE, lw=0.8)
    return figure


def traces(case: str) -> np.ndarray:
    """(chain, draw): a prediction's mean, draw by draw."""
    random = np.random.default_rng(5)
    noise = random.standard_normal((4, DRAWS))
    t = np.linspace(0, 1, DRAWS)
    if case == "moving":
        slow = np.array([[1.6], [-1.3], [1.0], [-1.7]]) * np.exp(-1.6 * t)
        return 0.16 * smooth(noise, 0.8) + 0.42 * slow
    if case == "apart":
        return 0.16 * smooth(noise, 0.5) + np.array([[0.42], [0.34], [-0.36], [-0.02]])
    return 0.22 * smooth(noise, 0.3)


def smooth(noise: np.ndarray, memory: float) -> np.ndarray:
    """Autoregressive chains of variance 1."""
    out = np.empty_like(noise)
    out[:, 0] = noise[:, 0]
    for i in range(1, noise.shape[1]):
        out[:, i] = memory * out[:, i - 1] + np.sqrt(1 - memory**2) * noise[:, i]
    return out


def one_trace(axes: Axes, means: np.ndarray, first: bool) -> None:
    for chain, colour in zip(means, CHAINS, strict=True):
        axes.plot(chain, color=colour, lw=0.8)
    axes.axvline(DRAWS / 2, color=INK, lw=0.8, linestyle=(0, (4, 3)))
    axes.set(xlim=(0, DRAWS), ylim=(-1.05, 1.05), yticks=[], xticks=[0, 100, 200])
    axes.set_xlabel("draw", labelpad=1)
    axes.tick_params(length=2)
    if first:
        axes.set_ylabel("predictive mean of a row", fontsize=8, labelpad=6)
        axes.text(50, 0.92, "first half", ha="center", fontsize=7, color=GREY)
        axes.text(150, 0.92, "second half", ha="center", fontsize=7, color=GREY)


def densities(axes: Axes, means: np.ndarray, first: bool) -> None:
    """What every chain says about y: the mean moves, the noise of y stays."""
    y = np.linspace(-3.6, 3.6, 181)
    for chain, colour in zip(means, CHAINS, strict=True):
        spread = np.sqrt(SD**2 + chain.var())
        axes.plot(
            y, np.exp(-(((y - chain.mean()) / spread) ** 2) / 2) / spread, color=colour, lw=1.1
        )
    axes.set(xlim=(-3.6, 3.6), ylim=(0, 1.12), yticks=[], xticks=[])
    axes.spines["left"].set_visible(False)
    if first:
        axes.set_ylabel("density of $y$,\nchain by chain", fontsize=8, labelpad=6)
