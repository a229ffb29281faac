"""The law of y given x and Theta: noise paths to v_{L-1}, the last layer integrated (Theorem 2)."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri

from .activation import PiecewiseLinear
from .network import LOG_2PI, Theta, forward, outcome_mean
from .outcome import Choice, Logit, Seen, Window, log_seen
from .random import uniform_pair


def last_covariance(theta: Theta) -> jax.Array:
    """T_L + β_L Σ_{L-1} β_Lᵀ, the covariance of y given v_{L-1}.

    Paper: thm:predictive-density.  Erratum: E4.
    """
    noise = jnp.diag(theta.tau2[-1])
    if theta.L == 0:
        return noise
    return noise + (theta.beta[-1] * theta.sigma2[-1]) @ theta.beta[-1].T


def path_means(key: jax.Array, theta: Theta, x, h: PiecewiseLinear, paths: int) -> jax.Array:
    """β_L h(v_{L-1}) + γ_L for every path and row, (paths, N, Q)."""
    return outcome_mean(theta, path_tops(key, theta, x, h, paths))


def path_tops(key: jax.Array, theta: Theta, x, h: PiecewiseLinear, paths: int) -> jax.Array:
    """h(v_{L-1}) for every path and row, (paths, N, K_{L-1}); rows share a path's noise.

    x is (N, P), or (paths, N, P) where it differs from path to path.
    """
    widths = [gamma.shape[0] for gamma in theta.gamma[:-1]]
    noises = path_noises(key, paths, widths, x.dtype)
    e, d = [pair[0] for pair in noises], [pair[1] for pair in noises[:-1]]
    return top_along(theta, x if x.ndim == 3 else x[None], e, d, h)


def top_along(theta: Theta, x: jax.Array, e, d, h: PiecewiseLinear) -> jax.Array:
    """h(v_{L-1}) along standardised noises e_0..e_{L-1}, d_0..d_{L-2}; x itself if L = 0."""
    return h(forward(theta, x, e, d, h).v[-1]) if theta.L else x


def path_noises(key: jax.Array, paths: int, widths: Sequence[int], dtype) -> list[jax.Array]:
    """Standard normals (2, paths, 1, width) that all rows share, of each width by its number."""
    keys = [jax.random.fold_in(key, k) for k in range(len(widths))]
    pairs = zip(keys, widths, strict=True)
    return [latin_normals(own, paths, width, dtype) for own, width in pairs]


def latin_normals(key: jax.Array, paths: int, width: int, dtype) -> jax.Array:
    """Standard normals (2, paths, 1, width), a Latin hypercube.

    Each path's noise is standard normal; together, a unit's noises visit each of ``paths`` equally
    likely ranges once.  What is a sum over units is then nearly exact, however few the paths.
    """
    shape = (2, paths, 1, width)
    order, place = uniform_pair(key, shape, dtype)
    share = (jnp.argsort(order, axis=1).astype(dtype) + place) / paths
    below_one = np.dtype(dtype).type(1) - np.finfo(dtype).epsneg
    # Behind the barrier: else it would be computed again for every row.
    return jax.lax.optimization_barrier(ndtri(jnp.minimum(share, below_one)))


def last_log_likelihood(theta: Theta, top: jax.Array, y: Seen) -> jax.Array:
    """log N(y; β_L top + γ_L, T_L + β_L Σ_{L-1} β_Lᵀ), (..., N); top = h(v_{L-1}) or x.

    Its mass where y is a window or a choice: exact for one outcome; several count as independent
    given the path, which serves a start but no chain.
    """
    return log_likelihood_of_means(theta, outcome_mean(theta, top), y)


def log_likelihood_of_means(theta: Theta, mean: jax.Array, y: Seen) -> jax.Array:
    """:func:`last_log_likelihood` from β_L top + γ_L, (..., N, Q)."""
    cov = last_covariance(theta)
    if isinstance(y, Window | Logit | Choice):
        return log_seen(mean, jnp.diagonal(cov), y)
    return log_normal_rows(y - mean, cov)


def log_normal_rows(residual: jax.Array, cov: jax.Array) -> jax.Array:
    """log N(residual; 0, cov) of every row, one outcome given those before it.

    Q is small: a loop over outcomes, which differentiates and batches without LAPACK calls.
    """
    total = jnp.zeros(residual.shape[:-1], residual.dtype)
    for _ in range(cov.shape[0]):
        variance, slope = cov[0, 0], cov[1:, 0] / cov[0, 0]
        total -= (residual[..., 0] ** 2 / variance + jnp.log(variance) + LOG_2PI) / 2
        residual = residual[..., 1:] - residual[..., :1] * slope
        cov = cov[1:, 1:] - jnp.outer(slope, cov[0, 1:])
    return total


def path_log_likelihood(
    key: jax.Array, theta: Theta, x, y, h: PiecewiseLinear, paths: int
) -> jax.Array:
    """log mean_r N(y; mean_r, T_L + β_L Σ_{L-1} β_Lᵀ) over noise paths r, for every row: (N,)."""
    log_kernel = last_log_likelihood(theta, path_tops(key, theta, x, h, paths), y)
    return jax.nn.logsumexp(log_kernel, axis=0) - jnp.log(log_kernel.shape[0])
