"""Tables in, numbers out: columns matched by name, categories one-hot encoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

MAX_LEVELS = 1000
MISSING = "missing values are not supported yet, drop or fill them"


@dataclass(frozen=True)
class Column:
    """One column of a table; ``levels`` are the values of a category, None for numbers."""

    name: str
    levels: tuple[str, ...] | None = None

    @property
    def encoded_names(self) -> tuple[str, ...]:
        if self.levels is None:
            return (self.name,)
        return tuple(f"{self.name}={level}" for level in self.levels)


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a training table become numbers.

    Numbers and booleans are kept; text and categories become one column of zeros and ones a level.
    With ``named`` columns, tables are matched by name, in any order; otherwise by position.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.5, 2.0], "colour": ["red", "blue"]})
    >>> encoder = TableEncoder.learn(table)
    >>> encoder.feature_names
    ('size', 'colour=blue', 'colour=red')
    >>> encoder.encode(table[["colour", "size"]])
    array([[1.5, 0. , 1. ],
           [2. , 1. , 0. ]])
    """

    columns: tuple[Column, ...]
    named: bool

    @classmethod
    def learn(cls, table: Any) -> "TableEncoder":
        """The encoder of a training table: a numpy array, a pandas or a polars frame."""
        if not is_frame(table):
            return cls(tuple(Column(f"x{j}") for j in range(np.shape(table)[1])), named=False)
        given = list(table.columns)
        named = all(isinstance(name, str) for name in given)
        names = given if named else [f"x{j}" for j in range(len(given))]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"X: column names must differ; seen twice: {_listed(twice)}")
        columns = [Column(name, _levels(_column(table, j), name)) for j, name in enumerate(names)]
        return cls(tuple(columns), named)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, such as "colour=red"."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    def select(self, table: Any) -> Any:
        """The table with exactly the training columns, in their order."""
        if not is_frame(table):
            self._refuse_array()
            return table
        if not self.named or not all(isinstance(name, str) for name in table.columns):
            return table
        names = [column.name for column in self.columns]
        missing = [name for name in names if name not in set(table.columns)]
        extra = [name for name in table.columns if name not in set(names)]
        if missing or extra or len(table.columns) != len(names):
            problems = [f"missing: {_listed(missing)}"] if missing else []
            problems += [f"not seen when fitting: {_listed(extra)}"] if extra else []
            raise ValueError(f"X: columns {'; '.join(problems) or 'must have different names'}")
        return table[names]

    def encode(self, table: Any) -> np.ndarray:
        """float64 numbers (N, encoded columns) of a table; whatever cannot be one is an error."""
        table = self.select(table)
        if is_frame(table):
            values = [_column(table, j) for j in range(len(table.columns))]
        else:
            values = list(np.asarray(table, dtype=np.float64).T)
        if len(values) != len(self.columns):
            raise ValueError(f"X must have {len(self.columns)} columns; got {len(values)}")
        parts = [_encode(column, value) for column, value in zip(self.columns, values, strict=True)]
        return np.concatenate(parts, axis=1) if parts else np.empty((len(table), 0))

    def _refuse_array(self) -> None:
        text = [column.name for column in self.columns if column.levels is not None]
        if text:
            raise ValueError(
                f"X must be a pandas or polars frame, as when fitting: "
                f"it has categories in {_listed(text)}"
            )

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        columns = [
            {"name": column.name, "levels": None if column.levels is None else list(column.levels)}
            for column in self.columns
        ]
        return {"named": self.named, "columns": columns}

    @classmethod
    def from_dict(cls, plain: dict) -> "TableEncoder":
        """The inverse of :meth:`to_dict`."""
        columns = [
            Column(part["name"], None if part["levels"] is None else tuple(part["levels"]))
            for part in plain["columns"]
        ]
        return cls(tuple(columns), plain["named"])


