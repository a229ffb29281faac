"""A model folder: ``header.json`` and the files that it names.

Nothing is changed in place.  New files are written beside the old ones, and replacing the header
makes them the model, all at once: whatever stops the writer, the folder holds the old model or the
new one.  Files that no header names are removed by the next writer.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .array_file import NAME, PART, Entry, ModelFileError, to_disk

FORMAT = "deepnoise model"
VERSION = 2
HEADER = "header.json"
MAX_HEADER_BYTES = 16 << 20


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
    if header.get("version") not in (1, VERSION):
        raise ModelFileError(
            f"{folder} has format version {header.get('version')!r}, this library reads {VERSION}: "
            f"use a newer deepnoise (it was written by {header.get('library', 'an unknown one')})"
        )
    body = {name: value for name, value in header.items() if name != "checksum"}
    if header.get("checksum") != checksum_of(body):
        raise ModelFileError(f"{path} is damaged: its checksum does not match")
    return _migrated(header) if header["version"] == 1 else header


def _migrated(header: dict) -> dict:
    """A header of version 1, in which "default" named the prior that is "fixed" since."""

    def renamed(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        inner = {name: renamed(value) for name, value in part.items()}
        return inner | {"prior": "fixed"} if inner.get("prior") == "default" else inner

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
