"""What a posterior holds, by name, shape and dtype: known from the plan before anything is read."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ..model.network import Scales, Theta
from .array_file import Layout
from .kernels import Data
from .posterior import Plan, Posterior, Start
from .runtime import numerics

FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Sizes:
    """Rows, columns of x and columns of y; no rows where no latents are kept."""

    rows: int
    inputs: int
    outcomes: int

    @classmethod
    def of(cls, posterior: Posterior) -> "Sizes":
        theta = posterior.start.theta
        rows = [a.shape[1] for name, a in named(posterior.run.state).items() if "latents." in name]
        return cls(max(rows, default=0), theta.beta[0].shape[-1], theta.gamma[-1].shape[-1])

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
    theta: Theta


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
    data = Data(leaf(sizes.rows, sizes.inputs), leaf(sizes.rows, sizes.outcomes), None)  # type: ignore[arg-type]
    with numerics():
        key = jax.eval_shape(lambda: jax.random.key(0))
        state = jax.eval_shape(plan.kernel().init, key, theta, scales, data)
    return Structure(
        *(with_axis(tree, 0, plan.chains) for tree in (state, Start(theta, scales, leaf()), theta))
    )


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
