"""Tables in and out: CSV and Parquet, files and pipes, errors that say where."""

import csv
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
