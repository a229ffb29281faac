"""Tables in and out: CSV and Parquet, files and pipes, errors that say where.

And what a table says of the target: numbers, windows, times with events, or classes.
"""

import csv
import io
import math
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .app import BadInput, Failure, first_line

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".txt", "")
SEPARATORS = ",;\t|"
# "X: column 'a', row 0 ...", "y: ..., but in row 0 it is ...", "exposure ...; in row 0 it is ..."
ROW = re.compile(r"^(X: column .+?, row |(?:y: |exposure ).* in row )(\d+)")


def read_table(source: str) -> "pd.DataFrame":
    """The table of a file or of standard input; every column has a name of its own."""
    pd = _pandas()
    if source != "-" and Path(source).suffix.lower() in PARQUET:
        frame = _read_parquet(pd, source)
    else:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        frame = _read_csv(pd, content, called(source))
    if not len(frame):
        raise BadInput(f"{called(source)} has no rows")
    frame.columns = [str(name) for name in frame.columns]
    return frame.reset_index(drop=True)


def called(source: str) -> str:
    return "standard input" if source == "-" else source


def _pandas() -> Any:
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise Failure("tables need pandas: pip install 'deepnoise[frames]'") from None
    return pd


def _read_parquet(pd: Any, source: str) -> "pd.DataFrame":
    try:
        return pd.read_parquet(source)
    except ImportError:
        raise Failure("Parquet needs pyarrow: pip install 'deepnoise[frames]'") from None
    except (ValueError, OSError) as error:
        raise BadInput(f"{source} is no Parquet file: {first_line(str(error))}") from error


def _read_csv(pd: Any, content: bytes, name: str) -> "pd.DataFrame":
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{name} is no CSV file: not UTF-8 text") from None
    if not text.strip():
        raise BadInput(f"{name} is empty")
    separator = _check_header(text, name)
    settings = {"sep": separator, "index_col": False, "skipinitialspace": True, "low_memory": False}
    try:
        with warnings.catch_warnings():
            # Rows with more fields than the header would lose them.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(io.StringIO(text), **settings)
    except pd.errors.ParserWarning:
        raise BadInput(f"{name}: rows have more fields than the header has names") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = first_line(str(error)).removeprefix("Error tokenizing data. C error: ")
        raise BadInput(f"{name}: {reason}") from error


def _check_header(text: str, name: str) -> str:
    """The separator, if the header names every column once."""
    header = next(line for line in text.splitlines() if line.strip())
    separator = max(SEPARATORS, key=header.count)
    names = [part.strip() for part in next(csv.reader([header], delimiter=separator))]
    for place, column in enumerate(names, start=1):
        if not column:
            raise BadInput(f"{name}: column {place} has no name; name it, or take it out")
        if names.index(column) < place - 1:
            raise BadInput(f"{name}: two columns are called {column!r}")
    return separator


def check_column(frame: "pd.DataFrame", column: str, source: str) -> None:
    if column not in frame.columns:
        raise BadInput(f"{called(source)}: no column {column!r}; there are {listed(frame.columns)}")


def numbers_of(
    frame: "pd.DataFrame", column: str, source: str, finite: bool = True
) -> "np.ndarray":
    """A column as numbers, finite ones unless told otherwise."""
    import numpy as np
    import pandas as pd

    check_column(frame, column, source)
    values = frame[column]
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers) if finite else np.isnan(numbers))
    if wrong.size:
        row = int(wrong[0])
        value = values.iloc[row]
        problem = f"holds {str(value)!r}, not a number"
        if pd.isna(value):
            problem = "is missing"
        elif np.isinf(numbers[row]):
            problem = "is infinite"
        raise BadInput(f"{called(source)}: column {column!r}, row {row + 1} {problem}")
    return numbers


def listed(names: Sequence[str], most: int = 10) -> str:
    names = [repr(str(name)) for name in names]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


@contextmanager
def located(source: str) -> Iterator[None]:
    """Errors of the estimator about a table, whose rows count from 0, as of this file's rows."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if not text.startswith(("X: ", "y: ", "exposure ")):
            raise
        text = ROW.sub(lambda m: f"{m[1]}{int(m[2]) + 1}", text).removeprefix("X: ")
        raise BadInput(f"{called(source)}: {text}") from error


def check_output(target: str, force: bool) -> None:
    """An error now rather than after the work."""
    path = Path(target)
    if target == "-":
        return
    if path.is_dir():
        raise BadInput(f"{target} is a folder")
    if path.exists() and not force:
        raise BadInput(f"{target} exists: --force replaces it")
    if not path.absolute().parent.is_dir():
        raise BadInput(f"{target}: no such folder")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise Failure(f"{target} cannot be written: permission denied")


def check_table_output(target: str, force: bool) -> None:
    """The same for a table, which is written in the format of its ending or not at all."""
    ending = Path(target).suffix.lower()
    if target != "-" and ending not in (*CSV, *PARQUET):
        raise BadInput(f"{target}: tables are written as .csv or .parquet, not as {ending}")
    check_output(target, force)


def write_table(frame: "pd.DataFrame", target: str) -> None:
    """The whole table, or an error and what was there before."""
    if target == "-":
        frame.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
        return
    path = Path(target)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            frame.to_csv(path, index=False)
            return
        if path.suffix.lower() in PARQUET:
            frame.to_parquet(part, index=False)
        else:
            frame.to_csv(part, index=False)
        part.replace(path)
    except ImportError:
        raise Failure("Parquet needs pyarrow: pip install 'deepnoise[frames]'") from None
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


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
