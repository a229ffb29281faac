"""The rows that the model found least likely."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.table import take
from .case import Case
from .words import number, percent

MOST = 10
COLUMNS = 12


@dataclass(frozen=True)
class Worst:
    """Rows, the most surprising first; ``columns`` name their features."""

    columns: tuple[str, ...]
    left_out: int
    rows: tuple["Row", ...]


@dataclass(frozen=True)
class Row:
    number: int
    observed: str
    interval: str
    where: str
    features: tuple[str, ...]


def worst(case: Case) -> Worst:
    surprise = -case.density.log_prob(case.observed)
    places = np.argsort(-surprise, kind="stable")[: min(MOST, len(surprise))]
    few, y = case.density[places], case.observed[places]
    below, ends = few.cdf(y), few.interval(0.9)
    names, columns = table_columns(case, places)
    rows = [
        Row(
            int(case.rows[place]),
            number(y[i]),
            f"{number(ends[i, 0])} to {number(ends[i, 1])}",
            where(float(below[i])),
            tuple(shown(column[i]) for column in columns),
        )
        for i, place in enumerate(places)
    ]
    return Worst(names[:COLUMNS], max(len(names) - COLUMNS, 0), tuple(rows))


def where(below: float) -> str:
    if below >= 0.5:
        return f"above {percent(below)} of the density"
    return f"below {percent(1 - below)} of the density"


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