def is_frame(table: Any) -> bool:
    """Whether this is a pandas or polars frame (neither need be installed)."""
    return hasattr(table, "columns") and hasattr(table, "dtypes")


def _column(table: Any, j: int) -> Any:
    return table.iloc[:, j] if hasattr(table, "iloc") else table[:, j]


def _kind(series: Any) -> str:
    """number, time, complex, category (declared as such) or text."""
    dtype = series.dtype
    if not hasattr(dtype, "kind"):  # polars
        if dtype.is_numeric() or str(dtype) == "Boolean":
            return "number"
        if str(dtype).startswith(("Categorical", "Enum")):
            return "category"
        return "time" if dtype.is_temporal() else "text"
    kinds = {"M": "time", "m": "time", "c": "complex", **dict.fromkeys("iufb", "number")}
    return "category" if str(dtype) == "category" else kinds.get(dtype.kind, "text")


def _levels(series: Any, name: str) -> tuple[str, ...] | None:
    """The sorted levels of a training column, None if it holds numbers."""
    kind = _kind(series)
    if kind == "number":
        return None
    if kind == "time":
        raise ValueError(f"X: column {name!r} holds times; turn them into numbers first")
    if kind == "complex":
        raise ValueError(f"X: column {name!r}: Complex data not supported")
    values = _objects(series, name)
    if kind == "text":
        if all(isinstance(value, Number) for value in values):
            return None
        _refuse_mistyped(values, name)
    levels = sorted({_text(value) for value in values})
    if len(levels) > MAX_LEVELS:
        raise ValueError(
            f"X: column {name!r} has {len(levels)} different values, too many for a category; "
            f"drop it or group them"
        )
    return tuple(levels)


def _refuse_mistyped(values: np.ndarray, name: str) -> None:
    """An error if most values read as numbers and some do not: a slip rather than a category."""
    wrong = [row for row, value in enumerate(values) if _number(value) is None]
    if 0 < len(wrong) < len(values) / 2:
        raise ValueError(
            f"X: column {name!r}, row {wrong[0]} holds {str(values[wrong[0]])!r} where most rows "
            f"hold numbers; correct it, or make the column a category"
        )


def _encode(column: Column, values: Any) -> np.ndarray:
    if column.levels is None:
        numbers = _numbers(column.name, values)
        _refuse_not_finite(column.name, numbers)
        return numbers[:, None]
    place = {level: j for j, level in enumerate(column.levels)}
    texts = [_text(value) for value in _objects(values, column.name)]
    for row, text in enumerate(texts):
        if text not in place:
            raise ValueError(
                f"X: column {column.name!r}, row {row} holds {text!r}, "
                f"a value that was not there when fitting"
            )
    return np.eye(len(place))[[place[text] for text in texts]].reshape(len(texts), len(place))


def _numbers(name: str, values: Any) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    if _kind(values) == "number":
        if hasattr(values, "iloc"):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values.to_numpy()).astype(np.float64)
    numbers = np.empty(len(values))
    for row, value in enumerate(_objects(values, name)):
        number = _number(value)
        if number is None:
            raise ValueError(f"X: column {name!r}, row {row} holds {str(value)!r}, not a number")
        numbers[row] = number
    return numbers


def _refuse_not_finite(name: str, numbers: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        nan = np.isnan(numbers[bad[0]])
        problem = f"is NaN: {MISSING}" if nan else "is infinite (inf)"
        raise ValueError(f"X: column {name!r}, row {bad[0]} {problem}")


def _objects(series: Any, name: str) -> np.ndarray:
    """The values of a text column; a missing one is an error."""
    missing = np.asarray(series.isna() if hasattr(series, "isna") else series.is_null())
    if missing.any():
        raise ValueError(f"X: column {name!r}, row {missing.argmax()} is NaN: {MISSING}")
    return np.asarray(series.to_numpy(), dtype=object)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    """1 and 1.0 are the same level."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _listed(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
