"""Named arrays and a header ⇄ model folder, for models that are no chains; no pickle, atomic."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .array_file import Entry, ModelFileError, check_file, map_arrays, write_arrays
from .model_folder import read_header, remove_left_over, to_json, write_header, writing

KIND = "arrays"


@dataclass(frozen=True)
class StoredArrays:
    """The arrays of a folder, and the caller's header."""

    arrays: dict[str, np.ndarray]
    header: dict[str, Any]


def write(folder: Path | str, arrays: Mapping[str, np.ndarray], header: dict[str, Any]) -> None:
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


def read(folder: Path | str) -> StoredArrays:
    """All of a folder, checked, or a :class:`ModelFileError`."""
    folder = Path(folder)
    raw = read_header(folder)
    try:
        entry, header = Entry.of(raw["files"]["weights"]), dict(raw["header"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the header of {folder} makes no sense: {error!r}") from error
    check_file(folder, entry)
    return StoredArrays({n: np.array(a) for n, a in map_arrays(folder, entry).items()}, header)
