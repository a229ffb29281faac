"""What can be moved: one control a column, and how controls become rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report.words import number

NO_MISSING = "This model takes no missing values: it was fitted without support for them."


@dataclass(frozen=True)
class Control:
    """A column as a slider from ``low`` to ``high``, or over the places of ``levels``."""

    name: str
    low: float = 0.0
    high: float = 1.0
    step: str | int = "any"
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Table:
    """Rows that scenarios can start from.

    ``named`` is whether the model was fitted on a frame, and so wants one; ``missing`` whether it
    takes missing values.
    """

    X: Any
    controls: tuple[Control, ...]
    named: bool
    missing: bool

    def start(self, row: int) -> list[Any]:
        """Where the sliders stand for a row, counted from 1; None where its value is missing."""
        place = min(max(row, 1), len(self.X)) - 1
        if not hasattr(self.X, "iloc"):
            values = list(np.asarray(self.X)[place])
        else:
            values = [self.X[control.name].iloc[place] for control in self.controls]
        return [_slid(control, value) for control, value in zip(self.controls, values, strict=True)]

    def shown(self, scenario: Sequence[Any]) -> list[str]:
        """What stands beside each slider."""
        return [
            "missing" if value is None else value if isinstance(value, str) else number(value)
            for value in self.values(scenario)
        ]

    def rows(self, scenarios: Sequence[Sequence[Any]]) -> Any:
        """A table for the model, a row a scenario, from sliders; None is a missing value."""
        rows = [self.values(scenario) for scenario in scenarios]
        if not self.named:
            return np.array(rows, dtype=float)
        import pandas as pd

        columns = [
            pd.Series(column, dtype=float if control.levels is None else object)
            for control, column in zip(self.controls, zip(*rows, strict=True), strict=True)
        ]
        names = [control.name for control in self.controls]
        return pd.DataFrame(dict(zip(names, columns, strict=True)))

    def values(self, scenario: Sequence[Any]) -> list[float | str | None]:
        """What the sliders stand for; None where a value is missing."""
        return [
            _typed(control, value) for control, value in zip(self.controls, scenario, strict=True)
        ]


def make_table(model: Any, X: Any) -> Table:
    """Controls that reach over the values of X and of the training rows.

    Rows that the model cannot take are an error here, rather than when they are picked.
    """
    model.encoder_.encode(X, model._missing)
    found, j = [], 0
    for k, column in enumerate(model.encoder_.columns):
        if column.levels is None:
            values = np.asarray(X[column.name] if hasattr(X, "columns") else X[:, k], dtype=float)
            found.append(
                _slider(column.name, values, model.units_.x.mean[j], model.units_.x.scale[j])
            )
        else:
            last = float(max(len(column.levels) - 1, 1))
            found.append(Control(column.name, 0.0, last, 1, column.levels))
        j += len(column.encoded_names)
    named = hasattr(X, "columns")
    return Table(X, tuple(found), named, model.accepts_missing_)


def _slider(name: str, values: np.ndarray, mean: float, scale: float) -> Control:
    values = values[np.isfinite(values)]
    whole = bool(len(values)) and bool((values == np.round(values)).all())
    low = min(values.min(initial=np.inf), mean - 2 * scale)
    high = max(values.max(initial=-np.inf), mean + 2 * scale)
    if whole:
        return Control(name, float(np.floor(low)), float(np.ceil(high)), 1)
    return Control(name, float(low), float(high))


def _slid(control: Control, value: Any) -> float | None:
    """Where the slider stands, None if the value is missing or a level that is not known."""
    if value is None or value != value:
        return None
    if control.levels is None:
        return float(value)
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return float(control.levels.index(text)) if text in control.levels else None


def _typed(control: Control, value: Any) -> float | str | None:
    if value is None or control.levels is None:
        return None if value is None else float(value)
    return control.levels[min(int(float(value)), len(control.levels) - 1)]
