"""What a posterior holds, by name, shape and dtype: known from the plan before anything is read."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ..model.covariates import InputLaw
from ..model.network import Scales, Theta
from .array_file import Layout
from .posterior import Plan, Posterior, Start
from .priors import LEARNT
from .runtime import numerics
from .sharding import ROW_PARTS
from .unseen import Beside, Data, Unseen

FLOATS = ("float32", "float64")


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
