"""Many fits of the same shape as one program: all splits of a small set on one GPU."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..inference.posterior import Plan, Start, begin, chain_priors
from ..inference.runtime import numerics
from ..inference.sampling import SEGMENT, advance, chain_keys
from ..inference.unseen import Data
from ..model.network import Theta


@dataclass(frozen=True)
class Batch:
    """Draws (fit, chain, draw, ...) and the starts (fit, chain, ...)."""

    draws: Theta
    start: Start


def fit_many(
    plan: Plan,
    x: np.ndarray,
    y: np.ndarray,
    on_segment: Callable[[int], None] | None = None,
) -> Batch:
    """Posteriors of S data sets x (S, N, P), y (S, N, Q), standardised; fit s has seed + s."""
    with numerics():
        rows = jnp.asarray(x, plan.dtype), jnp.asarray(y, plan.dtype)
        seeds = plan.seed + jnp.arange(len(x))
        start, state = jax.jit(jax.vmap(partial(begin, plan.program())))(seeds, *rows)
        keys = jax.vmap(lambda seed: chain_keys(seed, plan.chains))(seeds)
        prior = jax.vmap(partial(chain_priors, plan))(start.theta, *rows)
        run = _advance_many(plan)
        kept, t = [], 0
        while t < plan.warmup + plan.draws * plan.thin:
            left = plan.warmup - t if t < plan.warmup else plan.warmup + plan.draws * plan.thin - t
            count = min(-(-left // plan.thin), SEGMENT)
            state, (new, _) = run(keys, state, t, count, Data(*rows, prior))
            if t >= plan.warmup:
                kept.append(jax.tree.map(lambda a: np.asarray(a[:, :, :count]), new))  # noqa: B023
            t += count * plan.thin
            if on_segment is not None:
                on_segment(t)
        draws = jax.tree.map(lambda *parts: np.concatenate(parts, axis=2), *kept)
        return Batch(draws, jax.tree.map(np.asarray, start))


def _advance_many(plan: Plan):
    step = partial(advance, plan.kernel(), plan.thin)
    return jax.jit(jax.vmap(step, in_axes=(0, 0, None, None, 0)))
