"""The continuous ranked probability score of Gaussian mixtures, E|X - y| - E|X - X'| / 2.

The first term is a sum over components.  The second is a sum over pairs, taken whichever of two
ways is cheaper, in some hundred passes over the components.  Both are exact to 1e-9 of the spread,
and to 1e-7 where there are more than ``MANY`` components and erfc is float32:

- ``_by_integral``: E|X - X'| / 2 = ∫ F (1 - F) dz.  The integrand is entire, so the trapezoidal
  rule with step h errs by no more than about h Σ_c w_c exp(-π² s_c² / h²); see ``_step``.
- ``_by_pairs``: among sorted components, pairs further apart than 6.5 sds contribute |m - m'|,
  whose sum is a cumulative sum; only nearer neighbours need their own E|X - X'|.

Beside it, how far apart the cdfs of two mixtures are: a bound that holds between the points of a
grid too.  Between two points h apart, a difference D of cdfs exceeds its values there by at most
h² sup|D''| / 8, and |D''| <= max|φ'| (Σ w_c / s_c² of the one + that of the other).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc

from ...inference.runtime import numerics
from .sums import Law, bucket, cdf, evaluate, pad, pad_law, take_rows

STEP_SDS = 0.73
STEP_ERROR = 1e-8
FAR_SDS = 6.5
FEW = 64
MANY = 256
PAIR_COST = 2.5
# max|φ'| = φ(1)
STEEPEST = float(np.exp(-0.5) / np.sqrt(2 * np.pi))
# Φ(-6.5), what may lie beyond the grid.
BEYOND = 5e-11
BETWEEN = 2e-4
MOST_POINTS = 4096


def crps(law: Law, y: np.ndarray) -> np.ndarray:
    """CRPS of each row at its outcome; y (B,) -> (B,)."""
    return evaluate(_mean_distance, law, y[:, None])[:, 0] - half_mean_difference(law)


def half_mean_difference(law: Law) -> np.ndarray:
    """E|X - X'| / 2 for two independent draws of each row; (B,)."""
    if law.means.shape[1] <= FEW:
        return _by_pairs(law)
    low = (law.means - FAR_SDS * law.sds).min(-1)
    high = (law.means + FAR_SDS * law.sds).max(-1)
    step = _step(law) * np.ones_like(low)
    nodes = np.ceil((high - low) / step)
    smooth = nodes <= np.maximum(FEW, PAIR_COST * _least_lags(law))
    if not smooth.all():
        smooth[~smooth] = nodes[~smooth] <= PAIR_COST * _lags(take_rows(law, ~smooth))
    result = np.empty_like(low)
    if smooth.any():
        result[smooth] = _by_integral(
            take_rows(law, smooth), low[smooth], step[smooth], nodes[smooth]
        )
    if not smooth.all():
        result[~smooth] = _by_pairs(take_rows(law, ~smooth))
    return result


def _step(law: Law) -> np.ndarray:
    """The longest step h = 0.73 · 1.2^k min_c s_c with Σ_c w_c exp(-π² s_c² / h²) <= 1e-8."""
    step = STEP_SDS * law.sds.min(-1)
    for _ in range(16):
        longer = 1.2 * step
        error = np.sum(law.weights * np.exp(-((np.pi * law.sds / longer[:, None]) ** 2)), -1)
        step = np.where(error <= STEP_ERROR, longer, step)
    return step


def _reach(law: Law) -> np.ndarray:
    """Means further apart than this belong to pairs that need no look at each other; (B,)."""
    return FAR_SDS * np.sqrt(2) * law.sds.max(-1) * np.ones(len(law.means))


def _least_lags(law: Law) -> np.ndarray:
    """A lower bound of ``_lags`` without sorting: some window of one reach holds its share."""
    rows, components = law.means.shape
    windows = (law.means.max(-1) - law.means.min(-1)) // _reach(law) + 1
    return np.ones(rows) * components / windows


def _lags(law: Law) -> np.ndarray:
    """How many neighbours in order of mean ``_by_pairs`` has to visit; (B,)."""
    means, reach = np.sort(law.means, -1), _reach(law)
    place = np.arange(means.shape[1])
    found = [np.searchsorted(m, m + r) - place for m, r in zip(means, reach, strict=True)]
    return np.array([lags.max() for lags in found])


def _folded(distance: jax.Array, sd: jax.Array) -> jax.Array:
    """E|Z| - |d| = 2 s (φ(t) - t Φ(-t)) for Z ~ N(d, s²), t = |d| / s."""
    t = jnp.abs(distance) / sd
    phi = jnp.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
    return 2 * sd * (phi - 0.5 * t * erfc(t * np.sqrt(0.5)))


