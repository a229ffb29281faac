"""Outcomes as users say them, checked once: windows, and the support of all values.

A ``Window`` gives the ends between which each outcome lies: equal ends for a value that was seen,
an infinite end for a censored one, two of them for one that is missing.  A support says which
values y may take at all; where it has a size, that is learnt.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..model.outcome import Window
from ..prediction.density.support import BEND_SHARE, REAL, Support
from .encode import TableEncoder


def between(lower: ArrayLike, upper: ArrayLike) -> Window:
    """Declare outcomes that are only known to lie between two ends.

    Parameters
    ----------
    lower : array (N,) or (N, Q)
        Lower ends; -inf where there is none.
    upper : array (N,) or (N, Q)
        Upper ends; inf where there is none, and equal to ``lower`` where the outcome is exact.

    Returns
    -------
    Window
        To give to ``fit`` and ``score_report`` as y.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import between
    >>> y = between([1.0, 2.0, -np.inf], [1.0, np.inf, 3.0])  # exact, above 2, below 3
    """
    lower, upper = (_numbers(name, a) for name, a in (("lower", lower), ("upper", upper)))
    if lower.shape != upper.shape:
        raise ValueError(
            f"lower and upper must have the same shape; got {lower.shape} and {upper.shape}"
        )
    wrong = np.argwhere(lower > upper)
    if len(wrong):
        place = tuple(wrong[0])
        raise ValueError(
            f"lower must not exceed upper, but in row {place[0]} it does: "
            f"{lower[place]:g} > {upper[place]:g}"
        )
    if (np.isposinf(lower) | np.isneginf(upper)).any():
        raise ValueError("lower must not be inf, and upper must not be -inf")
    return Window(lower, upper)


# Fewer rows may take few values by chance.
LATTICE_ROWS = 100


def lattice_step(y: np.ndarray) -> float | None:
    """The distance of neighbouring values if y (N, 1) takes few, evenly spaced or with gaps.

    Few are at most a tenth of the rows.
    """
    values = np.unique(y)
    if y.shape[1] != 1 or len(y) < LATTICE_ROWS or not 1 < len(values) <= len(y) / 10:
        return None
    gaps = np.diff(values) / (step := float(np.diff(values).min()))
    return step if np.abs(gaps - np.round(gaps)).max() < 1e-3 else None


def even_width(window: Window) -> float | None:
    """The width of the windows of one outcome if all have the same, as those of ``rounded``."""
    widths = np.asarray(window.upper - window.lower, float)
    even = widths.shape[1] == 1 and np.isfinite(widths).all() and np.ptp(widths) < 1e-3 * widths[0]
    return float(widths.mean()) if even and widths[0] > 0 else None


class LatticeWarning(UserWarning):
    """Outcomes take few values: a density of them can grow a spike on each."""


def rounded(y: ArrayLike, step: float) -> Window:
    """Declare outcomes that were rounded: each lies within half a step of y.

    Parameters
    ----------
    y : array (N,) or (N, Q)
        Rounded values.
    step : float
        Distance between neighbouring values.

    Returns
    -------
    Window
        To give to ``fit`` and ``score_report`` as y.

    Examples
    --------
    >>> from deepnoise import rounded
    >>> rounded([3.0, 5.0], step=1).upper
    array([3.5, 5.5])
    """
    if not (np.ndim(step) == 0 and np.isfinite(step) and step > 0):
        raise ValueError(f"step must be a positive number; got {step!r}")
    values = _numbers("y", y)
    return between(values - step / 2, values + step / 2)


def right_censored(time: ArrayLike, event: ArrayLike) -> Window:
    """Declare times of which those without an event are only known to be longer.

    Parameters
    ----------
    time : array (N,)
        Time of the event, or time at which the observation ended.
    event : array (N,) of bool, or of 0 and 1
        Whether the event was observed.

    Returns
    -------
    Window
        To give to ``fit`` and ``score_report`` as y.

    Examples
    --------
    >>> from deepnoise import right_censored
    >>> right_censored([2.0, 5.0], [True, False]).upper
    array([ 2., inf])
    """
    times, events = _numbers("time", time), np.asarray(event)
    if events.shape != times.shape or not np.isin(events, (0, 1)).all():
        raise ValueError("event must hold True or False (1 or 0), one for each time")
    return between(times, np.where(events.astype(bool), times, np.inf))


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers") from None
    if np.isnan(found).any():
        raise ValueError(f"{name} must not hold NaN; use -inf and inf where nothing is known")
    return found


def as_window(y: Any) -> Window | None:
    """What a user's y says of windows: a Window, a frame with lower and upper, or survival data."""
    if isinstance(y, Window):
        window = between(y.lower, y.upper)
    elif hasattr(y, "columns") and set(y.columns) == {"lower", "upper"}:
        window = between(np.asarray(y["lower"]), np.asarray(y["upper"]))
    elif (names := getattr(getattr(y, "dtype", None), "names", None)) and len(names) == 2:
        window = survival(y)
    else:
        return None
    columns = lambda a: a.reshape(len(a), -1)  # noqa: E731
    return Window(columns(window.lower), columns(window.upper))


