"""Sums over the components of Gaussian mixtures, for a block of rows at a time.

The special functions run in JAX: XLA fuses erfc with the sum over components and uses every core,
about five times faster than scipy.  Everything is float64 inside a local ``numerics()``; numpy goes
in, numpy comes out.  Rows and points are padded to powers of two and points are visited by a loop
of dynamic length: another number of rows seldom compiles anything, and points cost no memory.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc, log_ndtr, logsumexp

from ...inference.runtime import numerics

LOG_SQRT_2PI = 0.5 * float(np.log(2 * np.pi))
NARROW = 1e-3


class Law(NamedTuple):
    """One outcome of B rows: Σ_c w_c N(m_c, s_c²).

    Shapes: means (B, C); weights and sds (B, C), or (1, C) where all rows share them.
    """

    weights: np.ndarray
    means: np.ndarray
    sds: np.ndarray


class JointLaw(NamedTuple):
    """All outcomes of B rows: Σ_c w_c N(m_c, L_c L_cᵀ), with ``whiten`` = L_c⁻¹.

    Shapes: means (B, C, Q); weights (B or 1, C); whiten (B or 1, C, Q, Q).
    """

    weights: np.ndarray
    means: np.ndarray
    whiten: np.ndarray


def bucket(count: int) -> int:
    """The smallest power of two that is at least ``count``."""
    return 1 << max(count - 1, 0).bit_length()


def pad(array: np.ndarray, size: int, axis: int = 0) -> np.ndarray:
    """Repeat the last entry along ``axis`` up to ``size``; length one means shared, and stays."""
    count = array.shape[axis]
    if count in (1, size):
        return array
    last = np.take(array, [count - 1], axis)
    return np.concatenate([array, np.repeat(last, size - count, axis)], axis)


def padded(array: np.ndarray, axis: int = 0) -> np.ndarray:
    """Repeat the last entry up to a power of two, so that few shapes are ever compiled."""
    return pad(array, bucket(array.shape[axis]), axis)


def pad_law(law, size: int):
    return type(law)(*(pad(part, size) for part in law))


def take_rows(law: Law, rows: np.ndarray) -> Law:
    """The law of some of the rows."""
    return type(law)(*(part if len(part) == 1 else part[rows] for part in law))


def choose(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The component that each u in (0, 1) falls on, the weights laid end to end; u (B, S)."""
    reached = np.cumsum(weights, -1)
    reached /= reached[:, -1:]
    last = weights.shape[1] - 1
    if len(weights) == 1:
        return np.minimum(np.searchsorted(reached[0], u), last)
    # One search serves all rows: row b's cumulative weights occupy (b, b + 1].
    row = np.arange(len(weights))[:, None]
    place = np.searchsorted((reached + row).ravel(), u + row)
    return np.clip(place - row * weights.shape[1], 0, last)


def evaluate(of: Callable, law: Law | JointLaw, points: np.ndarray) -> np.ndarray:
    """of(law, points[:, g]) for every g; points (B, G, ...), or (1, G, ...) if rows share them."""
    rows, count = len(law.means), points.shape[1]
    moved = np.ascontiguousarray(np.swapaxes(points, 0, 1), dtype=np.float64)
    moved = pad(pad(moved, bucket(rows), axis=1), bucket(count))
    with numerics():
        values = np.asarray(_over_points(of, pad_law(law, bucket(rows)), moved, count))
    return np.swapaxes(values[:count, :rows], 0, 1)


@partial(jax.jit, static_argnames="of")
def _over_points(of: Callable, law, points: jax.Array, count: int) -> jax.Array:
    shape = jax.eval_shape(of, law, points[0]).shape
    fill = jnp.zeros((len(points), *shape))
    return jax.lax.fori_loop(0, count, lambda g, out: out.at[g].set(of(law, points[g])), fill)


def standardise(law: Law, x: jax.Array) -> jax.Array:
    return (x[:, None] - law.means) / law.sds


def phi(z: jax.Array) -> jax.Array:
    return jnp.exp(-0.5 * z * z - LOG_SQRT_2PI)


def tail_mass(law: Law, x: jax.Array, sign: jax.Array | float) -> jax.Array:
    """Σ w_c Φ(± z_c), z_c = (x - m_c) / s_c: the cdf for sign 1, P(y >= x) for sign -1."""
    mass = 0.5 * erfc(-sign * standardise(law, x) * np.sqrt(0.5))
    return jnp.minimum(jnp.sum(law.weights * mass, -1), 1.0)


def cdf(law: Law, x: jax.Array) -> jax.Array:
    return tail_mass(law, x, 1.0)


def survival(law: Law, x: jax.Array) -> jax.Array:
    return tail_mass(law, x, -1.0)


def density(law: Law, x: jax.Array) -> jax.Array:
    """Σ w_c φ(z_c) / s_c."""
    return jnp.sum(law.weights / law.sds * phi(standardise(law, x)), -1)


def log_density(law: JointLaw, x: jax.Array) -> jax.Array:
    """log Σ w_c N(x; m_c, L_c L_cᵀ), joint over outcomes; x (B, Q)."""
    z = jnp.sum(law.whiten * (x[:, None] - law.means)[:, :, None, :], -1)
    log_det = jnp.sum(jnp.log(jnp.diagonal(law.whiten, axis1=-2, axis2=-1)), -1)
    log_term = log_det - 0.5 * jnp.sum(z * z, -1) - z.shape[-1] * LOG_SQRT_2PI
    return logsumexp(jnp.log(law.weights) + log_term, axis=-1)


def log_mass(law: Law, ends: jax.Array) -> jax.Array:
    """log P(a <= y <= b), in logs throughout, so exact also where the mass underflows; ends (B, 2).

    A component seen from its far side is reflected to the lower tail, where log Φ keeps its digits.
    One too wide for the interval would cancel, so for δ = (b - a)/s and t = (mid - m)/s with
    δ max(1, |t|) < 1e-3 the mass is δ φ(t) (1 + (t² - 1) δ² / 24), which is exact to 1e-14.
    """
    low, high = (standardise(law, ends[:, i]) for i in (0, 1))
    flip = low + high > 0
    low, high = jnp.where(flip, -high, low), jnp.where(flip, -low, high)
    centre = 0.5 * (low + high)
    width = (ends[:, 1] - ends[:, 0])[:, None] / law.sds
    narrow = width * jnp.maximum(1.0, jnp.abs(centre)) < NARROW
    centre, thin = jnp.where(narrow, centre, 0.0), jnp.where(narrow, width, 1.0)
    series = jnp.log(thin) - 0.5 * centre**2 - LOG_SQRT_2PI
    series += jnp.log1p((centre**2 - 1) * thin**2 / 24)
    log_high = log_ndtr(high)
    ratio = jnp.where(narrow | (high == -jnp.inf), -1.0, log_ndtr(low) - log_high)
    wide = log_high + jnp.log1p(-jnp.exp(ratio))
    return logsumexp(jnp.log(law.weights) + jnp.where(narrow, series, wide), axis=-1)