def _mean_distance(law: Law, y: jax.Array) -> jax.Array:
    """E|X - y|."""
    distance = jnp.abs(y[:, None] - law.means)
    return jnp.sum(law.weights * (distance + _folded(distance, law.sds)), -1)


def _by_integral(law: Law, low: np.ndarray, step: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    size = bucket(len(low))
    low, step = pad(low, size), pad(step, size)
    with numerics():
        total = np.asarray(_integrate(pad_law(law, size), low, step, int(nodes.max()) + 1))
    return total[: len(nodes)]


@jax.jit
def _integrate(law: Law, low: jax.Array, step: jax.Array, count: int) -> jax.Array:
    mass_below = cdf if law.means.shape[1] <= MANY else _quick_cdf

    def add(i, total):
        mass = mass_below(law, low + i * step)
        return total + mass * (1 - mass)

    return step * jax.lax.fori_loop(0, count, add, jnp.zeros_like(low))


def _quick_cdf(law: Law, x: jax.Array) -> jax.Array:
    """The cdf with erfc in float32, its argument and the sum in float64; within 1e-7."""
    z = (law.means - x[:, None]) * (np.sqrt(0.5) / law.sds)
    return jnp.sum(0.5 * law.weights * erfc(z.astype(jnp.float32)), -1)


def _by_pairs(law: Law) -> np.ndarray:
    rows, size = len(law.means), bucket(len(law.means))
    order = np.argsort(law.means, -1)
    law = Law(*(np.take_along_axis(np.broadcast_to(a, order.shape), order, -1) for a in law))
    with numerics():
        near = np.asarray(_near_pairs(pad_law(law, size)))[:rows]
    reached = np.cumsum(law.weights, -1)
    centred = law.means - law.means.mean(-1, keepdims=True)
    far = np.sum(law.weights * centred * (2 * reached - law.weights - reached[:, -1:]), -1)
    return far + near


@jax.jit
def _near_pairs(law: Law) -> jax.Array:
    """Σ_{c<d} w_c w_d (E|X_c - X_d| - |m_c - m_d|) + Σ_c w_c² s_c / √π, in order of mean."""
    rows, count = law.means.shape
    double = Law(*(jnp.concatenate([part, part], -1) for part in law))
    reach = FAR_SDS * np.sqrt(2) * law.sds.max(-1)

    def unfinished(carry):
        lag, gap, _ = carry
        return (lag < count) & (gap < reach).any()

    def add(carry):
        lag, _, total = carry
        other = Law(*(jax.lax.dynamic_slice_in_dim(part, lag, count, axis=1) for part in double))
        pair = jnp.arange(count) < count - lag
        distance = jnp.where(pair, other.means - law.means, jnp.inf)
        sd = jnp.sqrt(law.sds**2 + other.sds**2)
        excess = _folded(jnp.where(pair, distance, 0.0), sd)
        total += jnp.sum(jnp.where(pair, law.weights * other.weights * excess, 0.0), -1)
        return lag + 1, distance.min(-1), total

    own = jnp.sum(law.weights**2 * law.sds, -1) / np.sqrt(np.pi)
    return jax.lax.while_loop(unfinished, add, (1, jnp.zeros(rows), own))[2]


def cdf_distance(one: Law, other: Law) -> np.ndarray:
    """An upper bound of sup_y |F(y) - G(y)| of each row; (B,).

    It is at most BETWEEN above the supremum, unless that would need more than MOST_POINTS points.
    """
    low, high = _ends(one, other)
    curvature = STEEPEST * (_mean_precision(one) + _mean_precision(other))
    step = np.sqrt(8 * BETWEEN / curvature)
    count = int(min(np.ceil(((high - low) / step).max()) + 1, MOST_POINTS))
    grid = np.linspace(low, high, count, axis=1)
    apart = np.abs(evaluate(cdf, one, grid) - evaluate(cdf, other, grid)).max(-1)
    between = curvature * ((high - low) / (count - 1)) ** 2 / 8
    return np.minimum(apart + between + BEYOND, 1.0)


def _ends(*laws: Law) -> tuple[np.ndarray, np.ndarray]:
    lows = [(law.means - FAR_SDS * law.sds).min(-1) for law in laws]
    highs = [(law.means + FAR_SDS * law.sds).max(-1) for law in laws]
    return np.minimum(*lows), np.maximum(*highs)


def _mean_precision(law: Law) -> np.ndarray:
    return np.sum(law.weights / law.sds**2, -1)
