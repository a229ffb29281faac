"""The law of y given x and Theta: noise paths to v_{L-1}, the last layer integrated (Theorem 2)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri

from .activation import PiecewiseLinear
from .network import LOG_2PI, Theta, pre_activation
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
    return pre_activation(path_tops(key, theta, x, h, paths), theta.beta[-1], theta.gamma[-1])


def path_tops(key: jax.Array, theta: Theta, x, h: PiecewiseLinear, paths: int) -> jax.Array:
    """h(v_{L-1}) for every path and row, (paths, N, K_{L-1}); rows share a path's noise.

    x is (N, P), or (paths, N, P) where it differs from path to path.
    """
    u = x if x.ndim == 3 else x[None]
    for l in range(theta.L):
        e, d = path_noises(jax.random.fold_in(key, l), paths, theta.gamma[l].shape[0], x.dtype)
        v = pre_activation(u, theta.beta[l], theta.gamma[l]) + jnp.sqrt(theta.tau2[l]) * e
        last = l == theta.L - 1
        u = h(v) if last else h(v) + jnp.sqrt(theta.sigma2[l]) * d
    return u


def path_noises(key: jax.Array, paths: int, width: int, dtype) -> jax.Array:
    """Standard normals (2, paths, 1, width) that all rows share, a Latin hypercube.

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
    return log_likelihood_of_means(theta, pre_activation(top, theta.beta[-1], theta.gamma[-1]), y)


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
