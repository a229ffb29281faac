"""Posterior ⇄ model folder: plan and sizes in the header, arrays in safetensors; no pickle.

A checkpoint is the same folder, written while the chains run: draws are kept in blocks, so that a
later write adds a block and a new state.  Random keys are not stored: they follow from the seed.
Names, shapes and dtypes of all arrays are known from the plan before anything is read.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .. import __version__
from ..model.activation import piecewise_linear
from ..model.covariates import InputLaw
from ..model.network import Scales, Theta
from .kernels import LEAST_SCORE2, InterweavedState
from .model_folder import (
    VERSION,
    Entry,
    Layout,
    ModelFileError,
    check_file,
    current_header,
    map_arrays,
    read_header,
    remove_left_over,
    to_json,
    write_arrays,
    write_header,
    writing,
)
from .posterior import INITS, LINKS, OUTCOMES, SAMPLERS, Plan, Posterior, Start
from .priors import LEARNT, NAMES, PriorSpec
from .runtime import numerics
from .sampling import Run
from .sharding import ROW_PARTS
from .unseen import NOTHING, Beside, Data, Unseen
from .warmstart import WarmStart

MAX_BLOCKS = 64
Groups = Mapping[str, Mapping[str, np.ndarray]]
FLOATS = ("float32", "float64")
LEAST = {
    "chains": 1,
    "warmup": 0,
    "draws": 0,
    "thin": 1,
    "seed": 0,
    "levels": 0,
    "burn": 0,
    "folds": 0,
}
CHOICES = {
    "init": INITS,
    "sampler": SAMPLERS,
    "dtype": ("float32", "float64"),
    "outcome": OUTCOMES,
    "link": LINKS,
}


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


@dataclass(frozen=True)
class Sizes:
    """Rows, columns of x and columns of y; no rows where nothing is kept of them.

    ``gaps`` is 1 where entries of x are missing, ``hidden`` where y was not seen exactly.
    """

    rows: int
    inputs: int
    outcomes: int
    gaps: int = 0
    hidden: int = 0

    @classmethod
    def of(cls, posterior: Posterior) -> "Sizes":
        theta, state = posterior.start.theta, named(posterior.run.state)
        rows = [a.shape[1] for name, a in state.items() if any(part in name for part in ROW_PARTS)]
        gaps, hidden = (int(any(part in name for name in state)) for part in ROW_PARTS[1:])
        widths = theta.beta[0].shape[-1], theta.gamma[-1].shape[-1]
        return cls(max(rows, default=0), *widths, gaps, hidden)

    @classmethod
    def from_json(cls, raw: dict[str, int]) -> "Sizes":
        if not all(type(value) is int and value >= 0 for value in raw.values()):
            raise ValueError(f"bad sizes {raw}")
        return cls(**raw)

    def to_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True)
class Structure:
    """Trees of ``ShapeDtypeStruct``, each with a leading chain axis."""

    state: Any
    start: Start
    draws: tuple[Theta, Beside]


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
    """The state of the chains, or that of an older file in the form of today."""
    entry = contents.manifest.files["state"]
    if contents.version == VERSION or not isinstance(tree, InterweavedState):
        return _mapped(folder, entry, tree)
    return _older_state(folder, entry, tree, contents)


def _older_state(folder: Path, entry: Entry, tree: InterweavedState, contents: _Contents) -> Any:
    """Versions 1 and 2 hold mean squared scores, and knew one length of trajectories.

    Version 1 does not say when the move was tuned.
    """
    expected = dict(layout(tree))
    expected["tuning.score2"] = expected.pop("tuning.log_score2")
    shape, (dtype,) = expected.pop("tuning.jumps")
    window = expected.pop("tuning.window") if contents.version == 1 else None
    found = dict(map_arrays(folder, entry, expected))
    score2 = found.pop("tuning.score2")
    found["tuning.log_score2"] = np.log(np.maximum(score2, LEAST_SCORE2))
    found["tuning.jumps"] = np.full(shape, np.nan, dtype)
    if window is not None:
        found["tuning.window"] = np.broadcast_to(np.array([0, contents.plan.warmup]), window[0])
    return rebuild(tree, found)


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


def structure_of(plan: Plan, sizes: Sizes) -> Structure:
    """The trees that a fit of this plan to rows of these sizes fills."""
    return _structure_of(plan.program(), sizes)


@lru_cache(maxsize=16)
def _structure_of(plan: Plan, sizes: Sizes) -> Structure:
    widths = (sizes.inputs, *plan.hidden, sizes.outcomes)

    def leaf(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, plan.dtype)

    weights = tuple(leaf(*pair) for pair in zip(widths[1:], widths[:-1], strict=True))
    units = tuple(leaf(k) for k in widths[1:])
    theta, scales = Theta(weights, units, units, units[:-1]), Scales(weights, units)
    if plan.prior in LEARNT:
        learnt = len(units) + (plan.sites is not None)
        scales = Scales(weights, units, leaf(), (leaf(),) * learnt)
    x, y = leaf(sizes.rows, sizes.inputs), leaf(sizes.rows, sizes.outcomes)
    beside = Beside(
        _input_law(sizes.inputs) if sizes.gaps else None,
        leaf(plan.levels - 1) if plan.outcome == "ordered" else None,
    )
    unseen = Unseen(x if sizes.gaps else None, y if sizes.hidden else None, beside)
    data = Data(x, y, None)  # type: ignore[arg-type]
    with numerics():
        key = jax.eval_shape(lambda: jax.random.key(0))
        state = jax.eval_shape(plan.kernel().init, key, theta, scales, data, unseen)
    trees = state, Start(theta, scales, leaf()), (theta, beside)
    return Structure(*(with_axis(tree, 0, plan.chains) for tree in trees))


def _input_law(inputs: int) -> InputLaw:
    def leaf(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, "float64")

    return InputLaw(leaf(inputs), leaf(inputs, inputs))


def with_axis(tree, axis: int, size: int):
    """The tree with one more axis in every leaf."""

    def widened(leaf):
        shape = (*leaf.shape[:axis], size, *leaf.shape[axis:])
        return jax.ShapeDtypeStruct(shape, leaf.dtype)

    return jax.tree.map(widened, tree)


def named(tree) -> dict[str, Any]:
    """Leaves by their place in the tree, such as ``gibbs.theta.beta.0``."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def layout(tree) -> Layout:
    """What a file of this tree must hold; only a loss may be of either precision."""
    return {
        name: (leaf.shape, FLOATS if name == "held_out_loss" else (leaf.dtype.name,))
        for name, leaf in named(tree).items()
    }


