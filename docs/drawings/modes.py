"""Why noise makes skewed and bimodal densities: three units, and the sum of two of them."""

import numpy as np
from card import BLUE, GREY, INK, ORANGE, PALE, arrow, new_card, panel, tint
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# (centre m of v, sd tau of the noise before h, words) of the three units in the drawing.
UNITS = (
    (0.0, 0.30, "in the straight part", "one hump, symmetric"),
    (0.8, 0.65, "at a kink", "one hump, skewed"),
    (0.0, 2.20, "wider than the straight part", "two humps"),
)
AFTER = 0.17  # sd of the noise after h


def draw() -> Figure:
    figure, paper = new_card(560)
    heads = (
        (120, "noise before: $v$"),
        (330, "activation: $u = h(v)$ + noise"),
        (570, "density of $u$"),
    )
    for x, text in heads:
        paper.text(x, 532, text, ha="center", va="center", fontsize=9.5, fontweight="bold")
    for number, (centre, spread, where, shape) in enumerate(UNITS):
        bottom = 410 - 120 * number
        row(figure, paper, bottom, centre, spread)
        paper.text(120, bottom + 96, where, ha="center", va="top", fontsize=8, color=GREY)
        paper.text(570, bottom + 96, shape, ha="center", va="top", fontsize=8, color=GREY)
    paper.text(
        330, 506, "shaded: the straight part of $h$", ha="center", va="top", fontsize=8, color=GREY
    )
    paper.plot([26, 674], [152, 152], color=PALE, lw=0.8)
    total(figure, paper)
    return figure


def hard_tanh(v: np.ndarray) -> np.ndarray:
    return np.clip(v, -1, 1)


def normal(y: np.ndarray, mean, sd: float) -> np.ndarray:
    return np.exp(-(((y - mean) / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi))


def after(centre: float, spread: float, u: np.ndarray, noise: float = AFTER) -> np.ndarray:
    """The density of u = h(v) + noise, by quadrature over v."""
    v = centre + spread * np.linspace(-5, 5, 801)
    weight = normal(v, centre, spread)
    weight /= weight.sum()
    return normal(u[:, None], hard_tanh(v)[None, :], noise) @ weight


def row(figure: Figure, paper: Axes, bottom: float, centre: float, spread: float) -> None:
    v, u = np.linspace(-4, 4, 161), np.linspace(-1.8, 1.8, 181)
    before = panel(figure, 40, bottom, 160, 84)
    density(before, v, normal(v, centre, spread), BLUE, (-4, 4))
    before.axvspan(-1, 1, color=tint(ORANGE, 0.22), linewidth=0, zorder=0)
    bend = panel(figure, 260, bottom, 140, 84)
    bend.plot(v, hard_tanh(v), color=INK, lw=1.6)
    bend.axvspan(-1, 1, color=tint(ORANGE, 0.22), linewidth=0, zorder=0)
    shade = normal(v, centre, spread) / normal(np.zeros(1), 0.0, spread)
    bend.scatter(v[::4], hard_tanh(v[::4]), s=42 * shade[::4] + 0.5, color=BLUE, alpha=0.55, lw=0)
    bend.set(xlim=(-4, 4), ylim=(-1.45, 1.6), xticks=[-1, 1], yticks=[-1, 1])
    bend.tick_params(length=2, labelsize=7, pad=1.5)
    density(panel(figure, 490, bottom, 160, 84), u, after(centre, spread, u), BLUE, (-1.8, 1.8))
    for start, end in ((208, 240), (418, 470)):
        arrow(paper, (start, bottom + 42), (end, bottom + 42), GREY)


def density(axes: Axes, at: np.ndarray, height: np.ndarray, colour: str, limits) -> None:
    axes.fill_between(at, height, color=colour, alpha=0.22, linewidth=0)
    axes.plot(at, height, color=colour)
    axes.set(xlim=limits, ylim=(0, 1.28 * height.max()), yticks=[], xticks=[-1, 0, 1])
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=2, labelsize=7, pad=1.5)


def total(figure: Figure, paper: Axes) -> None:
    """y = 1.5 u_a + 0.8 u_b: the bimodal unit and the skewed one together."""
    y = np.linspace(-4, 4, 801)
    step = y[1] - y[0]
    parts = [
        after(c, s, y / w) / w for (c, s, _, _), w in zip(UNITS[:0:-1], (1.5, 0.8), strict=True)
    ]
    both = np.convolve(parts[0], parts[1], mode="same") * step
    words = (
        "The outcome adds units up, so their shapes combine:\n"
        r"$y = 1.5\,u_{\mathrm{wide}} + 0.8\,u_{\mathrm{kink}}$"
        "\nhas two humps, each with a longer left side."
    )
    paper.text(40, 84, words, va="center", fontsize=9, linespacing=1.7)
    axes = panel(figure, 400, 34, 250, 104)
    density(axes, y[::4], both[::4], INK, (-3.6, 3.6))
    axes.set_xticks([-2, 0, 2])
    axes.set_xlabel("$y$", labelpad=1)
