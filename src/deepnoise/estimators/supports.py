"""The support of an outcome as users say it, checked, and learnt where it has a size."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..model.outcome import Window
from ..prediction.density.support import BEND_SHARE, REAL, Support
from .encode import TableEncoder
from .outcomes import exact_rows, representative


def declared(support: Any, point_mass: Any) -> Support:
    """What the parameters ``support`` and ``point_mass`` say, before any data."""
    points = _points(point_mass)
    if support is None:
        return Support(points=points)
    if isinstance(support, str) and support == "positive":
        if any(p < 0 for p in points) or (0.0 in points and len(points) > 1):
            raise ValueError(
                f"point_mass of support='positive' must be 0, or values above 0; got {point_mass!r}"
            )
        return Support("positive", 0.0, points=points)
    if isinstance(support, str) and support == "counts":
        if points:
            raise ValueError("point_mass is of no use with counts: each has a mass already")
        return Support("counts", 0.0)
    low, high = _bounds(support)
    if not all(low <= p <= high for p in points):
        raise ValueError(
            f"point_mass must lie within support=({low:g}, {high:g}); got {point_mass!r}"
        )
    return Support("between", low, high, points)


def learnt(plain: Support, y: np.ndarray | Window) -> Support:
    """The support with a size that suits the outcomes (N, Q); an error if these do not fit it."""
    if plain.is_real:
        return REAL
    if representative(y).shape[1] > 1:
        raise ValueError("support and point_mass need one outcome; fit the others separately")
    check_within(plain, y)
    exact = representative(y)[exact_rows(y), 0]
    free = exact[~np.isin(exact, plain.points)]
    if not plain.points or not len(free):
        return plain
    if plain.kind == "positive" and plain.low in plain.points:
        return replace(plain, size=float(np.quantile(free, BEND_SHARE)))
    return replace(plain, size=float(np.std(plain.linked(free))) or 1.0)


def check_within(support: Support, y: np.ndarray | Window) -> None:
    """An error that names the first outcome that the support does not allow."""
    lower, upper = (y.lower, y.upper) if isinstance(y, Window) else (y, y)
    inside = (support.low <= upper) & (lower <= support.high)
    for end in (support.low, support.high):
        if end not in support.points and not support.discrete:
            inside &= (lower != upper) | (lower != end)
    if support.discrete:
        inside &= np.ceil(lower) <= np.floor(upper)
    wrong = np.argwhere(~inside)
    if len(wrong):
        row = int(wrong[0][0])
        raise ValueError(f"y: {_rule(support)}, but in row {row} it is {lower[row, 0]:g}")


def exposure_place(column: Any, encoder: TableEncoder) -> int | None:
    """Where the column of exposures is among the encoded columns."""
    if column is None:
        return None
    names = [part.name for part in encoder.columns]
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not 0 <= column < len(names):
            raise ValueError(f"exposure must be a column from 0 to {len(names) - 1}; got {column}")
        number = int(column)
    elif column in names:
        number = names.index(column)
    else:
        raise ValueError(f"exposure must be a column of numbers of X; there is no {column!r}")
    if encoder.columns[number].levels is not None:
        raise ValueError(f"exposure must be a column of numbers; {names[number]!r} has categories")
    return encoder.places(number)[0]


def log_exposure(values: np.ndarray) -> np.ndarray:
    """Logarithms of exposures (N,), which must be positive."""
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if wrong.size:
        raise ValueError(
            f"exposure must be positive and finite; in row {wrong[0]} it is {values[wrong[0]]:g}"
        )
    return np.log(values)


def _rule(support: Support) -> str:
    if support.discrete:
        return "support='counts' needs whole numbers of at least 0"
    if support.kind == "positive":
        hint = "" if 0.0 in support.points else " (with point_mass=0 zeros are allowed)"
        return f"support='positive' needs values above 0{hint}"
    return (
        f"support=({support.low:g}, {support.high:g}) needs values between these ends; "
        f"an end that occurs itself needs point_mass"
    )


def _points(point_mass: Any) -> tuple[float, ...]:
    if point_mass is None:
        return ()
    values = point_mass if isinstance(point_mass, tuple | list) else (point_mass,)
    try:
        found = tuple(sorted({float(value) for value in values}))
    except (TypeError, ValueError):
        found = (np.nan,)
    if not np.isfinite(found).all() or not found:
        raise ValueError(f"point_mass must be a finite number or some; got {point_mass!r}")
    return found


def _bounds(support: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in support)
    except (TypeError, ValueError):
        raise ValueError(
            f"support must be None, 'positive', 'counts' or (low, high); got {support!r}"
        ) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"support=(low, high) must be finite and low < high; got {support!r}")
    return low, high
