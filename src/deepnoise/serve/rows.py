"""Rows of a request, as JSON gave them, to the numbers that the model's encoder would make."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..estimators.encode import Column, TableEncoder, encode_sites
from .errors import InvalidError, shown


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
            parts.append(_numbers(column.name, values, gaps)[:, None])
        elif column.site:
            parts.append(_sites(column, values))
        else:
            part, unseen = _levels(column, values, gaps)
            parts.append(part)
            if unseen:
                warnings.append(
                    f"{column.name}: not there when fitting, taken as missing: {_listed(unseen)}"
                )
    return np.concatenate(parts, axis=1), warnings


def _numbers(name: str, values: Sequence[Any], gaps: bool) -> np.ndarray:
    found = np.empty(len(values))
    for n, value in enumerate(values):
        if value is None:
            found[n] = _missing(name, n, gaps)
        elif isinstance(value, int | float):
            found[n] = number(value, f"row {n}, column {name}")
        else:
            raise InvalidError(f"row {n}, column {name}: must be a number; got {shown(value)}")
    return found


def _levels(column: Column, values: Sequence[Any], gaps: bool) -> tuple[np.ndarray, list[str]]:
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


def _sites(column: Column, values: Sequence[Any]) -> np.ndarray:
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
