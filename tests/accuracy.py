"""Errors of the sampler's matrix algebra on this device against numpy in float64.

Products at reduced precision (TF32 keeps 10 bits) would be off by 1e-3 or so; the limits are a
hundred times below that for float32 and at rounding level for float64.  Imports jax and numpy only:
``benchmarks/gpu.py`` runs it on a GPU.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from deepnoise.inference.runtime import numerics
from deepnoise.model.conditionals import u_given, weights_given
from deepnoise.model.gaussian import inverse_root, sample_rows, sample_weights, scaled_cholesky
from deepnoise.model.network import pre_activation
from deepnoise.model.random import normals


class Check(NamedTuple):
    what: str
    error: float
    limit: float


def checks(rows: int, width: int) -> list[Check]:
    """Errors relative to the largest entry, of ``rows`` latents of ``width`` units a layer."""
    rng = np.random.default_rng(0)
    u, v_prev, v = rng.normal(size=(3, rows, width))
    # A collinear column: float32 Gram matrices would be indefinite.
    u[:, -1] = u[:, 0] + 1e-3 * rng.normal(size=rows)
    beta = rng.normal(size=(width, width)) / np.sqrt(width)
    gamma = rng.normal(size=width)
    tau2, sigma2, xi2 = rng.uniform(0.01, 0.5, size=(3, width))
    rho2 = rng.uniform(0.01, 0.5, size=(width, width))
    rounded = [np.float32(a) for a in (u, v_prev, v, beta, gamma, tau2, sigma2, rho2, xi2)]
    u, v_prev, v, beta, gamma, tau2, sigma2, rho2, xi2 = (a.astype(float) for a in rounded)
    with numerics():
        on = [jnp.asarray(a) for a in rounded]
        return [
            _forward(on, u, beta, gamma),
            *_weights(on, u, v, tau2, rho2, xi2),
            *_post_activations(on, v_prev, v, beta, gamma, tau2, sigma2),
        ]


def _forward(on, u, beta, gamma) -> Check:
    product = jax.jit(pre_activation)(on[0], on[3], on[4])
    return Check("m = u beta' + gamma, float32", _error(product, u @ beta.T + gamma), 1e-5)


def _weights(on, u, v, tau2, rho2, xi2) -> list[Check]:
    law = jax.jit(weights_given)(on[0], on[2], on[5], on[7], on[8])
    u_bar = np.concatenate([u, np.ones((len(u), 1))], axis=1)
    prior = 1 / np.concatenate([rho2, xi2[:, None]], axis=1)
    precision = u_bar.T @ u_bar / tau2[:, None, None] + np.eye(len(prior[0])) * prior[:, None]
    potential = v.T @ u_bar / tau2[:, None]
    scale, factor = (np.asarray(a) for a in jax.jit(scaled_cholesky)(law.precision))
    whole = factor @ factor.swapaxes(1, 2) / scale[:, :, None] / scale[:, None]
    key = jax.random.key(1)
    drawn = jax.jit(lambda key, law: sample_weights(key, [law])[0])(key, law)
    z = np.asarray(normals(key, (potential.size,), np.float64)).reshape(potential.shape)
    mean = np.linalg.solve(precision, potential[..., None])[..., 0]
    root = np.linalg.cholesky(precision)
    expected = mean + np.linalg.solve(root.swapaxes(1, 2), z[..., None])[..., 0]
    return [
        Check("Gram matrices, float64", _error(law.precision, precision), 1e-13),
        Check("cross products, float64", _error(law.potential, potential), 1e-12),
        Check("Cholesky factors of the weights, float64", _error(whole, precision), 1e-11),
        Check("a draw of the weights, float64", _error(drawn, expected), 1e-6),
    ]


def _post_activations(on, v_prev, v, beta, gamma, tau2, sigma2) -> list[Check]:
    def law_of(*parts):
        return u_given(*parts, jnp.tanh)  # type: ignore[arg-type]

    given = on[1], on[2], on[3], on[4], on[5], on[6]

    def mean_of(*parts):
        A, B = (law := law_of(*parts)).whitened()
        return law.mean(A, inverse_root(B)[1]), B, inverse_root(B)[0]

    mean, B, factor = (np.asarray(a) for a in jax.jit(mean_of)(*given))
    key = jax.random.key(2)
    drawn = jax.jit(lambda key, *parts: sample_rows(key, [law_of(*parts)])[0])(key, *given)
    z = np.asarray(normals(key, v.shape, np.float32)).astype(float)
    center = np.asarray(jnp.tanh(on[1])).astype(float)
    precision = (beta.T / tau2) @ beta + np.diag(1 / sigma2)
    expected = np.linalg.solve(
        precision, (beta.T / tau2) @ (v - gamma).T + center.T / sigma2[:, None]
    ).T
    whitened = np.sqrt(sigma2)[:, None] * precision * np.sqrt(sigma2)
    root = np.linalg.inv(np.linalg.cholesky(whitened)) * np.sqrt(sigma2)
    return [
        Check("B of the post-activations, float64", _error(B, whitened), 1e-12),
        Check("Cholesky factor of B, float64", _error(factor @ factor.T, whitened), 1e-11),
        Check("mean of u, float32", _error(mean, expected), 1e-5),
        Check("a draw of u, float32", _error(drawn, expected + z @ root), 1e-5),
    ]


def _error(found, expected) -> float:
    return float(np.abs(np.asarray(found, float) - expected).max() / np.abs(expected).max())
