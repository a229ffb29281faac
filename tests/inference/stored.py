"""Posteriors filled with noise, in the shapes a fit would give: made without one."""

import jax
import numpy as np

from deepnoise.inference.posterior import Plan, Posterior
from deepnoise.inference.sampling import Run
from deepnoise.inference.storage import Sizes, structure_of, with_axis, write
from deepnoise.model.activation import hard_tanh

SIZES = Sizes(rows=5, inputs=3, outcomes=1)
ROWS = {"rows": {"x": np.arange(15.0).reshape(5, 3), "flag": np.array([True, False])}}


def plan(**changes) -> Plan:
    return Plan(**{"hidden": (2,), "h": hard_tanh, "seed": 7, "chains": 2, "draws": 6, **changes})


def noise(seed: int, plan: Plan, draws: int = 6, sizes: Sizes = SIZES) -> Posterior:
    rng = np.random.default_rng(seed)
    filled = lambda tree: jax.tree.map(
        lambda leaf: rng.normal(size=leaf.shape).astype(leaf.dtype), tree
    )
    structure = structure_of(plan, sizes)
    theta = filled(with_axis(structure.draws[0], 1, draws)) if draws else None
    run = Run(filled(structure.state), 10 + draws, theta)
    return Posterior(plan, filled(structure.start), run)


def cut(posterior: Posterior, draws: int) -> Posterior:
    """The same run, seen when it had kept fewer draws."""
    kept = jax.tree.map(lambda a: a[:, :draws], posterior.run.draws) if draws else None
    return Posterior(posterior.plan, posterior.start, Run(posterior.run.state, draws, kept))


def assert_same(a, b) -> None:
    """Two trees of arrays, alike to the last bit and in every dtype."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for one, two in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        one, two = np.asarray(one), np.asarray(two)
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes()


def two_blocks(folder) -> None:
    """A model of two blocks of draws, 4 and 2."""
    posterior = noise(1, plan())
    known = write(folder, cut(posterior, 4), {"a": 1}, ROWS)
    write(folder, posterior, {"a": 2}, ROWS, known)


def files_of(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
