"""One sweep as data flowing through it: what each step redraws, and what it holds."""

from card import BLUE, EDGE, GREEN, GREY, INK, ORANGE, PALE, PINK, arrow, box, new_card, tint
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

NODES = ("x", "v", "u", "v", "u", "y")
WEIGHTS = (0, 2, 4)  # edges with weights; the others are activations
# name, what is redrawn (nodes, weights, noise), words, x of the box
UPPER = (
    (
        "1  Hamiltonian move",
        ({-1, -2, -3}, True, True),
        "weights, noise sizes and\nlearnt scales move together;\nhidden values (pale) follow",
        26,
    ),
    (
        "2  Fresh noise paths",
        ({1, 2, 3}, False, False),
        "whole paths from $x$ compete;\nthose that explain $y$ win,\nso values cross modes",
        254,
    ),
    (
        "3  Last hidden value",
        ({4}, False, False),
        "drawn back in: the move\nhad integrated it out\n(Gaussian)",
        482,
    ),
)
LOWER = (
    ("7  Weights", (set(), True, False), "Bayesian linear\nregressions\n(Gaussian)", 26),
    (
        "6  After activation",
        ({2, 4}, False, False),
        "all $u$, given all $v$\n(Gaussian, one factor\nfor all rows)",
        195,
    ),
    (
        "5  Before activation",
        ({1, 3}, False, False),
        "all $v$, given all $u$\n(pieces of truncated\nGaussians)",
        364,
    ),
    (
        "4  Noise sizes",
        (set(), False, True),
        "variances and\nlearnt scales (inverse\ngamma, gamma)",
        533,
    ),
)
WIDE, NARROW, TALL = 192, 141, 138
TOP, BOTTOM = 300, 92


def draw() -> Figure:
    figure, paper = new_card(492)
    title = {"fontsize": 9.5, "fontweight": "bold", "va": "center"}
    paper.text(26, 466, "Between sweeps: everything moves together", color="#A0487A", **title)
    paper.text(116, 256, "Gibbs sweep: four blocks, each drawn exactly", color="#00684A", **title)
    for name, redrawn, words, x in UPPER:
        step(paper, x, TOP, WIDE, name, redrawn, PINK, words)
    for name, redrawn, words, x in LOWER:
        step(paper, x, BOTTOM, NARROW, name, redrawn, GREEN, words)
    for left, right in ((218, 250), (446, 478)):
        arrow(paper, (left, TOP + TALL / 2), (right, TOP + TALL / 2))
    for right, left in ((533, 509), (364, 340), (195, 171)):
        arrow(paper, (right, BOTTOM + TALL / 2), (left, BOTTOM + TALL / 2))
    arrow(paper, (603, TOP), (603, BOTTOM + TALL + 3))
    arrow(paper, (96, BOTTOM + TALL), (96, TOP - 3))
    paper.text(116, 282, "next sweep", fontsize=8, color=GREY, va="center")
    paper.text(
        595,
        282,
        "data $x$ and $y$ stay as they are",
        fontsize=8,
        color=GREY,
        va="center",
        ha="right",
    )
    arrow(paper, (96, BOTTOM), (96, 66))
    kept = "every few sweeps, all weights and noise sizes are kept: one posterior draw"
    paper.text(26, 52, kept, fontsize=8.5, va="center")
    legend(paper)
    return figure


def step(paper: Axes, x, y, width, name, redrawn, colour, words) -> None:
    box(paper, x, y, width, TALL, colour)
    size = 9 if width == WIDE else 8.3
    paper.text(x + 10, y + TALL - 16, name, fontsize=size, fontweight="bold", va="center")
    chain(paper, x + 18, y + TALL - 52, (width - 36) / 5, redrawn)
    paper.text(x + 10, y + 62, words, fontsize=8, va="top", linespacing=1.35)


def chain(paper: Axes, x: float, y: float, gap: float, redrawn) -> None:
    """x, v, u, v, u, y in a line; redrawn nodes are in colour, -n is one that follows."""
    nodes, weights, noise = redrawn
    for edge in range(5):
        moved = weights and edge in WEIGHTS
        start, end = x + gap * edge, x + gap * (edge + 1)
        style = {"color": BLUE, "lw": 2.6} if moved else {"color": PALE, "lw": 1.2}
        paper.plot([start, end], [y, y], **style, zorder=3, solid_capstyle="butt")
    for place, name in enumerate(NODES):
        at = x + gap * place
        if place:
            colour = ORANGE if noise else EDGE
            paper.plot([at, at], [y + 9, y + 17], color=colour, lw=2.6 if noise else 1.4)
        face = BLUE if place in nodes else tint(BLUE, 0.3) if -place in nodes else "white"
        paper.add_patch(Circle((at, y), 8, facecolor=face, edgecolor=GREY, lw=0.8, zorder=4))
        ink = "white" if place in nodes else INK
        paper.text(
            at, y - 0.5, f"${name}$", ha="center", va="center", fontsize=8.5, color=ink, zorder=5
        )


def legend(paper: Axes) -> None:
    y = 24
    paper.add_patch(Circle((33, y), 7, facecolor=BLUE, edgecolor=GREY, lw=0.8))
    paper.plot([52, 72], [y, y], color=BLUE, lw=2.6)
    paper.plot([84, 84], [y - 5, y + 5], color=ORANGE, lw=2.6)
    paper.text(
        96, y, "redrawn in this step: hidden values, weights, noise sizes", fontsize=8, va="center"
    )
    paper.add_patch(Circle((452, y), 7, facecolor="white", edgecolor=GREY, lw=0.8))
    paper.plot([470, 490], [y, y], color=PALE, lw=1.2)
    paper.plot([502, 502], [y - 5, y + 5], color=EDGE, lw=1.4)
    paper.text(514, y, "held as they are", fontsize=8, va="center")