def survival(y: Any) -> Window:
    """Times from (time, event), a structured array as of scikit-survival, or a frame of both."""
    if isinstance(y, tuple) and len(y) == 2:
        return right_censored(*y)
    names: Any = getattr(getattr(y, "dtype", None), "names", None) or getattr(y, "columns", ())
    columns = [np.asarray(y[name]) for name in names]
    events = [a for a in columns if a.dtype == bool or set(np.unique(a)) <= {0, 1}]
    times = [a for a in columns if not any(a is e for e in events)]
    if len(columns) != 2 or len(events) != 1:
        raise ValueError(
            "y must be (time, event), or a table with one column of times and one of events"
        )
    return right_censored(times[0], events[0])


def with_gaps(y: np.ndarray) -> np.ndarray | Window:
    """y (N, Q) itself, or as windows where it holds NaN: outcomes that are missing."""
    gaps = np.isnan(y)
    if not gaps.any():
        return y
    return Window(np.where(gaps, -np.inf, y), np.where(gaps, np.inf, y))


def check_observed(y: np.ndarray | Window) -> None:
    """An error if nothing was seen of an outcome in any row."""
    if isinstance(y, Window):
        known = np.isfinite(y.lower) | np.isfinite(y.upper)
        never = np.flatnonzero(~known.any(axis=0))
        if never.size:
            raise ValueError(f"y: outcome {never[0]} is missing in every row; leave it out")


def representative(y: np.ndarray | Window) -> np.ndarray:
    """A value for each outcome: itself, the middle or the end of its window, NaN if missing."""
    if not isinstance(y, Window):
        return y
    lower, upper = (np.where(np.isfinite(e), e, np.nan) for e in (y.lower, y.upper))
    middle = np.where(y.lower == y.upper, lower, lower / 2 + upper / 2)
    return np.where(np.isnan(lower), upper, np.where(np.isnan(upper), lower, middle))


def taken(y: Any, rows: Any) -> Any:
    """Rows of an array or of a window."""
    return Window(y.lower[rows], y.upper[rows]) if isinstance(y, Window) else y[rows]


def exact_rows(y: np.ndarray | Window) -> np.ndarray:
    """Which rows were seen exactly, in all outcomes; (N,)."""
    if isinstance(y, Window):
        return (y.lower == y.upper).all(axis=1)
    return np.ones(len(y), bool)


def seen_or_missing(y: np.ndarray | Window) -> np.ndarray:
    """Outcomes (N, Q), NaN where missing; what was seen through a window only is an error."""
    if not isinstance(y, Window):
        return y
    missing = np.isneginf(y.lower) & np.isposinf(y.upper)
    if not (missing | (y.lower == y.upper)).all():
        raise ValueError(
            "y: select_outcomes needs exact or missing values, not censored or rounded ones"
        )
    return np.where(missing, np.nan, y.lower)


def outcome_names(y: Any, outcomes: int) -> tuple[str, ...]:
    """Names of the columns of a frame or series, otherwise y0, y1, ..."""
    given = getattr(y, "columns", [getattr(y, "name", None)])
    if len(given) == outcomes and all(isinstance(name, str) and name for name in given):
        return tuple(given)
    return tuple(f"y{q}" for q in range(outcomes))


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
