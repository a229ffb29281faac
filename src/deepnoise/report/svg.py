"""Small inline SVG drawings: colours by CSS class, every text escaped, described in words.

Coordinates are pixels of the drawing; an ``Axis`` maps values to them.  Shapes are ``Markup``, so
that templates do not escape them again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from .words import number

EMPTY = Markup("")


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high`` lie between the pixels ``start`` and ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, values: ArrayLike) -> np.ndarray:
        share = (np.asarray(values, float) - self.low) / (self.high - self.low)
        return self.start + np.clip(share, -0.5, 1.5) * (self.stop - self.start)

    def ticks(self, most: int = 6) -> np.ndarray:
        """Round values inside the axis, at most so many."""
        size = 10.0 ** np.floor(np.log10((self.high - self.low) / (most + 1)))
        for step in (s * size for s in (1, 2, 2.5, 5, 10, 20, 25, 50)):
            first = np.ceil(self.low / step - 1e-9)
            last = np.floor(self.high / step + 1e-9)
            if last - first < most:
                break
        return np.arange(first, last + 1) * step


@dataclass(frozen=True)
class Panel:
    """Two axes, x to the right and y upwards."""

    x: Axis
    y: Axis


def panel(
    x: tuple[float, float],
    y: tuple[float, float],
    width: float = 640,
    height: float = 280,
    left: float = 52,
    top: float = 12,
    below: float = 44,
) -> Panel:
    """A panel with room for labels; an axis without length gets some."""
    x, y = _stretched(x), _stretched(y)
    return Panel(Axis(*x, left, width - 14), Axis(*y, height - below, top))


def _stretched(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = map(float, ends)
    if high > low and np.isfinite(high - low):
        return low, high
    margin = max(abs(low), 1.0) / 2
    return low - margin, low + margin


def drawing(
    name: str, title: str, parts: Iterable[Markup], width: float = 640, height: float = 280
) -> Markup:
    """The whole picture; ``title`` says in words what it shows."""
    return Markup(
        '<svg class="drawing" viewBox="0 0 {w:g} {h:g}" role="img" aria-labelledby="{n}-title">'
        '<title id="{n}-title">{t}</title>{p}</svg>'
    ).format(w=width, h=height, n=name, t=title, p=EMPTY.join(parts))


def axes(plot: Panel, xlabel: str, ylabel: str = "", most: tuple[int, int] = (7, 5)) -> Markup:
    """Grid lines, tick labels and names of both axes; ``most`` 0 leaves an axis bare."""
    parts = []
    left, right, bottom, top = plot.x.start, plot.x.stop, plot.y.start, plot.y.stop
    for value in plot.y.ticks(most[1]) if most[1] else ():
        at = float(plot.y(value))
        parts.append(segment(left, at, right, at, "grid"))
        parts.append(text(left - 6, at + 4, number(value), "tick end"))
    parts.append(segment(left, bottom, right, bottom, "axis"))
    for value in plot.x.ticks(most[0]) if most[0] else ():
        at = float(plot.x(value))
        parts.append(segment(at, bottom, at, bottom + 4, "axis"))
        parts.append(text(at, bottom + 17, number(value), "tick middle"))
    parts.append(text((left + right) / 2, bottom + 36, xlabel, "label middle"))
    if ylabel:
        parts.append(
            Markup(
                '<text class="label middle" transform="translate(12 {:.1f}) rotate(-90)">{}</text>'
            ).format((top + bottom) / 2, ylabel)
        )
    return EMPTY.join(parts)


def segment(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        style, x1, y1, x2, y2
    )


def text(x: float, y: float, content: str, style: str) -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(style, x, y, content)


def line(plot: Panel, x: ArrayLike, y: ArrayLike, style: str) -> Markup:
    return Markup('<path class="{}" d="M{}"/>').format(style, _points(plot.x(x), plot.y(y)))


def area(plot: Panel, x: ArrayLike, low: ArrayLike, high: ArrayLike, style: str) -> Markup:
    """What lies between two curves."""
    across, x = plot.x(x), np.asarray(x, float)
    there = _points(across, plot.y(np.broadcast_to(high, x.shape)))
    back = _points(across[::-1], plot.y(np.broadcast_to(low, x.shape))[::-1])
    return Markup('<path class="{}" d="M{}L{}Z"/>').format(style, there, back)


def box(x: float, y: float, width: float, height: float, style: str, hint: str = "") -> Markup:
    """A rectangle given in pixels."""
    inside = Markup("<title>{}</title>").format(hint) if hint else EMPTY
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">{}</rect>'
    ).format(style, x, y, max(width, 0.0), max(height, 0.0), inside)


def bars(
    plot: Panel, edges: ArrayLike, heights: ArrayLike, style: str, hints: Sequence[str]
) -> Markup:
    """A histogram."""
    across, tops = plot.x(edges), plot.y(heights)
    ground = float(plot.y(max(plot.y.low, 0.0)))
    return EMPTY.join(
        box(a + 0.75, top, b - a - 1.5, ground - top, style, hint)
        for a, b, top, hint in zip(across[:-1], across[1:], tops, hints, strict=True)
    )


def dots(
    plot: Panel,
    x: ArrayLike,
    y: ArrayLike,
    style: str,
    hints: Sequence[str] = (),
    radius: float = 3,
) -> Markup:
    places = zip(np.atleast_1d(plot.x(x)), np.atleast_1d(plot.y(y)), strict=True)
    titles = [Markup("<title>{}</title>").format(hint) for hint in hints]
    return EMPTY.join(
        Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:g}">{}</circle>').format(
            style, a, b, radius, titles[i] if titles else EMPTY
        )
        for i, (a, b) in enumerate(places)
    )


def upright(plot: Panel, x: float, style: str) -> Markup:
    """A line over the whole height."""
    at = float(plot.x(x))
    return segment(at, plot.y.start, at, plot.y.stop, style)


def legend(entries: Sequence[tuple[str, str]], x: float, y: float, gap: float = 16) -> Markup:
    """Swatches of (class, name), one above the other."""
    parts = []
    for i, (style, name) in enumerate(entries):
        parts.append(box(x, y + i * gap - 8, 14, 8, f"swatch {style}"))
        parts.append(text(x + 20, y + i * gap, name, "tick"))
    return EMPTY.join(parts)


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return escape(" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)))
