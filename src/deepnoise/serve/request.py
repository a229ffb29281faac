"""What a request asks about which rows, checked; its rows become what the encoder would make."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.encode import Column, TableEncoder, encode_sites

QUANTILES = (0.05, 0.5, 0.95)
MOST_LEVELS, MOST_POINTS = 100, 1000
# Of an answer: larger ones would keep the server from listening while they are written.
MOST_NUMBERS = 100_000
ROWS = ("rows", "columns", "data")
OF_NUMBERS = ("quantiles", "above", "grid", "mean")

Numbers = tuple[float, ...]
LONGEST = 40


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


def read_rows(question: Mapping[str, Any], most: int) -> tuple[list[str], list[Sequence[Any]]]:
    """Names and values of ``rows``, or of ``columns`` and ``data``, of a request."""
    if ("rows" in question) == ("data" in question):
        raise InvalidError("give either rows, a list of objects, or columns and data")
    if "rows" in question:
        if "columns" in question:
            raise InvalidError("columns go with data, not with rows")
        rows = _list(question["rows"], "rows", most)
        for n, row in enumerate(rows):
            if not isinstance(row, dict):
                raise InvalidError(
                    f'rows[{n}] must be an object such as {{"age": 50}}; got {shown(row)}'
                )
        names = list(rows[0])
        for n, row in enumerate(rows):
            if row.keys() != rows[0].keys():
                raise InvalidError(
                    f"rows[{n}] has other columns than rows[0]; write null for no value"
                )
        return names, [[row[name] for name in names] for row in rows]
    names = question.get("columns", [])
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InvalidError("columns must be a list of names, one for each value of a row of data")
    if len(set(names)) < len(names):
        raise InvalidError("columns must be different names")
    rows = _list(question["data"], "data", most)
    for n, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise InvalidError(
                f"data[{n}] must be a list of {len(names)} values, one for each column"
            )
    return names, rows


def _list(rows: Any, name: str, most: int) -> list[Any]:
    if not isinstance(rows, list) or not rows:
        raise InvalidError(f"{name} must be a list of at least one row")
    if len(rows) > most:
        raise InvalidError(f"{name} has {len(rows)} rows; send at most {most} at once")
    return rows


def encode(
    encoder: TableEncoder, gaps: bool, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[np.ndarray, list[str]]:
    """Encoded rows (N, columns), and warnings of levels that were not there when fitting.

    ``gaps`` says whether the model takes missing values.
    """
    wanted = [column.name for column in encoder.columns]
    missing = [name for name in wanted if name not in names]
    extra = [name for name in names if name not in wanted]
    if missing or extra:
        problems = [f"missing: {_listed(missing)}"] if missing else []
        problems += [f"not of the model: {_listed(extra)}"] if extra else []
        raise InvalidError(f"columns {'; '.join(problems)}")
    parts, warnings = [], []
    for column in encoder.columns:
        place = names.index(column.name)
        values = [row[place] for row in rows]
        if column.levels is None:
            parts.append(_number_column(column.name, values, gaps)[:, None])
        elif column.site:
            parts.append(_site_column(column, values))
        else:
            part, unseen = _level_column(column, values, gaps)
            parts.append(part)
            if unseen:
                warnings.append(
                    f"{column.name}: not there when fitting, taken as missing: {_listed(unseen)}"
                )
    return np.concatenate(parts, axis=1), warnings


def _number_column(name: str, values: Sequence[Any], gaps: bool) -> np.ndarray:
    found = np.empty(len(values))
    for n, value in enumerate(values):
        if value is None:
            found[n] = _missing(name, n, gaps)
        elif isinstance(value, int | float):
            found[n] = number(value, f"row {n}, column {name}")
        else:
            raise InvalidError(f"row {n}, column {name}: must be a number; got {shown(value)}")
    return found


def _level_column(
    column: Column, values: Sequence[Any], gaps: bool
) -> tuple[np.ndarray, list[str]]:
    place = {level: j for j, level in enumerate(column.levels or ())}
    found, unseen = np.zeros((len(values), len(place))), set[str]()
    for n, value in enumerate(values):
        if isinstance(value, dict | list):
            raise InvalidError(f"row {n}, column {column.name}: must be a text; got {shown(value)}")
        text = None if value is None else level_name(value)
        if text in place:
            found[n, place[text]] = 1.0
            continue
        if text is not None and not gaps:
            raise InvalidError(
                f"row {n}, column {column.name}: {shown(value)} was not there when fitting; "
                f"known are {_listed(list(place))}"
            )
        found[n] = _missing(column.name, n, gaps)
        unseen |= set() if text is None else {text}
    return found, sorted(unseen)


def _site_column(column: Column, values: Sequence[Any]) -> np.ndarray:
    """One that was not there when fitting is a new site, as for the estimator."""
    for n, value in enumerate(values):
        if value is None or isinstance(value, dict | list):
            raise InvalidError(
                f"row {n}, column {column.name}: must name the site; got {shown(value)}"
            )
    try:
        return encode_sites(column.levels or (), [level_name(v) for v in values], column.name)
    except ValueError as error:
        raise InvalidError(str(error)) from None


def level_name(value: Any) -> str:
    """A level as the encoder writes it: 1 and 1.0 are the same."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _missing(name: str, n: int, gaps: bool) -> float:
    if not gaps:
        raise InvalidError(f"row {n}, column {name}: is missing, and this model needs every value")
    return math.nan


def number(value: Any, where: str) -> float:
    """A finite number; JSON has larger ones than computers do."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InvalidError(f"{where}: must be a finite number")
    return found


def _listed(names: Sequence[str], most: int = 10) -> str:
    text = ", ".join(shown(name) for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


class RequestError(Exception):
    """A request that gets no answer; the text may be read by anyone."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class InvalidError(RequestError):
    """Well-formed JSON that asks for what cannot be answered."""

    def __init__(self, message: str) -> None:
        super().__init__(422, message)


def shown(value: Any) -> str:
    """A value of a request on one line, cut short."""
    text = json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
