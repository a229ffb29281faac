"""Whole noise paths proposed afresh: latents jump between modes that Gibbs draws cannot cross.

Iterated sampling importance resampling (Tjelmeland 2004; Andrieu, Lee and Vihola 2018): the
current path of a row and ``tries`` paths simulated from the model compete with probability
proportional to p(y | v_{L-1}), u_L integrated out.  The posterior of the latents stays invariant.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.marginal import last_log_likelihood
from ..model.network import Latents, Theta
from ..model.outcome import Seen
from ..model.random import normals
from .interweave import Noises, rebuild


def refresh(
    key: jax.Array,
    theta: Theta,
    latents: Latents,
    x: jax.Array,
    y: Seen,
    h: PiecewiseLinear,
    tries: int,
    others: jax.Array | None = None,
) -> tuple[Latents, jax.Array]:
    """``latents`` of ``rebuild`` (without u_L) and x, each row's path possibly replaced.

    ``others`` (tries, N, P) are inputs drawn from their own law, for paths that start elsewhere.
    """
    if theta.L == 0 or tries == 0:
        return latents, x

    def score(key, path: Latents):
        weight = last_log_likelihood(theta, h(path.v[-1]), y)
        return weight + jax.random.gumbel(key, weight.shape, weight.dtype)

    def compete(i, carry):
        best, kept = carry
        key_path, key_score = jax.random.split(jax.random.fold_in(key, i))
        start = x if others is None else others[i]
        path = rebuild(theta, draw_noises(key_path, theta, len(x)), start, h)
        mark = score(key_score, path)
        won = (mark > best)[:, None]
        trial = path, None if others is None else start
        kept = jax.tree.map(lambda new, old: jnp.where(won, new, old), trial, kept)
        return jnp.maximum(mark, best), kept

    first = score(jax.random.fold_in(key, tries), latents)
    carry = first, (latents, None if others is None else x)
    latents, moved = jax.lax.fori_loop(0, tries, compete, carry)[1]
    return latents, x if moved is None else moved


def draw_noises(key: jax.Array, theta: Theta, rows: int) -> Noises:
    """Standard normal noises of every row, by one call."""
    widths = [s2.shape[0] for s2 in theta.sigma2]
    dtype = theta.sigma2[0].dtype
    flat = normals(key, (rows, 2 * sum(widths) - widths[-1]), dtype).T
    parts = jnp.split(flat, np.cumsum([*widths, *widths[:-1]])[:-1])
    return Noises(tuple(parts[: theta.L]), tuple(parts[theta.L :]))
