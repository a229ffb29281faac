"""Does the model know where it is unsure?  Width of intervals against errors."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.stats import spearmanr

from . import svg
from .case import Case
from .words import counted, number

COVERAGE = 0.9
WIDTH, HEIGHT = 440, 280
GROUPS = ("narrowest", "middle", "widest")
FEW = 9
# Below this rank correlation the two are called unrelated.
WEAK = 0.1


@dataclass(frozen=True)
class Group:
    name: str
    width: str
    error: str


@dataclass(frozen=True)
class Sharpness:
    reading: str
    left_out: str
    groups: tuple[Group, ...]
    picture: Markup | None


def sharpness(case: Case) -> Sharpness:
    tail = (1 - COVERAGE) / 2
    places = case.exact
    if not places.size:
        return Sharpness("No row was seen exactly: errors are not known.", "", (), None)
    low, middle, high = case.out(case.density[places].quantile([tail, 0.5, 1 - tail])).T
    y = case.out(case.values)
    width, error = high - low, np.abs(y - middle)
    inside = (low <= y) & (y <= high)
    left_out = (
        f"Of the {counted(len(places), 'row')} seen exactly; those that were not have no error, so "
        "long ones may be missing here."
    )
    return Sharpness(
        reading(width, error),
        left_out if case.windowed else "",
        groups(width, error),
        picture(case, width, error, inside),
    )


def reading(width: np.ndarray, error: np.ndarray) -> str:
    if len(width) < FEW:
        return "Too few rows to say whether wide intervals go with large errors."
    if np.ptp(width) < 1e-9 * width.max() or np.ptp(error) == 0:
        return "All intervals are equally wide: the model sees no rows that are harder than others."
    link = float(spearmanr(width, error).statistic)
    if link > WEAK:
        return f"Wide intervals go with large errors, as they should (rank correlation {link:.2f})."
    if link < -WEAK:
        return (
            f"Wide intervals go with small errors (rank correlation {link:.2f}): distrust widths."
        )
    return f"Widths say little about errors here (rank correlation {link:.2f})."


def groups(width: np.ndarray, error: np.ndarray) -> tuple[Group, ...]:
    """Rows in three groups by the width of their intervals."""
    if len(width) < FEW:
        return ()
    thirds = np.array_split(np.argsort(width, kind="stable"), len(GROUPS))
    return tuple(
        Group(name, number(width[rows].mean()), number(np.median(error[rows])))
        for name, rows in zip(GROUPS, thirds, strict=True)
    )


def picture(case: Case, width: np.ndarray, error: np.ndarray, inside: np.ndarray) -> Markup:
    span = np.ptp(width) or width.max()
    ends = max(width.min() - 0.06 * span, 0.0), width.max() + 0.06 * span
    plot = svg.panel(ends, (0, 1.06 * max(error.max(), ends[1] / 2)), WIDTH, HEIGHT)
    hints = np.array(
        [
            f"{case.called(place)}: width {number(w)}, error {number(e)}"
            for place, w, e in zip(case.exact, width, error, strict=True)
        ]
    )
    parts = [
        svg.axes(
            plot,
            f"width of the 90\N{NO-BREAK SPACE}% interval, units of {case.target}",
            "distance from median",
        ),
        svg.line(plot, ends, [ends[0] / 2, ends[1] / 2], "dashed"),
        svg.dots(plot, width[inside], error[inside], "dot", hints[inside].tolist()),
        svg.dots(plot, width[~inside], error[~inside], "dot outside", hints[~inside].tolist(), 3.5),
        svg.legend(
            (("dot", f"inside ({inside.sum()})"), ("outside", f"outside ({(~inside).sum()})")),
            66,
            26,
        ),
    ]
    title = (
        f"Distance of {case.target} from the predictive median against the width of the 90 % "
        f"interval, one dot a row: {inside.sum()} inside their interval, {(~inside).sum()} outside."
    )
    return svg.drawing("sharpness", title, parts, WIDTH, HEIGHT)
