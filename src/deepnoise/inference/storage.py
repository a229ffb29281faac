"""Posterior ⇄ model folder: plan and sizes in the header, arrays in safetensors; no pickle.

A checkpoint is the same folder, written while the chains run: draws are kept in blocks, so that a
later write adds a block and a new state.  Random keys are not stored: they follow from the seed.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .. import __version__
from ..model.network import Theta
from .array_file import Entry, ModelFileError, check_file, map_arrays, write_arrays
from .kernels import InterweavedState
from .model_folder import (
    current_header,
    read_header,
    remove_left_over,
    to_json,
    write_header,
    writing,
)
from .plan_json import plan_from_json, plan_to_json
from .posterior import Plan, Posterior
from .sampling import Run
from .structure import Sizes, layout, named, rebuild, structure_of, with_axis
from .unseen import NOTHING, Beside

MAX_BLOCKS = 64
Groups = Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Block:
    """``count`` draws of every chain in one file."""

    file: Entry
    count: int


@dataclass(frozen=True)
class Manifest:
    """What a folder holds: files by name, blocks of draws in order; no checksum, no model yet."""

    checksum: str = ""
    files: Mapping[str, Entry] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()

    @property
    def draws(self) -> int:
        return sum(block.count for block in self.blocks)

    def entries(self) -> list[Entry]:
        return [*self.files.values(), *(block.file for block in self.blocks)]


EMPTY = Manifest()


@dataclass(frozen=True)
class Stored:
    """What :func:`read` gives: the posterior, the caller's header and arrays, and the manifest."""

    posterior: Posterior
    header: dict[str, Any]
    extra: dict[str, dict[str, np.ndarray]]
    manifest: Manifest


def write(
    folder: Path | str,
    posterior: Posterior,
    header: dict[str, Any],
    extra: Groups | None = None,
    known: Manifest | None = None,
) -> Manifest:
    """Make this posterior, with the caller's header and groups of arrays, the model of a folder.

    ``known``, the manifest of an earlier write or read of the same run (``EMPTY`` for none), keeps
    the draws that are there and refuses if another process has written since.
    """
    folder = Path(folder)
    to_json(header)
    with writing(folder):
        found = current_header(folder)
        if known is not None and (found["checksum"] if found else "") != known.checksum:
            raise ModelFileError(f"{folder} was written by another process in the meantime")
        try:
            return _write(folder, posterior, header, extra or {}, known or EMPTY)
        finally:
            # Whichever header is there now says which files stay.
            with suppress(ModelFileError, OSError):
                remove_left_over(folder, _names(current_header(folder)))


def _write(folder: Path, posterior: Posterior, header, extra: Groups, known: Manifest) -> Manifest:
    run = posterior.run
    blocks = known.blocks if known.draws <= run.n_draws and len(known.blocks) < MAX_BLOCKS else ()
    kept = sum(block.count for block in blocks)
    if kept < run.n_draws:
        fresh = {name: a[:, kept:] for name, a in _arrays((run.draws, run.beside)).items()}
        file = write_arrays(folder, f"draws-{len(blocks):05d}", fresh)
        blocks = (*blocks, Block(file, run.n_draws - kept))
    files = {"state": write_arrays(folder, "state", _arrays(run.state))}
    for name, group in {"start": _arrays(posterior.start), **extra}.items():
        files[name] = known.files.get(name) or write_arrays(folder, name, group)
    content = {
        "library": __version__,
        "plan": plan_to_json(posterior.plan),
        "sizes": Sizes.of(posterior).to_json(),
        "sweeps": int(run.t),
        "files": files,
        "draws": [{"file": block.file, "count": block.count} for block in blocks],
        "header": header,
    }
    return Manifest(write_header(folder, content), files, blocks)


def _arrays(tree) -> dict[str, np.ndarray]:
    return {name: np.asarray(leaf) for name, leaf in named(tree).items()}


def read(folder: Path | str, lazy: bool = False) -> Stored:
    """All of a folder, checked, or a :class:`ModelFileError`.

    With ``lazy``, draws that were written in one piece stay on disk until they are used.
    """
    folder = Path(folder)
    while True:
        header = read_header(folder)
        try:
            return _read(folder, _decode(folder, header), header["header"], lazy)
        except ModelFileError:
            # A fit under way may have replaced the files that this header named.
            if read_header(folder)["checksum"] == header["checksum"]:
                raise


