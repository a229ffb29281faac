"""One look for all drawings: a light card of 700 px, text as paths, the same bytes every time."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Okabe and Ito's colours, told apart with any colour vision.
BLUE, ORANGE, GREEN, PINK, SKY, RED = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
)
CHAINS = (BLUE, RED, GREEN, PINK)
INK, GREY, PALE, CARD, EDGE = "#24292F", "#6E7781", "#D0D7DE", "#FFFFFF", "#C8D0D8"

PIXELS = 96  # an inch, as browsers count
WIDTH = 700
STYLE = {
    "svg.fonttype": "path",
    "svg.hashsalt": "deepnoise",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "mathtext.fontset": "stix",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.3,
}


def new_card(height: int) -> tuple[Figure, Axes]:
    """A card of 700 x ``height`` px, and axes that cover it, in px from the lower left."""
    figure = Figure(figsize=(WIDTH / PIXELS, height / PIXELS))
    paper = figure.add_axes((0, 0, 1, 1))
    paper.set(xlim=(0, WIDTH), ylim=(0, height))
    paper.set_axis_off()
    outline = {"boxstyle": "round,pad=0,rounding_size=10", "linewidth": 0.8}
    card = FancyBboxPatch((2, 2), WIDTH - 4, height - 4, **outline, facecolor=CARD, edgecolor=EDGE)
    paper.add_patch(card)
    return figure, paper


def panel(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place given in px."""
    across, up = (figure.get_size_inches() * PIXELS).tolist()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def box(paper: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A tinted box with rounded corners; (x, y) is its lower left."""
    shape = {"boxstyle": "round,pad=0,rounding_size=7", "linewidth": 1.0}
    paper.add_patch(
        FancyBboxPatch((x, y), width, height, **shape, facecolor=tint(colour), edgecolor=colour)
    )


def arrow(paper: Axes, start, end, colour: str = INK, bend: float = 0.0, width: float = 1.2):
    """An arrow between two places."""
    paper.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>,head_length=4,head_width=2.4",
            connectionstyle=f"arc3,rad={bend}",
            color=colour,
            linewidth=width,
            shrinkA=0,
            shrinkB=0,
            zorder=3,
        )
    )


def bell(paper: Axes, x: float, y: float, size: float, colour: str = ORANGE) -> None:
    """A small bell curve that stands on (x, y): noise comes in here."""
    t = np.linspace(-2.6, 2.6, 41)
    curve = y + size * np.exp(-(t**2) / 2)
    paper.fill_between(x + t * size / 3, y, curve, color=colour, alpha=0.35, linewidth=0, zorder=4)
    paper.plot(x + t * size / 3, curve, color=colour, linewidth=1.1, zorder=5)


def tint(colour: str, strength: float = 0.12) -> tuple[float, float, float]:
    """The colour, mostly white."""
    red, green, blue = (1 - strength * (1 - part) for part in mpl.colors.to_rgb(colour))
    return red, green, blue


def save(figure: Figure, path: Path) -> None:
    """As SVG without a date."""
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})