def rebuild(tree, arrays: dict[str, np.ndarray]):
    """The tree with its leaves taken from named arrays."""
    return jax.tree.unflatten(jax.tree.structure(tree), [arrays[name] for name in named(tree)])


def plan_to_json(plan: Plan) -> dict[str, Any]:
    return asdict(plan)


def plan_from_json(raw: dict[str, Any]) -> Plan:
    """The plan that was written; ValueError, KeyError or TypeError where it is none."""
    unknown = set(raw) - {field.name for field in fields(Plan)}
    if unknown:
        raise ValueError(f"unknown settings {sorted(unknown)}")
    raw = {"burn": 0, "folds": 0, **raw}
    for name, least in LEAST.items():
        _whole(name, raw[name], least)
    for name, choices in CHOICES.items():
        if raw[name] not in choices:
            raise ValueError(f"{name} is {raw[name]!r}")
    for name, value in raw["warmstart"].items():
        if type(value) not in (int, float):
            raise ValueError(f"warmstart {name} is {value!r}")
    for width in raw["hidden"]:
        _whole("hidden", width, 1)
    checked = {
        "hidden": tuple(raw["hidden"]),
        "h": piecewise_linear(**raw["h"]),
        "prior": _prior(raw["prior"]),
        "sites": _sites(raw.get("sites")),
        "warmstart": WarmStart(**raw["warmstart"]),
    }
    return Plan(**{**raw, **checked})


def _whole(name: str, value: Any, least: int) -> None:
    if type(value) is not int or value < least:
        raise ValueError(f"{name} is {value!r}")


def _sites(raw: Any) -> tuple[int, int] | None:
    if raw is None:
        return None
    first, stop = raw
    _whole("sites", first, 0)
    _whole("sites", stop, first + 2)
    return first, stop


def _prior(raw: Any) -> str | PriorSpec:
    if isinstance(raw, str):
        if raw not in NAMES:
            raise ValueError(f"prior is {raw!r}")
        return raw
    return PriorSpec.of({name: tuple(pair) for name, pair in raw.items()})
