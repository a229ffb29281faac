"""A Gibbs sweep in parts: variances, the latents of a block of rows, their sums, weights.

Given Theta rows are independent, and Theta given all rows needs sums over them only.  The random
numbers of a row are those that ``gibbs.sweep`` gives it.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.conditionals import weights_given_sums
from ..model.network import Arrays, Latents, Prior, Scales, Theta, pre_activations, simulate
from ..model.random import RowsFrom
from . import gibbs
from .streams import SCALES

# Rows whose float64 copies stay in a CPU's cache while they are summed.
CHUNK = 2048


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sums:
    """Sums over rows, float64, layer by layer: ūᵀū, vᵀū, v², and (u_{l+1} - h(v_l))²."""

    gram: Arrays
    cross: Arrays
    square: Arrays
    apart: Arrays


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """A block's x and y, the number of its first row, and how many rows there are in all."""

    x: Any
    y: Any
    first: Any
    total: Any


@partial(jax.jit, static_argnums=0)
def simulated(h: PiecewiseLinear, key, theta: Theta, rows: Rows) -> Latents:
    return simulate(key, theta, rows.x, h, rows.first)[0]


@partial(jax.jit, static_argnums=0)
def drawn(h: PiecewiseLinear, key_v, key_u, theta: Theta, u: Arrays, rows: Rows) -> Latents:
    """The latents of a block given Theta and its u from before, as in ``gibbs.sweep``."""
    u = (rows.x, *u)
    m = pre_activations(theta, u)
    key_v, key_u = RowsFrom(key_v, rows.first), RowsFrom(key_u, rows.first)
    return gibbs.draw_latents(key_v, key_u, theta, m, (rows.y,), u, h)


@partial(jax.jit, static_argnums=0)
def added(h: PiecewiseLinear, before: Sums, latents: Latents, rows: Rows) -> Sums:
    """Sums with those of a block; rows that fill it up count nothing."""
    size = len(rows.x)
    valid = rows.first + jnp.arange(size) < rows.total
    chunk = CHUNK if jax.default_backend() == "cpu" and size % CHUNK == 0 else size
    parts = jax.tree.map(
        lambda a: a.reshape(-1, chunk, *a.shape[1:]), (*latents.clamp(rows.x, rows.y), valid)
    )
    step = lambda sums, part: (jax.tree.map(jnp.add, sums, sums_of(h, *part)), None)  # noqa: E731
    return jax.lax.scan(step, before, parts)[0]


def sums_of(h: PiecewiseLinear, v: Arrays, u: Arrays, valid) -> Sums:
    """Sums over the valid rows."""
    one = valid[:, None].astype(float)
    v, u = (tuple(a.astype(float) * one for a in part) for part in (v, u))
    u_bar = [jnp.concatenate([a, one], axis=1) for a in u]
    apart = [(a - h(b)) * one for a, b in zip(u[1:], v[:-1], strict=True)]
    return Sums(
        tuple(a.T @ a for a in u_bar),
        tuple(b.T @ a for a, b in zip(u_bar, v, strict=True)),
        tuple(jnp.sum(b**2, axis=0) for b in v),
        tuple(jnp.sum(a**2, axis=0) for a in apart),
    )


def no_sums(widths: tuple[int, ...]) -> Sums:
    """Sums over no rows, for (P, K_0, ..., K_{L-1}, Q)."""
    fans, zeros = list(pairwise(widths)), cast("Any", np.zeros)
    return Sums(
        tuple(zeros((a + 1, a + 1)) for a, _ in fans),
        tuple(zeros((b, a + 1)) for a, b in fans),
        tuple(zeros(b) for _, b in fans),
        tuple(zeros(b) for _, b in fans[:-1]),
    )


@jax.jit
def variances(key, theta: Theta, scales: Scales, sums: Sums, prior: Prior, hold):
    """(Theta, Scales) with the variances of a sweep, which come first."""
    rows = sums.gram[0][-1, -1]
    layers = zip(theta.beta, theta.gamma, sums.gram, sums.cross, sums.square, strict=True)

    def laws(priors, squares, like):
        parts = zip(priors, squares, like, strict=True)
        return [law.updated(rows, square.astype(a.dtype)) for law, square, a in parts]

    given = prior.given(scales)
    preact = laws(given.preact, [_residual(*part) for part in layers], theta.tau2)
    postact = laws(given.postact, sums.apart, theta.sigma2)
    tau2, sigma2, drawn = gibbs.sample_variances(
        key, preact, postact, theta.beta, theta.gamma, scales, prior
    )
    drawn = gibbs.draw_scales(jax.random.fold_in(key, SCALES), tau2, sigma2, drawn, prior)
    tau2, sigma2, scales = gibbs.keep_if(
        hold, (theta.tau2, theta.sigma2, scales), (tau2, sigma2, drawn)
    )
    return Theta(theta.beta, theta.gamma, tau2, sigma2), scales


@jax.jit
def weights(key, theta: Theta, scales: Scales, sums: Sums, hold) -> Theta:
    """Theta with the weights of a sweep, which come last."""
    layers = zip(sums.gram, sums.cross, theta.tau2, scales.rho2, scales.xi2, strict=True)
    new = gibbs.sample_layers(key, [weights_given_sums(*part) for part in layers], theta.tau2)
    beta, gamma = gibbs.keep_if(hold, (theta.beta, theta.gamma), new)
    return Theta(beta, gamma, theta.tau2, theta.sigma2)


def _residual(beta, gamma, gram, cross, square) -> jax.Array:
    """|v_k - β_k u - γ_k|² summed over rows, from sums alone."""
    w = jnp.concatenate([beta, gamma[:, None]], axis=1).astype(float)
    return jnp.maximum(square - jnp.sum(w * (2 * cross - w @ gram), axis=1), 0)
