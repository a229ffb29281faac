"""Named arrays ⇄ one safetensors file, whose name carries the hash of its content.

Written and read here rather than by the safetensors package, which copies: a file is hashed while
it is streamed to disk, and read back as maps of the disk, whose pages load when they are touched.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NAME = re.compile(r"[a-z]+(-\d{5})?-[0-9a-f]{12}\.safetensors")
PART = re.compile(r"[a-z]+(-\d{5})?\.\d+\.part")
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "BOOL": "|b1"}
DTYPE_NAMES = tuple(np.dtype(dtype).name for dtype in DTYPES.values())
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}

# Name -> shape and the names of the dtypes allowed.
Layout = Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]]


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
