"""What can be moved: one control a column, and how controls become rows of numbers."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.encode import NEW, Column

NO_MISSING = "This model takes no missing values: it was fitted without support for them."
Value = float | str | None


@dataclass(frozen=True)
class Control:
    """A column: a number, which the data hold from ``low`` to ``high``, or one of ``levels``."""

    name: str
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    levels: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """Columns of the encoded table."""
        return 1 if self.levels is None else len(self.levels)

    def value(self, given: Any) -> Value:
        """A value as this column has it, None if it is missing; an error if it can be none."""
        if given is None:
            return None
        if self.levels is None:
            if isinstance(given, bool) or not isinstance(given, int | float):
                raise ValueError(f"{self.name}: {given!r} is not a number")
            if not math.isfinite(given):
                raise ValueError(f"{self.name} must be a finite number")
            return float(given)
        if given not in self.levels:
            raise ValueError(f"{self.name}: {given!r} was not there when fitting")
        return str(given)

    def encoded(self, value: Value) -> list[float]:
        if value is None:
            return [math.nan] * self.width
        if self.levels is None:
            return [float(value)]
        return [float(level == value) for level in self.levels]


@dataclass(frozen=True)
class Table:
    """Rows that scenarios can start from; ``missing`` says whether values may be missing."""

    X: Any
    controls: tuple[Control, ...]
    missing: bool

    def start(self, row: int) -> list[Value]:
        """Values of a row, counted from 1; None where one is missing."""
        place = min(max(row, 1), len(self.X)) - 1
        if not hasattr(self.X, "iloc"):
            values = list(np.asarray(self.X)[place])
        else:
            values = [self.X[control.name].iloc[place] for control in self.controls]
        return [
            _known(control, value) for control, value in zip(self.controls, values, strict=True)
        ]

    def scenario(self, given: Any) -> list[Value]:
        """Values that a page sent, checked."""
        if not isinstance(given, list) or len(given) != len(self.controls):
            raise ValueError(f"a scenario has {len(self.controls)} values")
        values = [c.value(value) for c, value in zip(self.controls, given, strict=True)]
        lost = [c.name for c, v in zip(self.controls, values, strict=True) if v is None]
        if lost and not self.missing:
            raise ValueError(f"{lost[0]} has no value. {NO_MISSING}")
        return values

    def encoded(self, scenarios: Sequence[Sequence[Value]]) -> np.ndarray:
        """What the model's encoder would make of these rows; no frame is built for it."""
        return np.array(
            [
                [number for c, v in zip(self.controls, row, strict=True) for number in c.encoded(v)]
                for row in scenarios
            ]
        )


def make_table(model: Any, X: Any) -> Table:
    """Controls that reach over the values of X and of the training rows.

    Rows that the model cannot take are an error here, rather than when they are picked.
    """
    gaps = "nan" if model.accepts_missing_ else "error"
    given, trained = model.encoder_.encode(X, gaps), _training_rows(model)
    found, j = [], 0
    for column in model.encoder_.columns:
        found.append(_control(column, _finite(given[:, j]), _finite(trained[:, j])))
        j += found[-1].width
    return Table(X, tuple(found), model.accepts_missing_)


def _training_rows(model: Any) -> np.ndarray:
    """Ranges need only these: the least and the largest values; none where they are not kept."""
    units = model.units_.x
    if not hasattr(model, "rows_"):
        return np.empty((0, len(units.scale)))
    kept = np.asarray(model.rows_.x[:, : len(units.scale)], float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        ends = np.stack([np.nanmin(kept, axis=0), np.nanmax(kept, axis=0)])
    return ends * np.array(units.scale) + np.array(units.mean)


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _control(column: Column, given: np.ndarray, trained: np.ndarray) -> Control:
    if column.levels is not None:
        return Control(column.name, levels=column.levels)
    # Training rows were kept in float32 and standardised: their last digits are noise.
    ends = [*given, *(float(f"{value:.6g}") for value in trained)]
    low, high = float(min(ends)), float(max(ends))
    if (given == np.round(given)).all():
        return Control(column.name, math.floor(low), math.ceil(high))
    return Control(column.name, low, high, _step((high - low) or abs(low)))


def _step(length: float) -> float:
    """A power of ten, of which there are 100 to 1000 in the range."""
    return float(f"1e{math.floor(math.log10(length)) - 2}")


def _known(control: Control, value: Any) -> Value:
    """A value of the table; None if it is missing, or a level that is not known."""
    if value is None or value != value:
        return None
    if control.levels is None:
        return float(value)
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if text not in control.levels and NEW in control.levels:
        return NEW
    return text if text in control.levels else None
