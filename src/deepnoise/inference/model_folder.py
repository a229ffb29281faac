"""A model folder: ``header.json``, and named arrays in the safetensors files that it names.

Nothing is changed in place.  New files are written beside the old ones, and replacing the header
makes them the model, all at once: whatever stops the writer, the folder holds the old model or the
new one.  Files that no header names are removed by the next writer.

The name of a file carries the hash of its content.  Files are written and read here rather than by
the safetensors package, which copies: a file is hashed while it is streamed to disk, and read back
as maps of the disk, whose pages load when they are touched.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__

FORMAT = "deepnoise model"
VERSION = 3
HEADER = "header.json"
MAX_HEADER_BYTES = 16 << 20
KIND = "arrays"
NAME = re.compile(r"[a-z]+(-\d{5})?-[0-9a-f]{12}\.safetensors")
PART = re.compile(r"[a-z]+(-\d{5})?\.\d+\.part")
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "BOOL": "|b1"}
DTYPE_NAMES = tuple(np.dtype(dtype).name for dtype in DTYPES.values())
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}

# Name -> shape and the names of the dtypes allowed.
Layout = Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]]


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for one writer at a time; errors of the system become ours."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            yield
    except OSError as error:
        raise ModelFileError(
            f"cannot write a model to {folder}: {error.strerror or error} "
            "(what it held before is untouched)"
        ) from error


def check_writable(folder: Path) -> None:
    """An error now rather than after an hour's work."""
    with writing(folder):
        probe = folder / f"probe.{os.getpid()}.part"
        probe.write_bytes(b"")
        probe.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The system's lock on the folder itself, which a killed process lets go of."""
    if os.name != "posix":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_header(folder: Path, content: dict) -> str:
    """Make ``content`` the model of this folder; returns its checksum."""
    body = {"format": FORMAT, "version": VERSION, **content}
    checksum = checksum_of(body)
    part = folder / f"header.{os.getpid()}.part"
    with part.open("wb") as file:
        file.write(to_json({**body, "checksum": checksum}, indent=1).encode())
        to_disk(file)
    _sync_names(folder)
    os.replace(part, folder / HEADER)  # noqa: PTH105
    _sync_names(folder)
    return checksum


def read_header(folder: Path) -> dict:
    """The header, if it is of this format and version, and as it was written."""
    path = folder / HEADER
    header = _read_json(path)
    if not (isinstance(header, dict) and header.get("format") == FORMAT):
        raise ModelFileError(f"{path} is not the header of a {FORMAT}")
    if header.get("version") not in range(1, VERSION + 1):
        raise ModelFileError(
            f"{folder} has format version {header.get('version')!r}, this library reads {VERSION}: "
            f"use a newer deepnoise (it was written by {header.get('library', 'an unknown one')})"
        )
    body = {name: value for name, value in header.items() if name != "checksum"}
    if header.get("checksum") != checksum_of(body):
        raise ModelFileError(f"{path} is damaged: its checksum does not match")
    return _migrated(header) if header["version"] in DEFAULT_PRIOR_WAS else header


# What the prior is called now that "default" named in files of these versions.
DEFAULT_PRIOR_WAS = {1: "fixed", 2: "wide"}


