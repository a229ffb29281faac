"""Curves of the mean as one column moves."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ..estimators.effects import Effect
from ..estimators.effects import effects as found_effects
from ..estimators.table import take
from ..prediction.credible import Band
from . import svg
from .case import Case
from .words import number

MOST = 8
ROWS = 20
LEVEL = 0.9
WIDTH, HEIGHT = 440, 210
# So many letters fit below a picture on a phone; more levels than NAMED are not written out.
LETTERS, NAMED = 40, 12


@dataclass(frozen=True)
class Curve:
    name: str
    picture: Markup


@dataclass(frozen=True)
class Effects:
    """``rows`` over which the curves are averaged; ``left_out`` columns move the mean less."""

    curves: tuple[Curve, ...]
    rows: int
    left_out: int


def effects(case: Case) -> Effects | None:
    """The columns that move the mean most, all on the same axis."""
    places = case.details()
    if not places.size:
        return None
    few = places[np.linspace(0, len(places) - 1, min(len(places), ROWS)).round().astype(int)]
    found = found_effects(case.model, take(case.X, few), LEVEL)
    order = sorted(found, key=lambda effect: -effect.span)[:MOST]
    bands = [
        Band(*(case.out(part) for part in (e.curve.mean, e.curve.lower, e.curve.upper)))
        for e in order
    ]
    low, high = min(b.lower.min() for b in bands), max(b.upper.max() for b in bands)
    margin = 0.05 * (high - low)
    ends = low - margin, high + margin
    curves = tuple(
        Curve(effect.name, draw(case, n, effect, band, ends))
        for n, (effect, band) in enumerate(zip(order, bands, strict=True))
    )
    return Effects(curves, len(few), len(found) - len(order))


def draw(case: Case, n: int, effect: Effect, band: Band, ends: tuple[float, float]) -> Markup:
    label = f"typical {case.target}" if case.log else f"mean of {case.unit}"
    parts = (
        levels(effect, band, ends, label) if effect.is_category else line(effect, band, ends, label)
    )
    values = [v if isinstance(v, str) else number(v, 3) for v in effect.values]
    told = "; ".join(
        f"{value}: {number(m, 3)} ({number(a, 3)} to {number(b, 3)})"
        for value, m, a, b in zip(values, band.mean, band.lower, band.upper, strict=True)
    )
    title = f"{label} as {effect.name} moves, with 90 % credible intervals. {told}."
    return svg.drawing(f"effect-{n}", title, parts, WIDTH, HEIGHT)


def line(effect: Effect, band: Band, ends: tuple[float, float], label: str) -> list[Markup]:
    x = np.array(effect.values, float)
    plot = svg.panel((x[0], x[-1]), ends, WIDTH, HEIGHT)
    return [
        svg.axes(plot, effect.name, label, most=(6, 5)),
        svg.area(plot, x, band.lower, band.upper, "band"),
        svg.line(plot, x, band.mean, "curve"),
    ]


def levels(effect: Effect, band: Band, ends: tuple[float, float], label: str) -> list[Markup]:
    """A dot with a whisker for each level of a category."""
    names = [str(name) for name in effect.values]
    plot = svg.panel((-0.5, len(names) - 0.5), ends, WIDTH, HEIGHT)
    parts = [svg.axes(plot, effect.name, label, most=(0, 5))]
    room = max(LETTERS // len(names), 2)
    for j, name in enumerate(names):
        at, low, high = float(plot.x(j)), *map(float, plot.y([band.lower[j], band.upper[j]]))
        parts.append(svg.segment(at, low, at, high, "whisker"))
        parts.append(svg.dots(plot, j, band.mean[j], "dot", [name], 4))
        short = name if len(name) <= room else f"{name[: room - 1]}…"
        if len(names) <= NAMED:
            parts.append(svg.text(at, plot.y.start + 17, short, "tick middle"))
    return parts
