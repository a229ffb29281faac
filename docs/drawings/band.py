"""A credible band on a density, against a prediction interval: few rows, and many."""

import numpy as np
from card import BLUE, GREY, INK, RED, new_card, panel
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# A mixture of two normals whose five parameters are known the better, the more rows there are.
WEIGHT, CENTRES, SPREADS = 0.6, (0.0, 3.2), (0.8, 0.6)
GRID = np.linspace(-4.5, 6.5, 221)
DEEP_BLUE, DEEP_RED = "#00598A", "#A84300"
INTERVAL = (-1.05, -0.02), (-4.4, 0.19)  # where its label points, and where it stands
ROWS = ((60, "60 rows"), (3000, "3,000 rows"))


def draw() -> Figure:
    figure, paper = new_card(372)
    for number, (rows, name) in enumerate(ROWS):
        left = 28 + 336 * number
        axes = panel(figure, left, 84, 308, 240)
        curves = posterior(rows)
        one_panel(axes, curves)
        paper.text(left, 344, name, fontsize=10, fontweight="bold", va="center")
        if number == 0:
            label(axes)
    words = (
        "The band shrinks with more rows. The interval does not: "
        "it is about the next outcome, whose noise stays."
    )
    paper.text(350, 22, words, ha="center", va="center", fontsize=8.5, color=INK)
    return figure


def posterior(rows: int, draws: int = 4000) -> np.ndarray:
    """Densities (draws, grid) of one row of x, as ``rows`` training rows would leave them."""
    noise = np.random.default_rng(3).standard_normal((draws, 5))
    noise = (noise - noise.mean(axis=0)) / np.sqrt(rows)
    logit = np.log(WEIGHT / (1 - WEIGHT)) + noise[:, 0] / np.sqrt(WEIGHT * (1 - WEIGHT))
    shares = 1 / (1 + np.exp(-logit))
    total = np.zeros((draws, len(GRID)))
    parts = ((shares, 0, WEIGHT), (1 - shares, 1, 1 - WEIGHT))
    for share, which, part in parts:
        spread = SPREADS[which] * np.exp(noise[:, 1 + which] / np.sqrt(2 * part))
        centre = CENTRES[which] + SPREADS[which] * noise[:, 3 + which] / np.sqrt(part)
        z = (GRID - centre[:, None]) / spread[:, None]
        total += share[:, None] * np.exp(-(z**2) / 2) / (spread[:, None] * np.sqrt(2 * np.pi))
    return total


def one_panel(axes: Axes, curves: np.ndarray) -> None:
    mean = curves.mean(axis=0)
    lower, upper = np.quantile(curves, [0.025, 0.975], axis=0)
    axes.fill_between(GRID, lower, upper, color=BLUE, alpha=0.22, linewidth=0)
    for curve in curves[:6]:
        axes.plot(GRID, curve, color=BLUE, lw=0.6, alpha=0.7)
    axes.plot(GRID, mean, color=INK, lw=1.8)
    mass = np.cumsum(mean) / mean.sum()
    ends = np.interp([0.05, 0.95], mass, GRID)
    axes.plot(ends, [-0.035, -0.035], color=RED, lw=3.2, solid_capstyle="butt")
    for end in ends:
        axes.plot([end, end], [-0.052, -0.018], color=RED, lw=1.4)
    axes.axhline(0, color=GREY, lw=0.7)
    axes.set(xlim=(-4.5, 6.5), ylim=(-0.075, 0.62), yticks=[], xticks=range(-4, 7, 2))
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("outcome $y$, for one row $x$", labelpad=2)


def label(axes: Axes) -> None:
    line = {"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 2}
    said = (
        ("95 % credible band:\nwhere the curve\nmay lie", (3.45, 0.37), (3.7, 0.475), DEEP_BLUE),
        ("predictive density:\nmean of the curves", (-0.45, 0.27), (-4.4, 0.42), INK),
        ("a thin line is\none posterior draw", (0.05, 0.475), (0.75, 0.58), DEEP_BLUE),
        ("90 % prediction\ninterval: where\nthe next\noutcome may lie", *INTERVAL, DEEP_RED),
    )
    for text, at, place, colour in said:
        axes.annotate(text, at, place, fontsize=7.8, color=colour, arrowprops=line, va="center")
