"""Tables in, numbers out: columns matched by name, categories one-hot encoded.

Sites, scanners or batches are a column whose levels are alike, with a place for one not yet seen.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Literal

import numpy as np

from ..model.covariates import InputLaw

MAX_LEVELS = 1000
MISSING = "missing values are not supported by this method, drop or fill them"
# What to do with a missing value, and with a level that was not there when fitting.
Missing = Literal["error", "nan"]
# The level of all sites that were not there when fitting.
NEW = "(new)"


@dataclass(frozen=True)
class Column:
    """One column of a table; ``levels`` are the values of a category, None for numbers.

    The last level of a ``site`` stands for sites that were not there when fitting.
    """

    name: str
    levels: tuple[str, ...] | None = None
    site: bool = False

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
    def learn(cls, table: Any, missing: Missing = "error", sites: Any = None) -> "TableEncoder":
        """The encoder of a training table: a numpy array, a pandas or a polars frame.

        With ``missing="nan"`` its levels are those of the values that are there.  ``sites`` is the
        column of sites, by name or number.
        """
        if not is_frame(table):
            plain = tuple(Column(f"x{j}") for j in range(np.shape(table)[1]))
            return cls(_with_site(plain, table, sites), named=False)
        given = list(table.columns)
        named = all(isinstance(name, str) for name in given)
        names = given if named else [f"x{j}" for j in range(len(given))]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"X: column names must be unique; these occur twice: {_listed(twice)}")
        place = None if sites is None else site_place(sites, names)
        levels = [
            None if j == place else _levels(_column(table, j), name, missing)
            for j, name in enumerate(names)
        ]
        plain = tuple(Column(*pair) for pair in zip(names, levels, strict=True))
        return cls(_with_site(plain, table, sites), named)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, such as "colour=red"."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    @property
    def sites(self) -> tuple[int, int] | None:
        """The encoded columns of sites: the first, and the one after the last."""
        first = 0
        for column in self.columns:
            stop = first + len(column.encoded_names)
            if column.site:
                return first, stop
            first = stop
        return None

    @property
    def later_site(self) -> int | None:
        """The encoded column of sites without a training row, also once it was adapted to one."""
        return None if self.sites is None else self.sites[1] - 1

    @property
    def new_site(self) -> int | None:
        """The encoded column of sites that were not there when fitting."""
        known = any(column.site and (column.levels or ())[-1] == NEW for column in self.columns)
        return self.later_site if known else None

    def places(self, column: str | int) -> list[int]:
        """Where the encoded columns of a column, by name or number, are."""
        names = [part.name for part in self.columns]
        number = names.index(column) if column in names else column
        if not isinstance(number, int | np.integer) or not 0 <= number < len(names):
            raise ValueError(
                f"{column!r} is no column of X; it has {_listed(names)}, or their numbers from 0"
            )
        first = sum(len(part.encoded_names) for part in self.columns[:number])
        return list(range(first, first + len(self.columns[number].encoded_names)))

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

    def encode(self, table: Any, missing: Missing = "error") -> np.ndarray:
        """float64 numbers (N, encoded columns) of a table; whatever cannot be one is an error.

        With ``missing="nan"`` missing values are NaN, in all columns of a category, and so are
        levels that were not there when fitting; a warning names these.
        """
        table = self.select(table)
        if is_frame(table):
            values = [_column(table, j) for j in range(len(table.columns))]
        else:
            values = list(np.asarray(table, dtype=np.float64).T)
        if len(values) != len(self.columns):
            raise ValueError(f"X must have {len(self.columns)} columns; got {len(values)}")
        parts, unseen = [], {}
        for column, value in zip(self.columns, values, strict=True):
            part, unseen[column.name] = _encode(column, value, missing)
            parts.append(part)
        _warn_of(unseen)
        return np.concatenate(parts, axis=1) if parts else np.empty((len(table), 0))

    def _refuse_array(self) -> None:
        text = [column.name for column in self.columns if _is_text(column)]
        if text:
            raise ValueError(
                f"X must be a pandas or polars frame, as when fitting: "
                f"it has categories in {_listed(text)}"
            )

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        columns = [
            {"name": column.name, "levels": None if column.levels is None else list(column.levels)}
            | ({"site": True} if column.site else {})
            for column in self.columns
        ]
        return {"named": self.named, "columns": columns}

    @classmethod
    def from_dict(cls, plain: dict) -> "TableEncoder":
        """The inverse of :meth:`to_dict`."""
        columns = [
            Column(
                part["name"],
                None if part["levels"] is None else tuple(part["levels"]),
                bool(part.get("site", False)),
            )
            for part in plain["columns"]
        ]
        return cls(tuple(columns), plain["named"])


def site_names(encoder: TableEncoder, table: Any) -> list[str]:
    """The site of every row of a table."""
    table = encoder.select(table)
    for j, column in enumerate(encoder.columns):
        if column.site:
            values = _column(table, j) if is_frame(table) else np.asarray(table)[:, j]
            return site_texts(_site_values(values, column.name), column.name)
    return []


def is_frame(table: Any) -> bool:
    """Whether this is a pandas or polars frame (neither need be installed)."""
    return hasattr(table, "columns") and hasattr(table, "dtypes")


def _with_site(columns: tuple[Column, ...], table: Any, sites: Any) -> tuple[Column, ...]:
    """The columns, one of them of sites."""
    if sites is None:
        return columns
    j = site_place(sites, [column.name for column in columns])
    name, values = (
        columns[j].name,
        _column(table, j) if is_frame(table) else np.asarray(table)[:, j],
    )
    levels = site_levels(site_texts(_site_values(values, name), name), name)
    return (*columns[:j], Column(name, levels, site=True), *columns[j + 1 :])


def _site_values(values: Any, name: str) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else _objects(values, name, "nan")


def _is_text(column: Column) -> bool:
    """Whether the values are no numbers; sites may have numbers for names."""
    if column.site:
        return any(_number(level) is None for level in (column.levels or ())[:-1])
    return column.levels is not None


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


def _levels(series: Any, name: str, missing: Missing) -> tuple[str, ...] | None:
    """The sorted levels of a training column, None if it holds numbers."""
    kind = _kind(series)
    if kind == "number":
        return None
    if kind == "time":
        raise ValueError(f"X: column {name!r} holds times; turn them into numbers first")
    if kind == "complex":
        raise ValueError(f"X: column {name!r}: Complex data not supported")
    values = _objects(series, name, missing)
    there = [value for value in values if value is not None]
    if kind == "text":
        if all(isinstance(value, Number) for value in there):
            return None
        _refuse_mistyped(values, name)
    levels = sorted({_text(value) for value in there})
    if not levels:
        raise ValueError(f"X: every value of column {name!r} is missing; drop it")
    if len(levels) > MAX_LEVELS:
        raise ValueError(
            f"X: column {name!r} has {len(levels)} different values, too many for a category; "
            f"drop it or group them"
        )
    return tuple(levels)


def _refuse_mistyped(values: np.ndarray, name: str) -> None:
    """An error if most values read as numbers and some do not: a slip rather than a category."""
    there = [row for row, value in enumerate(values) if value is not None]
    wrong = [row for row in there if _number(values[row]) is None]
    if 0 < len(wrong) < len(there) / 2:
        raise ValueError(
            f"X: column {name!r}, row {wrong[0]} holds {str(values[wrong[0]])!r} where most rows "
            f"hold numbers; correct it, or make the column a category"
        )


def _encode(column: Column, values: Any, missing: Missing) -> tuple[np.ndarray, list[str]]:
    """The encoded column (N, width), and levels that were not there when fitting."""
    if column.levels is None:
        numbers = _numbers(column.name, values, missing)
        _refuse_not_finite(column.name, numbers, missing)
        return numbers[:, None], []
    if column.site:
        names = site_texts(_site_values(values, column.name), column.name)
        return encode_sites(column.levels, names, column.name), []
    place = {level: j for j, level in enumerate(column.levels)}
    unknown = len(place)
    objects = _objects(values, column.name, missing)
    texts = [None if value is None else _text(value) for value in objects]
    unseen = [row for row, text in enumerate(texts) if text is not None and text not in place]
    if unseen and missing == "error":
        raise ValueError(
            f"X: column {column.name!r}, row {unseen[0]} holds {texts[unseen[0]]!r}, "
            f"a value that was not there when fitting"
        )
    blocks = np.concatenate([np.eye(unknown), np.full((1, unknown), np.nan)])
    encoded = blocks[[unknown if text is None else place.get(text, unknown) for text in texts]]
    return encoded.reshape(len(texts), unknown), sorted({str(texts[row]) for row in unseen})


def _warn_of(unseen: Mapping[str, Sequence[str]]) -> None:
    """One warning for the new levels of all columns."""
    named = [f"{_listed(levels)} in column {name!r}" for name, levels in unseen.items() if levels]
    if named:
        message = f"X: not there when fitting, taken as missing: {'; '.join(named)}"
        warnings.warn(message, UserWarning, stacklevel=3)


def _numbers(name: str, values: Any, missing: Missing) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    if _kind(values) == "number":
        if hasattr(values, "iloc"):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values.to_numpy()).astype(np.float64)
    numbers = np.empty(len(values))
    for row, value in enumerate(_objects(values, name, missing)):
        number = np.nan if value is None else _number(value)
        if number is None:
            raise ValueError(f"X: column {name!r}, row {row} holds {str(value)!r}, not a number")
        numbers[row] = number
    return numbers


def _refuse_not_finite(name: str, numbers: np.ndarray, missing: Missing) -> None:
    bad = np.flatnonzero(~np.isfinite(numbers) if missing == "error" else np.isinf(numbers))
    if bad.size:
        nan = np.isnan(numbers[bad[0]])
        problem = f"is NaN: {MISSING}" if nan else "is infinite (inf)"
        raise ValueError(f"X: column {name!r}, row {bad[0]} {problem}")


def _objects(series: Any, name: str, missing: Missing) -> np.ndarray:
    """The values of a text column; a missing one is None, or an error."""
    lost = np.asarray(series.isna() if hasattr(series, "isna") else series.is_null())
    if lost.any() and missing == "error":
        raise ValueError(f"X: column {name!r}, row {lost.argmax()} is NaN: {MISSING}")
    values = np.array(series.to_numpy(), dtype=object)
    values[lost] = None
    return values


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


def site_place(sites: Any, names: Sequence[str]) -> int:
    """The number of the column of sites."""
    if isinstance(sites, int | np.integer) and not isinstance(sites, bool):
        if not 0 <= sites < len(names):
            raise ValueError(f"sites must be a column from 0 to {len(names) - 1}; got {sites}")
        return int(sites)
    if not isinstance(sites, str) or sites not in names:
        raise ValueError(f"sites must be a column of X, by name or number; there is no {sites!r}")
    return list(names).index(sites)


def site_texts(values: np.ndarray, name: str) -> list[str]:
    """Names of sites from values of text or whole numbers; None and NaN are missing."""
    texts = []
    for row, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(
                f"X: column {name!r}, row {row}: the site is missing; name it, if need be as a "
                f"site of its own"
            )
        whole = isinstance(value, float | np.floating)
        if whole and not float(value).is_integer():
            raise ValueError(
                f"X: column {name!r}, row {row} holds {value:g}, but sites are text, categories "
                f"or whole numbers"
            )
        texts.append(str(int(value)) if whole else str(value))
    return texts


def site_levels(texts: Sequence[str], name: str) -> tuple[str, ...]:
    """The levels of a training column of sites, and last that of a site not seen."""
    levels = sorted(set(texts))
    if NEW in levels:
        raise ValueError(f"X: column {name!r}: no site may be called {NEW!r}; it stands for others")
    if len(levels) < 2:
        raise ValueError(
            f"sites: column {name!r} holds one site, {levels[0]!r}; how sites differ shows from "
            f"two on"
        )
    return (*levels, NEW)


def encode_sites(levels: Sequence[str], texts: Sequence[str], name: str) -> np.ndarray:
    """One column of zeros and ones a level; a site that was not there is ``NEW``."""
    place = {level: j for j, level in enumerate(levels)}
    unknown = [row for row, text in enumerate(texts) if text not in place]
    if unknown and NEW not in place:
        raise ValueError(
            f"X: column {name!r}, row {unknown[0]} holds {texts[unknown[0]]!r}, but this model was "
            f"adapted to {levels[-1]!r} alone; ask the model that was fitted"
        )
    return np.eye(len(levels))[[place.get(text, place.get(NEW, 0)) for text in texts]]


def without_later(law: InputLaw, column: int) -> InputLaw:
    """Input laws (M, ...) in which the column of sites to come says nothing of the others.

    It is 0 in all training rows, so that they do not show how inputs of a new site differ.
    """
    precision = np.array(law.precision)
    own = precision[:, column, column].copy()
    precision[:, column, :] = precision[:, :, column] = 0.0
    precision[:, column, column] = own
    return InputLaw(law.mu, precision)
