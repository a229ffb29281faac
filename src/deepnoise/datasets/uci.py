"""The nine UCI regression sets of the paper's Table 2, with the fixed splits everyone compares on.

A folder holds ``NAME.csv`` (a header, then numbers; the last column is y) and
``NAME.test_rows.csv`` (line k lists the 0-based test rows of split k).  ``download_uci`` makes
both.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .uci_download import FOLDER_VARIABLE, SOURCES, download_uci, uci_folder

__all__ = ["NAMES", "UciSet", "download_uci", "load_uci", "uci_folder"]

NAMES = tuple(SOURCES)


@dataclass(frozen=True, eq=False)
class UciSet:
    """Shapes: X (N, P), y (N,), one array of test rows for each split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    test_rows: tuple[np.ndarray, ...]

    @property
    def n_splits(self) -> int:
        return len(self.test_rows)

    def split(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(train_rows, test_rows) of split k; the training rows are all others, in order."""
        if not 0 <= k < self.n_splits:
            raise IndexError(f"{self.name} has splits 0 to {self.n_splits - 1}; got {k}")
        train = np.ones(len(self.y), dtype=bool)
        train[self.test_rows[k]] = False
        return np.flatnonzero(train), self.test_rows[k]


def load_uci(name: str, folder: str | Path | None = None) -> UciSet:
    """Read one set from a folder (see ``uci_folder``); nothing is downloaded."""
    place = uci_folder(folder)
    names, values = _read_table(_existing(place / f"{name}.csv", name))
    test_rows = _read_splits(_existing(place / f"{name}.test_rows.csv", name), len(values))
    return UciSet(name, values[:, :-1], values[:, -1], names[:-1], test_rows)


def _existing(path: Path, name: str) -> Path:
    if path.is_file():
        return path
    if name in SOURCES:
        hint = f"call deepnoise.datasets.uci.download_uci({name!r}) once, or"
    else:
        hint = f"the known sets are {', '.join(NAMES)}; for any other"
    raise FileNotFoundError(
        f"no {path.name} in {path.parent}: {hint} name a folder that holds {name}.csv and "
        f"{name}.test_rows.csv, as load_uci(..., folder=...) or in ${FOLDER_VARIABLE}"
    )


def _read_table(path: Path) -> tuple[tuple[str, ...], np.ndarray]:
    header, *lines = path.read_text(encoding="utf-8").rstrip().splitlines() or [""]
    names = tuple(column.strip() for column in header.split(","))
    if len(names) < 2:
        raise ValueError(f"{path}, line 1: a header of at least two columns, the last one y")
    if not lines:
        raise ValueError(f"{path}: no rows below the header")
    try:
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        values = np.empty((0, 0))
    if values.shape != (len(lines), len(names)) or not np.isfinite(values).all():
        raise ValueError(f"{path}, {_first_bad_row(names, lines)}")
    return names, values


def _first_bad_row(names: tuple[str, ...], lines: list[str]) -> str:
    for row, line in enumerate(lines):
        where, cells = f"line {row + 2} (row {row})", line.split(",")
        if len(cells) != len(names):
            return f"{where}: {len(cells)} cells where the header has {len(names)}"
        for column, cell in zip(names, cells, strict=True):
            if not _is_finite_number(cell):
                return f"{where}, column {column!r}: {cell!r} is not a finite number"
    return "unreadable"


def _is_finite_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _read_splits(path: Path, n_rows: int) -> tuple[np.ndarray, ...]:
    splits = []
    for k, line in enumerate(path.read_text(encoding="utf-8").rstrip().splitlines()):
        try:
            rows = np.array([int(cell) for cell in line.split(",")])
        except ValueError:
            raise ValueError(f"{path}, line {k + 1}: not a list of row numbers") from None
        if rows.min() < 0 or rows.max() >= n_rows:
            raise ValueError(f"{path}, line {k + 1}: rows must lie in 0 to {n_rows - 1}")
        if len(np.unique(rows)) != len(rows):
            raise ValueError(f"{path}, line {k + 1}: a row is listed twice")
        splits.append(rows)
    if not splits:
        raise ValueError(f"{path}: no splits")
    return tuple(splits)
