"""Running chains: compiled segments of sweeps, driven from Python.

The key of sweep t of chain c is fold_in(fold_in(key(seed), c), t), so a run that was stopped and
resumed or cut into other segments draws the same numbers, and one that is given more chains the
same but for rounding.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..model.network import Theta
from .runtime import numerics
from .sharding import ONE_DEVICE, Layout
from .unseen import NOTHING, Beside, chain_axes

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


@partial(jax.jit, static_argnums=(0, 7))
def advance(kernel, thin, keys, state, t, count, data, layout: Layout = ONE_DEVICE):
    """``count`` <= SEGMENT draws, ``thin`` sweeps apart, for every chain, after sweep t.

    Counts are traced: one compilation serves warm-up, every segment, every thinning and resume.
    """

    def kept_of(state):
        return kernel.theta(state), kernel.beside(state)

    def one_chain(key, state, data):
        def sweep(i, state):
            return kernel.step(jax.random.fold_in(key, t + i), t + i, state, data)

        def body(d, carry):
            state, kept = carry
            state = jax.lax.fori_loop(d * thin, (d + 1) * thin, sweep, state)
            kept = jax.tree.map(lambda k, a: k.at[d].set(a), kept, kept_of(state))
            return state, kept

        empty = jax.tree.map(lambda a: jnp.zeros((SEGMENT, *a.shape), a.dtype), kept_of(state))
        return jax.lax.fori_loop(0, count, body, (state, empty))

    state, data = layout.trimmed(state, data)
    state, kept = jax.vmap(one_chain, in_axes=(0, 0, chain_axes(data)))(keys, state, data)
    return layout.padded(state), layout.everywhere(kept)


def sample(
    kernel,
    keys: jax.Array,
    run: Run,
    data,
    before: int,
    draws: int,
    thin: int = 1,
    on_segment: Callable[[Run], None] | None = None,
) -> Run:
    """Continue ``run`` until it has done ``before`` sweeps and then kept ``draws`` draws.

    ``on_segment`` sees the run after every segment (progress, checkpoints).  Ctrl-C between two
    segments ends the run early with everything drawn so far, if anything was kept.
    """
    size, buffer, crew = 1, None, run.layout.crew
    try:
        while run.t < before or run.n_draws < draws:
            warming = run.t < before
            # A number that is no multiple of thin overshoots by less than one draw's sweeps.
            left = -(-(before - run.t) // thin) if warming else draws - run.n_draws
            count = int(crew.agreed(min(size, left, SEGMENT)))
            began = time.perf_counter()
            now = keys, run.state, np.int64(run.t), np.int64(count), data
            state, new = jax.block_until_ready(advance(kernel, thin, *now, run.layout.inside))
            kept = run.draws, run.beside
            if not warming:
                buffer = buffer or _with_room(run, new, draws)
                kept = _placed(buffer, new, run.n_draws, count)
            run = Run(state, run.t + count * thin, *kept, run.layout)
            if on_segment is not None:
                on_segment(run)
            size = _next_size(size, count, time.perf_counter() - began)
    except KeyboardInterrupt:
        # Several processes cannot know that all were interrupted after the same segment.
        if not run.n_draws or crew.size > 1:
            raise
    return run


def _next_size(size: int, count: int, took: float) -> int:
    """Segments of about half a second; the first, which compiles, is a single draw."""
    if took < SECONDS_A_SEGMENT / 2 and count == size:
        return min(2 * size, SEGMENT)
    return max(size // 2, 1) if took > 2 * SECONDS_A_SEGMENT else size


def _with_room(run: Run, new, total: int):
    """Buffers for all draws, owned by one call of ``sample``, the kept draws copied into them."""
    shaped = lambda a: np.empty((a.shape[0], total, *a.shape[2:]), a.dtype)  # noqa: E731
    buffer = jax.tree.map(shaped, new)
    if run.n_draws:
        _placed(buffer, (run.draws, run.beside), 0, run.n_draws)
    return buffer


def _placed(buffer, new, start: int, count: int):
    """The draws up to ``start + count``, views of the buffers, the last ``count`` from ``new``."""

    def place(room, values):
        # Sliced by numpy: JAX would compile a program for every count.
        room[:, start : start + count] = np.asarray(values)[:, :count]
        return room[:, : start + count]

    return jax.tree.map(place, buffer, new)