def _migrated(header: dict) -> dict:
    """A header of an older version, whose prior keeps its law under a new name."""
    was = DEFAULT_PRIOR_WAS[header["version"]]

    def renamed(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        inner = {name: renamed(value) for name, value in part.items()}
        return inner | {"prior": was} if inner.get("prior") == "default" else inner

    return renamed(header)


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_HEADER_BYTES:
            raise ValueError(f"larger than {MAX_HEADER_BYTES >> 20} MiB")
        return json.loads(path.read_text("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelFileError(f"{path.parent} is not a model folder: no {HEADER} in it") from None
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged, or not a model's: {error}") from error


def current_header(folder: Path) -> dict | None:
    """The header that is there; None where nothing was written yet."""
    return read_header(folder) if (folder / HEADER).exists() else None


def checksum_of(body: dict) -> str:
    return hashlib.sha256(to_json(body).encode()).hexdigest()


def to_json(content: Any, indent: int | None = None) -> str:
    """Canonical: the same content gives the same text."""
    try:
        return json.dumps(content, sort_keys=True, allow_nan=False, indent=indent, default=_plain)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"cannot be written as JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Entry):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} {value!r}")


def _refuse(constant: str):
    raise ValueError(f"{constant} is not a number")


def _finite(text: str) -> float:
    return float(text) if np.isfinite(float(text)) else _refuse(text)


def remove_left_over(folder: Path, keep: set[str]) -> None:
    """Delete our files that are not in ``keep``; one that cannot go is in nobody's way."""
    for path in list(folder.iterdir()):
        if path.name not in keep and (NAME.fullmatch(path.name) or PART.fullmatch(path.name)):
            with suppress(OSError):
                path.unlink()


def _sync_names(folder: Path) -> None:
    """New names reach the disk before what follows."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@dataclass(frozen=True)
class StoredArrays:
    """The arrays of a folder, and the caller's header."""

    arrays: dict[str, np.ndarray]
    header: dict[str, Any]


def write_weights(
    folder: Path | str, arrays: Mapping[str, np.ndarray], header: dict[str, Any]
) -> None:
    """Make these arrays, with the caller's header, the model of a folder."""
    folder = Path(folder)
    to_json(header)
    with writing(folder):
        file = write_arrays(folder, "weights", arrays)
        content = {"library": __version__, "kind": KIND, "files": {"weights": file}, "draws": []}
        write_header(folder, {**content, "header": header})
        with suppress(OSError):
            remove_left_over(folder, {file.name})


def holds_arrays(header: dict[str, Any]) -> bool:
    """Whether a folder with this header is one of ours, rather than a posterior's."""
    return header.get("kind") == KIND


def read_weights(folder: Path | str) -> StoredArrays:
    """All of a folder, checked, or a :class:`ModelFileError`."""
    folder = Path(folder)
    raw = read_header(folder)
    try:
        entry, header = Entry.of(raw["files"]["weights"]), dict(raw["header"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the header of {folder} makes no sense: {error!r}") from error
    check_file(folder, entry)
    return StoredArrays({n: np.array(a) for n, a in map_arrays(folder, entry).items()}, header)


class ModelFileError(ValueError):
    """A model folder that cannot be read, or written."""


@dataclass(frozen=True)
class Entry:
    """A file as a header lists it."""

    name: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, raw: Any) -> "Entry":
        entry = cls(**raw)
        if not (NAME.fullmatch(entry.name) and type(entry.bytes) is int):
            raise ValueError(f"bad file entry {raw}")
        return entry


def write_arrays(folder: Path, stem: str, arrays: Mapping[str, np.ndarray]) -> Entry:
    """Everything under a temporary name, on disk, and only then under its own."""
    part = folder / f"{stem}.{os.getpid()}.part"
    digest = hashlib.sha256()
    with part.open("wb") as file:
        for chunk in _chunks(arrays):
            digest.update(chunk)
            file.write(chunk)
        size = file.tell()
        to_disk(file)
    name = f"{stem}-{digest.hexdigest()[:12]}.safetensors"
    os.replace(part, folder / name)  # noqa: PTH105
    return Entry(name, size, digest.hexdigest())


def to_disk(file) -> None:
    file.flush()
    os.fsync(file.fileno())


def _chunks(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    table, offset = {}, 0
    for name, a in arrays.items():
        span = [offset, offset + a.nbytes]
        table[name] = {"dtype": CODES[a.dtype], "shape": list(a.shape), "data_offsets": span}
        offset = span[1]
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for a in arrays.values():
        yield np.ascontiguousarray(a).reshape(-1).view(np.uint8).data


def check_file(folder: Path, entry: Entry) -> None:
    """The file is there, whole and unchanged."""
    path = folder / entry.name
    try:
        size = path.stat().st_size
        if size != entry.bytes:
            raise ModelFileError(
                f"{path} is damaged: it has {size} bytes where {entry.bytes} were written"
            )
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise ModelFileError(f"{path} is missing: the model is not complete") from None
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from error
    if digest != entry.sha256:
        raise ModelFileError(f"{path} is damaged: its checksum does not match")


def map_arrays(folder: Path, entry: Entry, layout: Layout | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file, read-only and still on disk, if they are laid out as expected."""
    path = folder / entry.name
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= entry.bytes - 8:
                raise ValueError("its table does not fit")
            table = json.loads(file.read(length))
        if layout is None:
            layout = {name: (tuple(row["shape"]), DTYPE_NAMES) for name, row in table.items()}
        if set(table) != set(layout):
            raise ValueError(f"it holds {sorted(table)}, expected {sorted(layout)}")
        room = entry.bytes - 8 - length
        return {
            name: _map(path, 8 + length, room, name, table[name], *layout[name]) for name in layout
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a file of this model: {error}") from error


def _map(path: Path, base: int, room: int, name: str, row: dict, shape, dtypes) -> np.ndarray:
    dtype = np.dtype(DTYPES[row["dtype"]])
    if tuple(row["shape"]) != shape or dtype.name not in dtypes:
        found = f"{dtype.name} {tuple(row['shape'])}"
        raise ValueError(f"{name} is {found}, expected {' or '.join(dtypes)} {shape}")
    start, stop = row["data_offsets"]
    if stop - start != math.prod(shape) * dtype.itemsize or not 0 <= start <= stop <= room:
        raise ValueError(f"{name} does not fit")
    if start == stop:
        return np.empty(shape, dtype)
    # A plain array over the map: of numpy's memmap class, every small result is a memmap too.
    return np.memmap(path, dtype, "r", base + start, shape).view(np.ndarray)