@dataclass(frozen=True)
class _Contents:
    plan: Plan
    sizes: Sizes
    sweeps: int
    manifest: Manifest
    version: int


def _decode(folder: Path, raw: dict) -> _Contents:
    try:
        files = {name: Entry.of(entry) for name, entry in raw["files"].items()}
        blocks = tuple(Block(Entry.of(b["file"]), b["count"]) for b in raw["draws"])
        if not all(
            type(n) is int and n > 0 for n in [raw["sweeps"] + 1, *(b.count for b in blocks)]
        ):
            raise ValueError("bad counts")
        if not {"state", "start"} <= set(files) or not isinstance(raw["header"], dict):
            raise ValueError("no state, start or header")
        manifest = Manifest(raw["checksum"], files, blocks)
        plan, sizes = plan_from_json(raw["plan"]), Sizes.from_json(raw["sizes"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"the header of {folder} makes no sense: {error!r}") from error
    return _Contents(plan, sizes, raw["sweeps"], manifest, raw["version"])


def _read(folder: Path, contents: _Contents, header: dict, lazy: bool) -> Stored:
    plan, manifest = contents.plan, contents.manifest
    for entry in manifest.entries():
        check_file(folder, entry)
    structure = structure_of(plan, contents.sizes)
    load = lambda name, tree: _copied(_mapped(folder, manifest.files[name], tree))  # noqa: E731
    run = Run(
        _state(folder, contents, structure.state),
        contents.sweeps,
        *_joined(list(_map_blocks(folder, manifest, structure.draws)), lazy),
    )
    extra = {
        name: {key: np.array(a) for key, a in map_arrays(folder, entry).items()}
        for name, entry in manifest.files.items()
        if name not in ("state", "start")
    }
    start = load("start", structure.start)
    return Stored(Posterior(plan, start, run), header, extra, manifest)


def _state(folder: Path, contents: _Contents, tree: Any) -> Any:
    """The state of the chains; files of version 1 do not say when the move was tuned."""
    entry = contents.manifest.files["state"]
    if contents.version > 1 or not isinstance(tree, InterweavedState):
        return _mapped(folder, entry, tree)
    shape = tree.tuning.window.shape
    found = _mapped(folder, entry, replace(tree, tuning=replace(tree.tuning, window=None)))
    window = np.broadcast_to(np.array([0, contents.plan.warmup]), shape)
    return replace(found, tuning=replace(found.tuning, window=window))


def iter_draw_blocks(folder: Path | str, size: int = 64) -> Iterator[Theta]:
    """Draws (chain, <= size, ...) of a folder in turn, a block in memory at a time."""
    folder = Path(folder)
    contents = _decode(folder, read_header(folder))
    for entry in contents.manifest.entries():
        check_file(folder, entry)
    draws = structure_of(contents.plan, contents.sizes).draws
    for block, _ in _map_blocks(folder, contents.manifest, draws):
        for first in range(0, block.gamma[0].shape[1], size):
            yield jax.tree.map(lambda a: np.array(a[:, first : first + size]), block)  # noqa: B023


def _map_blocks(folder: Path, manifest: Manifest, draws) -> Iterator[tuple[Theta, Beside]]:
    for block in manifest.blocks:
        yield _mapped(folder, block.file, with_axis(draws, 1, block.count))


def _mapped(folder: Path, entry: Entry, tree):
    return rebuild(tree, map_arrays(folder, entry, layout(tree)))


def _copied(tree):
    return jax.tree.map(np.array, tree)


def _joined(blocks: list[tuple[Theta, Beside]], lazy: bool) -> tuple[Theta | None, Beside]:
    if not blocks:
        return None, NOTHING
    if len(blocks) == 1:
        return blocks[0] if lazy else _copied(blocks[0])
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *blocks)


def _names(header: dict | None) -> set[str]:
    if header is None:
        return set()
    return {e["name"] for e in [*header["files"].values(), *(b["file"] for b in header["draws"])]}
