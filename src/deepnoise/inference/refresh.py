"""Whole noise paths proposed afresh: latents jump between modes that Gibbs draws cannot cross.

The present noises z of a row and fresh ones z' span an ellipse, z cos a + z' sin a (Murray, Adams
and MacKay 2010).  Points of it at equal angles, the present one among them, compete with
probability proportional to p(y | v_{L-1}), u_L integrated out.  A turn by such an angle keeps the
law of (z, z') and the points as a set, so the posterior of the latents stays invariant, and one
draw of noises serves all tries.
"""

import math

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
    noises: Noises,
    x: jax.Array,
    y: Seen,
    h: PiecewiseLinear,
    tries: int,
    others: jax.Array | None = None,
) -> tuple[Latents, jax.Array]:
    """Latents (without u_L) of the noises and x, each row's path possibly replaced.

    ``others`` (tries, N, P) are inputs drawn from their own law, for paths that start elsewhere.
    """
    latents = rebuild(theta, noises, x, h)
    if theta.L == 0 or tries == 0:
        return latents, x
    key_fresh, key_scores = jax.random.split(key)
    fresh = draw_noises(key_fresh, theta, len(x))

    def score(i, path: Latents):
        weight = last_log_likelihood(theta, h(path.v[-1]), y)
        key = jax.random.fold_in(key_scores, i)
        return weight + jax.random.gumbel(key, weight.shape, weight.dtype)

    def compete(i, carry):
        best, kept = carry
        angle = (i + 1) * (2 * math.pi / (tries + 1))
        start = x if others is None else others[i]
        path = rebuild(theta, turned(noises, fresh, angle), start, h)
        mark = score(i, path)
        won = (mark > best)[:, None]
        trial = path, None if others is None else start
        kept = jax.tree.map(lambda new, old: jnp.where(won, new, old), trial, kept)
        return jnp.maximum(mark, best), kept

    carry = score(tries, latents), (latents, None if others is None else x)
    latents, moved = jax.lax.fori_loop(0, tries, compete, carry)[1]
    return latents, x if moved is None else moved


def turned(noises: Noises, fresh: Noises, angle) -> Noises:
    """The point of the ellipse at this angle from the present noises."""

    def point(z, other):
        return z * jnp.cos(angle).astype(z.dtype) + other * jnp.sin(angle).astype(z.dtype)

    return jax.tree.map(point, noises, fresh)


def draw_noises(key: jax.Array, theta: Theta, rows: int) -> Noises:
    """Standard normal noises of every row, by one call."""
    widths = [s2.shape[0] for s2 in theta.sigma2]
    dtype = theta.sigma2[0].dtype
    flat = normals(key, (rows, 2 * sum(widths) - widths[-1]), dtype).T
    parts = jnp.split(flat, np.cumsum([*widths, *widths[:-1]])[:-1])
    return Noises(tuple(parts[: theta.L]), tuple(parts[theta.L :]))
