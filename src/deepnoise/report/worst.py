"""The rows that the model found least likely."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ..estimators.table import take
from ..prediction.metrics import log_scores
from .case import Case
from .words import capitalized, number, percent

MOST = 10
COLUMNS = 12


@dataclass(frozen=True)
class Worst:
    """Rows, the most surprising first; ``left_out`` columns are not shown."""

    left_out: int
    rows: tuple["Row", ...]


@dataclass(frozen=True)
class Row:
    """``features`` are the names of columns and their values, in a line."""

    name: str
    observed: str
    interval: str
    where: str
    features: Markup


def worst(case: Case) -> Worst:
    surprise = -log_scores(case.density, case.outcomes)
    places = np.argsort(-surprise, kind="stable")[: min(MOST, len(surprise))]
    ends = case.out(case.density[places].interval(0.9))
    names, columns = table_columns(case, places)
    rows = [
        Row(
            capitalized(case.called(place)),
            case.observation(place),
            f"{number(ends[i, 0])} to {number(ends[i, 1])}",
            where(case, int(place)),
            inline([(name, shown(column[i])) for name, column in zip(names, columns)]),
        )
        for i, place in enumerate(places)
    ]
    return Worst(max(len(names) - COLUMNS, 0), tuple(rows))


def where(case: Case, place: int) -> str:
    low, high = (float(end[place]) for end in case.bounds)
    density = case.density[place]
    if low != high:
        return f"there lies {percent(float(density.probability_between(low, high)[0]))}"
    return side(float(density.cdf(low)[0]))


def side(below: float) -> str:
    if below >= 0.5:
        return f"above {percent(below)} of the density"
    return f"below {percent(1 - below)} of the density"


def inline(pairs: list[tuple[str, str]]) -> Markup:
    """Pairs that are not torn apart at the end of a line."""
    one = Markup('<span class="together"><span class="soft">{}</span> {}</span>')
    return Markup(" · ").join(one.format(*pair) for pair in pairs)


def table_columns(case: Case, places: np.ndarray) -> tuple[tuple[str, ...], list[Any]]:
    names = tuple(column.name for column in case.model.encoder_.columns)
    few = take(case.X, places)
    if hasattr(few, "columns"):
        return names, [list(few[name]) for name in list(few.columns)[:COLUMNS]]
    return names, list(np.asarray(few).T[:COLUMNS])


def shown(value: Any) -> str:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return number(float(value))
    return str(value)
