"""The network with its noise: two hidden layers of three units."""

from card import BLUE, GREEN, GREY, INK, PALE, arrow, bell, new_card, tint
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

ROWS = (300, 225, 150)
X, V0, U1, V1, U2, Y = 62, 190, 290, 415, 515, 638
MIDDLE = ROWS[1]
RADIUS = 17


def draw() -> Figure:
    figure, paper = new_card(410)
    for left, right in ((X, V0), (U1, V1), (U2, Y)):
        weights(paper, left, right, (MIDDLE,) if right == Y else ROWS)
    for before, after in ((V0, U1), (V1, U2)):
        for row in ROWS:
            activation(paper, before, after, row)
    for place, names, colour in (
        (X, "$x_{%d}$", GREY),
        (V0, "$v_{0,%d}$", BLUE),
        (U1, "$u_{1,%d}$", GREEN),
        (V1, "$v_{1,%d}$", BLUE),
        (U2, "$u_{2,%d}$", GREEN),
    ):
        for number, row in enumerate(ROWS, 1):
            unit(paper, place, row, names % number, colour, noisy=place != X)
    unit(paper, Y, MIDDLE, "$y$", INK, noisy=True)
    captions(paper)
    return figure


def unit(paper: Axes, x: float, y: float, name: str, colour: str, noisy: bool) -> None:
    paper.add_patch(
        Circle((x, y), RADIUS, facecolor=tint(colour, 0.15), edgecolor=colour, lw=1.3, zorder=4)
    )
    paper.text(x, y - 0.5, name, ha="center", va="center", fontsize=10.5, zorder=6)
    if noisy:
        bell(paper, x, y + RADIUS + 2, 13)


def weights(paper: Axes, left: float, right: float, targets: tuple[int, ...]) -> None:
    for start in ROWS:
        for end in targets:
            paper.plot([left + RADIUS, right - RADIUS], [start, end], color=PALE, lw=1.0, zorder=1)


def activation(paper: Axes, before: float, after: float, y: float) -> None:
    """The box of h between two units."""
    middle, half = (before + after) / 2, 13
    arrow(paper, (before + RADIUS, y), (middle - half, y), GREY, width=0.9)
    arrow(paper, (middle + half, y), (after - RADIUS, y), GREY, width=0.9)
    graph(paper, middle, y)


def graph(paper: Axes, x: float, y: float, half: float = 13) -> None:
    """The graph of hard tanh in a box."""
    look = {"boxstyle": "round,pad=0,rounding_size=4", "fc": "white", "ec": GREY, "lw": 0.9}
    paper.add_patch(FancyBboxPatch((x - half, y - half), 2 * half, 2 * half, **look))
    paper.plot([x - 10, x - 4, x + 4, x + 10], [y - 7, y - 7, y + 7, y + 7], color=INK)


def captions(paper: Axes) -> None:
    centre = {"ha": "center", "va": "center"}
    for x, text in ((X, "inputs"), ((V0 + U1) / 2, "hidden layer 0")):
        paper.text(x, 382, text, fontsize=9.5, fontweight="bold", **centre)
    paper.text((V1 + U2) / 2, 382, "hidden layer 1", fontsize=9.5, fontweight="bold", **centre)
    paper.text(Y, 382, "outcome", fontsize=9.5, fontweight="bold", **centre)
    for left, right, name in ((X, V0, 0), (U1, V1, 1), (U2, Y, 2)):
        symbol = rf"$\beta_{name},\ \gamma_{name}$"
        paper.text((left + right) / 2, 345, symbol, fontsize=10.5, color=GREY, **centre)
    for x, symbol in (
        (V0, r"\tau_0^2"),
        (V1, r"\tau_1^2"),
        (U1, r"\sigma_0^2"),
        (U2, r"\sigma_1^2"),
    ):
        paper.text(x, 345, f"${symbol}$", fontsize=10.5, color="#9A6700", **centre)
    paper.text(Y, 268, r"$\tau_2^2$", fontsize=10.5, color="#9A6700", **centre)
    paper.plot([26, 674], [112, 112], color=PALE, lw=0.8)
    laws = (
        (
            BLUE,
            "before the activation",
            r"$v_l = \beta_l u_l + \gamma_l + $ noise of variance $\tau_l^2$",
        ),
        (GREEN, "after the activation", r"$u_{l+1} = h(v_l) + $ noise of variance $\sigma_l^2$"),
        (INK, "at the outcome", r"$y = \beta_2 u_2 + \gamma_2 + $ noise of variance $\tau_2^2$"),
    )
    for number, (colour, where, law) in enumerate(laws):
        y = 88 - 28 * number
        paper.add_patch(Circle((40, y), 6, facecolor=tint(colour, 0.15), edgecolor=colour, lw=1.2))
        paper.text(56, y, where, va="center", fontsize=9)
        paper.text(205, y, law, va="center", fontsize=11)
    bell(paper, 506, 74, 20)
    paper.text(530, 82, "Gaussian noise, its own\nin every row and unit", va="center", fontsize=8.5)
    graph(paper, 506, 38)
    paper.text(
        530, 38, "activation $h$, piecewise\nlinear: here hard tanh", va="center", fontsize=8.5
    )
