"""Running chains: compiled segments of sweeps, and room for what they draw.

The key of sweep t of chain c is fold_in(fold_in(key(seed), c), t), so a run that was stopped and
resumed or cut into other segments draws the same numbers, and one that is given more chains the
same but for the length of trajectories, which all chains choose together.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..model.network import Theta
from .runtime import numerics
from .sharding import ONE_DEVICE, Layout
from .unseen import NOTHING, Beside, Data, chain_axes

SEGMENT = 64
SECONDS_A_SEGMENT = 0.5


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Run:
    """Chains as they stand: (chain, ...) state, sweeps done, and draws kept (chain, draw, ...)."""

    state: Any
    t: int
    draws: Theta | None = None
    beside: Beside = NOTHING
    layout: Layout = field(default=ONE_DEVICE, metadata={"static": True})

    @property
    def n_draws(self) -> int:
        return 0 if self.draws is None else self.draws.beta[0].shape[1]

    def whole(self) -> "Run":
        """The run with its state gathered in memory; every process of the fit must ask."""
        with numerics():
            return replace(self, state=self.layout.whole(self.state), layout=ONE_DEVICE)


def chain_keys(seed: jax.Array | int, chains: int) -> jax.Array:
    """One key a chain, each a function of (seed, chain) only."""
    return jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(jnp.arange(chains))


def draw_chain(kernel, thin, key, state, t, count, data: Data) -> tuple[Any, tuple[Theta, Beside]]:
    """``count`` <= SEGMENT draws of one chain, ``thin`` sweeps apart, after sweep t.

    Counts are traced: one compilation serves warm-up, every segment, every thinning and resume.
    A sweep writes its draw over that of the sweep before, until ``thin`` of them are done.
    """

    def kept_of(state):
        return kernel.theta(state), kernel.beside(state)

    def written(room, value, i):
        return jax.lax.dynamic_update_index_in_dim(room, value, i // thin, axis=0)

    def sweep(i, carry):
        state, kept = carry
        state = kernel.step(jax.random.fold_in(key, t + i), t + i, state, data)
        return state, jax.tree.map(lambda k, a: written(k, a, i), kept, kept_of(state))

    room = jax.tree.map(lambda a: jnp.zeros((SEGMENT, *a.shape), a.dtype), kept_of(state))
    return jax.lax.fori_loop(0, count * thin, sweep, (state, room))


@partial(jax.jit, static_argnums=(0, 7))
def advance(kernel, thin, keys, state, t, count, data, layout: Layout = ONE_DEVICE):
    """``draw_chain`` of all chains as one program: for GPUs, and for several devices."""
    state, data = layout.trimmed(state, data)
    chains = jax.vmap(draw_chain, in_axes=(None, None, 0, 0, None, None, chain_axes(data)))
    state, kept = chains(kernel, thin, keys, state, t, count, data)
    return layout.padded(state), layout.everywhere(kept)


advance_one = jax.jit(draw_chain, static_argnums=0)


def next_size(size: int, count: int, took: float) -> int:
    """Segments of about half a second; the first, which compiles, is a single draw."""
    if took < SECONDS_A_SEGMENT / 2 and count == size:
        return min(2 * size, SEGMENT)
    return max(size // 2, 1) if took > 2 * SECONDS_A_SEGMENT else size


def with_room(run: Run, new, total: int):
    """Buffers for all draws, of one call of ``draw_more``, the kept draws copied into them."""
    shaped = lambda a: np.empty((a.shape[0], total, *a.shape[2:]), a.dtype)  # noqa: E731
    buffer = jax.tree.map(shaped, new)
    if run.n_draws:
        into_room(buffer, (run.draws, run.beside), 0, run.n_draws)
    return buffer


def into_room(buffer, new, start: int, count: int):
    """The draws up to ``start + count``, views of the buffers, the last ``count`` from ``new``."""

    def place(room, values):
        # Sliced by numpy: JAX would compile a program for every count.
        room[:, start : start + count] = np.asarray(values)[:, :count]
        return room[:, : start + count]

    return jax.tree.map(place, buffer, new)
