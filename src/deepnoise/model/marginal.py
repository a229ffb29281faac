"""The law of y given x and Theta: noise paths to v_{L-1}, the last layer integrated (Theorem 2)."""

import jax
import jax.numpy as jnp

from .activation import PiecewiseLinear
from .network import LOG_2PI, Theta, pre_activation
from .random import normals


def last_covariance(theta: Theta) -> jax.Array:
    """T_L + β_L Σ_{L-1} β_Lᵀ, the covariance of y given v_{L-1}.

    Paper: thm:predictive-density.  Erratum: E4.
    """
    noise = jnp.diag(theta.tau2[-1])
    if theta.L == 0:
        return noise
    return noise + (theta.beta[-1] * theta.sigma2[-1]) @ theta.beta[-1].T


def path_means(key: jax.Array, theta: Theta, x, h: PiecewiseLinear, paths: int) -> jax.Array:
    """β_L h(v_{L-1}) + γ_L for every path and row, (paths, N, Q); rows share a path's noise."""
    u = x[None]
    for l in range(theta.L):
        e, d = normals(jax.random.fold_in(key, l), (2, paths, 1, theta.gamma[l].shape[0]), x.dtype)
        v = pre_activation(u, theta.beta[l], theta.gamma[l]) + jnp.sqrt(theta.tau2[l]) * e
        last = l == theta.L - 1
        u = h(v) if last else h(v) + jnp.sqrt(theta.sigma2[l]) * d
    return pre_activation(u, theta.beta[-1], theta.gamma[-1])


def path_log_likelihood(
    key: jax.Array, theta: Theta, x, y, h: PiecewiseLinear, paths: int
) -> jax.Array:
    """log mean_r N(y; mean_r, T_L + β_L Σ_{L-1} β_Lᵀ) over noise paths r, for every row: (N,)."""
    residual = y - path_means(key, theta, x, h, paths)
    factor = jnp.linalg.cholesky(last_covariance(theta))
    standard = residual @ jnp.linalg.inv(factor).T
    log_norm = jnp.sum(jnp.log(jnp.diagonal(factor))) + y.shape[1] * LOG_2PI / 2
    log_kernel = -jnp.sum(standard**2, -1) / 2
    return jax.nn.logsumexp(log_kernel, axis=0) - jnp.log(residual.shape[0]) - log_norm
