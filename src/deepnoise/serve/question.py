"""What a request asks about its rows, checked."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InvalidError, RequestError, shown
from .rows import number

QUANTILES = (0.05, 0.5, 0.95)
MOST_LEVELS, MOST_POINTS = 100, 1000
# Of an answer: larger ones would keep the server from listening while they are written.
MOST_NUMBERS = 100_000
ROWS = ("rows", "columns", "data")
OF_NUMBERS = ("quantiles", "above", "grid", "mean")

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Question:
    """``above`` and ``grid`` have one tuple for each outcome; ``points`` asks for a grid."""

    mean: bool = False
    quantiles: Numbers = ()
    above: tuple[Numbers, ...] = ()
    grid: tuple[Numbers, ...] = ()
    points: int | None = None
    interval: float | None = None


def parsed(body: bytes) -> dict[str, Any]:
    """The object in a body: JSON to the letter, without NaN, infinities or names given twice."""
    try:
        found = json.loads(body, parse_constant=_refused, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        own = error.args[0] if isinstance(error, _NotJsonError) else "the body is not JSON"
        raise RequestError(400, own) from None
    if not isinstance(found, dict):
        raise RequestError(400, "the body must be a JSON object")
    return found


class _NotJsonError(ValueError):
    pass


def _refused(literal: str) -> None:
    raise _NotJsonError(f"{literal} is not JSON; write null for a missing value")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotJsonError("an object has the same name twice")
    return found


def read_question(asked: Mapping[str, Any], kind: str, outcomes: Sequence[str]) -> Question:
    """What is asked of a model of that kind: "numbers", "times" or "classes"."""
    known = (*ROWS, *OF_NUMBERS, "interval")
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise InvalidError(f"unknown field {shown(unknown[0])}; there are {', '.join(known)}")
    interval = _interval(asked.get("interval"))
    if kind == "classes":
        given = [name for name in OF_NUMBERS if name in asked]
        if given:
            raise InvalidError(f"{given[0]}: this model predicts classes, which have none")
        return Question(interval=interval)
    if interval is not None and len(outcomes) > 1:
        raise InvalidError("interval: only for models of one outcome")
    mean = asked.get("mean", kind == "numbers")
    if not isinstance(mean, bool):
        raise InvalidError(f"mean must be true or false; got {shown(mean)}")
    if mean and kind == "times":
        raise InvalidError("mean: the mean of a time may be infinite; ask for the quantile 0.5")
    above = _each(asked.get("above", []), "above", outcomes, MOST_LEVELS)
    if kind == "times" and any(c <= 0 for c in above[0]):
        raise InvalidError("above: times must be above 0")
    grid = asked.get("grid", [])
    points = _points(grid)
    return Question(
        mean,
        _levels(asked.get("quantiles", list(QUANTILES))),
        above,
        () if points else _each(grid, "grid", outcomes, MOST_POINTS),
        points,
        interval,
    )


def check_size(question: Question, rows: int, outcomes: int) -> None:
    """An error if the answer would be too long."""
    grid = question.points or max(map(len, question.grid), default=0)
    a_row = len(question.quantiles) + 3 * max(map(len, question.above), default=0) + grid + 2
    if rows * a_row * outcomes > MOST_NUMBERS:
        raise InvalidError(
            f"the answer would hold {rows * a_row * outcomes:,} numbers, more than "
            f"{MOST_NUMBERS:,}: send fewer rows, or ask for fewer points"
        )


def _interval(value: Any) -> float | None:
    if value is None:
        return None
    if not _is_number(value) or not 0 < value < 1:
        raise InvalidError(f"interval must be a probability between 0 and 1; got {shown(value)}")
    return float(value)


def _levels(values: Any) -> Numbers:
    found = _numbers(values, "quantiles", MOST_LEVELS)
    wrong = [level for level in found if not 0 < level < 1]
    if wrong:
        raise InvalidError(f"quantiles must be levels between 0 and 1; got {wrong[0]:g}")
    return found


def _points(grid: Any) -> int | None:
    """The number of points of {"points": n}; None for values."""
    if not isinstance(grid, dict) or "points" not in grid or len(grid) > 1:
        return None
    points = grid["points"]
    whole = isinstance(points, int) and not isinstance(points, bool)
    if not whole or not 2 <= points <= MOST_POINTS:
        raise InvalidError(f"grid.points must be a whole number from 2 to {MOST_POINTS}")
    return points


def _each(given: Any, name: str, outcomes: Sequence[str], most: int) -> tuple[Numbers, ...]:
    """The same numbers for every outcome, or an object with those of each."""
    if not isinstance(given, dict) or len(outcomes) == 1:
        return (_numbers(given, name, most),) * len(outcomes)
    unknown = [key for key in given if key not in outcomes]
    if unknown:
        raise InvalidError(
            f"{name}: no outcome {shown(unknown[0])}; there are {', '.join(outcomes)}"
        )
    return tuple(_numbers(given.get(key, []), f"{name}.{key}", most) for key in outcomes)


def _numbers(values: Any, name: str, most: int) -> Numbers:
    if not isinstance(values, list) or not all(map(_is_number, values)):
        raise InvalidError(f"{name} must be a list of numbers; got {shown(values)}")
    if len(values) > most:
        raise InvalidError(f"{name} has {len(values)} values; there may be {most}")
    return tuple(number(value, name) for value in values)


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and not (isinstance(value, float) and math.isnan(value))
