"""What a table says of the target: numbers, windows, times with events, or classes."""

import math
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from .app import BadInput
from .tables import called, check_column, numbers_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True)
class Target:
    """The target column, and how to read it: with ``upper`` it holds lower ends, with ``event``
    times, with ``classes`` classes.
    """

    name: str
    upper: str | None = None
    event: str | None = None
    classes: bool = False

    def __post_init__(self) -> None:
        given = {"--upper": self.upper, "--event": self.event, "--classes": self.classes}
        chosen = [option for option, value in given.items() if value]
        if len(chosen) > 1:
            raise BadInput(f"{chosen[0]} and {chosen[1]} do not go together: choose one")

    @property
    def others(self) -> list[str]:
        """Columns beside the target that say what was seen of it."""
        return [name for name in (self.upper, self.event) if name is not None]

    def read(self, frame: "pd.DataFrame", source: str) -> Any:
        """Outcomes as the estimators take them."""
        if self.upper is not None:
            return windows_of(frame, self.name, self.upper, source)
        if self.event is not None:
            return times_of(frame, self.name, self.event, source)
        if self.classes:
            return classes_of(frame, self.name, source)
        return numbers_of(frame, self.name, source)


def target_options(command: Any) -> Any:
    """Options that say what to predict; the command gets them as ``seen``, a Target."""

    @wraps(command)
    def with_target(target, upper, event, classes, **others):
        return command(seen=Target(target, upper, event, classes), **others)

    for option in reversed(
        [
            click.option("--target", required=True, help="Column to predict."),
            click.option(
                "--upper",
                help="Column of upper ends, --target then the lower: censored or rounded outcomes.",
            ),
            click.option(
                "--event",
                help="Column of 1 (event) and 0 (cut off before), --target then the times.",
            ),
            click.option("--classes", is_flag=True, help="--target holds classes, not numbers."),
        ]
    ):
        with_target = option(with_target)
    return with_target


def windows_of(frame: "pd.DataFrame", lower: str, upper: str, source: str) -> Any:
    """Windows between two columns; an empty end is open."""
    import numpy as np

    from ..estimators.outcomes import between

    low, high = (
        numbers_of(frame.fillna({name: empty}), name, source, finite=False)
        for name, empty in ((lower, -math.inf), (upper, math.inf))
    )
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        row, where = wrong[0], f"{called(source)}, row {wrong[0] + 1}"
        raise BadInput(f"{where}: {lower!r} exceeds {upper!r}, {low[row]:g} > {high[row]:g}")
    if not (np.isfinite(low) | np.isfinite(high)).any():
        raise BadInput(f"{called(source)}: {lower!r} and {upper!r} are empty in every row")
    try:
        return between(low, high)
    except ValueError as error:
        raise BadInput(f"{called(source)}: {error}") from error


def times_of(
    frame: "pd.DataFrame", time: str, event: str, source: str
) -> tuple["np.ndarray", "np.ndarray"]:
    """Positive times, and whether each ended with the event."""
    import numpy as np

    times, events = numbers_of(frame, time, source), numbers_of(frame, event, source)
    late = np.flatnonzero(times <= 0)
    if late.size:
        where = f"{called(source)}: column {time!r}, row {late[0] + 1}"
        raise BadInput(f"{where} holds {times[late[0]]:g}: times must be positive")
    odd = np.flatnonzero(~np.isin(events, (0, 1)))
    if odd.size:
        where = f"{called(source)}: column {event!r}, row {odd[0] + 1}"
        raise BadInput(
            f"{where} holds {events[odd[0]]:g}: 1 is an event, 0 a time that was cut off"
        )
    return times, events.astype(bool)


def censored_times(frame: "pd.DataFrame", time: str, event: str, source: str) -> Any:
    """The same as windows: a time that was cut off has no upper end."""
    from ..estimators.outcomes import right_censored

    return right_censored(*times_of(frame, time, event, source))


def classes_of(frame: "pd.DataFrame", column: str, source: str) -> "np.ndarray":
    """Classes, one a row."""
    check_column(frame, column, source)
    gaps = frame[column].isna().to_numpy()
    if gaps.any():
        raise BadInput(f"{called(source)}: column {column!r}, row {gaps.argmax() + 1} is missing")
    return frame[column].to_numpy()


def in_order(names: tuple[str, ...], y: "np.ndarray", option: str) -> list[Any]:
    """The classes of y in the order of their names."""
    known = {str(value): value for value in dict.fromkeys(y.tolist())}
    if sorted(names) != sorted(known):
        raise BadInput(f"{option} must name every class once: {', '.join(sorted(known))}")
    return [known[name] for name in names]
