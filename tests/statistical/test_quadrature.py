"""Tiny nets by brute force: latents given Theta exactly, everything by integrating the joint."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from jax.flatten_util import ravel_pytree

from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.kernels import Data, GibbsKernel, InterweavedKernel, InterweavedState
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh, identity
from deepnoise.model.marginal import last_log_likelihood
from deepnoise.model.network import log_joint, pre_activation, sample_prior, simulate

from ..oracle import ACTIVATIONS, proper_prior, random_model
from ..statistics import rejected, two_sided
from .geweke import fixed_tuning

slow = pytest.mark.slow
KERNELS = (pytest.param("gibbs", marks=slow), pytest.param("interweaved", marks=slow))
CHAINS = 4000
NEVER = 10**6


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


def kernel_of(name: str, h, settle: int):
    if name == "gibbs":
        return GibbsKernel(h, settle)
    return InterweavedKernel(h, warmup=0, settle=settle, lengths=(5,))


def ends(key, kernel, start, data, sweeps: int) -> GibbsState:
    """States of many independent chains after ``sweeps`` steps from ``start``(key)."""

    def one(key):
        key_start, key_chain = jax.random.split(key)
        state = start(key_start)
        if isinstance(kernel, InterweavedKernel):
            state = InterweavedState(state, fixed_tuning(kernel, state))
        step = lambda t, s: kernel.step(jax.random.fold_in(key_chain, t), t, s, data)
        state = jax.lax.fori_loop(0, sweeps, step, state)
        return getattr(state, "gibbs", state)

    return jax.jit(jax.vmap(one))(jax.random.split(key, CHAINS))


def held(key, name: str, state: GibbsState, data, h, sweeps: int = 60):
    """Latents after sweeps that keep Theta, started from the model without y."""
    start = lambda key: replace(state, latents=simulate(key, state.theta, data.x, h)[0])
    return ends(key, kernel_of(name, h, settle=NEVER), start, data, sweeps).latents


@pytest.mark.parametrize("name", KERNELS)
def test_identity_activation_is_gaussian(name, key):
    """log_joint is quadratic in the latents: its Hessian gives their exact law given Theta."""
    state, x, y, prior = random_model(key, (2, 2, 2, 1), identity, 2)
    flat, unravel = ravel_pytree(state.latents)
    energy = lambda z: -log_joint(state.theta, state.scales, unravel(z), x, y, prior, identity)
    precision_matrix = jax.hessian(energy)(flat)
    mean = -jnp.linalg.solve(precision_matrix, jax.grad(energy)(jnp.zeros_like(flat)))
    draws = jax.vmap(lambda a: ravel_pytree(a)[0])(
        held(key, name, state, Data(x, y, prior), identity)
    )
    # Whitened by the precision's own factor, the draws are standard normal.
    whitened = np.asarray((draws - mean) @ np.linalg.cholesky(precision_matrix))
    columns = {str(i): scipy.stats.kstest(c, "norm").pvalue for i, c in enumerate(whitened.T)}
    squares = scipy.stats.kstest((whitened**2).sum(axis=1), "chi2", args=(len(flat),)).pvalue
    assert not rejected(columns | {"squares": squares})


@pytest.mark.parametrize("h", [pytest.param("hard_tanh", marks=slow), "jumps"])
@pytest.mark.parametrize("name", ["gibbs", pytest.param("interweaved", marks=slow)])
def test_latents_against_their_exact_law(name, h, key):
    """One hidden unit: p(v | y) ∝ N(v; m, τ²) p(y | v) on a grid, u a mixture of normals on it."""
    h = ACTIVATIONS[h]
    state, x, y, prior = random_model(key, (1, 1, 1), h, 2)
    theta = jax.tree.map(lambda a: a[:, 0] if a.ndim == 2 else a, state.theta)
    latents = held(key, name, state, Data(x, y, prior), h)
    (b0, b1), (g0, g1), (t0, t1), (s0,) = (
        [float(a[0]) for a in part] for part in (theta.beta, theta.gamma, theta.tau2, theta.sigma2)
    )
    p_values = {}
    for n in range(2):
        m = b0 * float(x[n, 0]) + g0
        v = np.linspace(m - 9 * np.sqrt(t0), m + 9 * np.sqrt(t0), 8001)
        top, outcome = np.asarray(h(v)), float(y[n, 0])
        density = scipy.stats.norm.pdf(v, m, np.sqrt(t0))
        density *= scipy.stats.norm.pdf(outcome, b1 * top + g1, np.sqrt(t1 + b1**2 * s0))
        weight = density / density.sum()
        below = partial(np.interp, xp=v, fp=np.cumsum(weight))
        p_values[f"v {n}"] = scipy.stats.kstest(np.asarray(latents.v[0][:, n, 0]), below).pvalue
        variance = 1 / (b1**2 / t1 + 1 / s0)
        centre = variance * (b1 * (outcome - g1) / t1 + top / s0)
        grid = np.linspace(centre.min() - 9 * np.sqrt(variance), centre.max() + 9, 400)
        cdf = [weight @ scipy.stats.norm.cdf((t - centre) / np.sqrt(variance)) for t in grid]
        below = partial(np.interp, xp=grid, fp=np.array(cdf))
        p_values[f"u {n}"] = scipy.stats.kstest(np.asarray(latents.u[0][:, n, 0]), below).pvalue
    assert not rejected(p_values)


def bounded(theta):
    """Functionals with finite variance under any weights."""
    parts = [jnp.tanh(jnp.concatenate([*map(jnp.ravel, theta.beta), *theta.gamma]))]
    parts += [jnp.log(jnp.concatenate([*theta.tau2, *theta.sigma2]))]
    product = theta.beta[0][0, 0] * theta.beta[1][0, 0]
    return jnp.concatenate([*parts, jnp.tanh(product)[None], jnp.tanh(theta.gamma[1] + product)])


def by_integration(key, x, y, prior, h, count: int = 400_000):
    """(means, errors) of the functionals: prior draws weighted by p(y | Theta), v on a grid."""
    nodes = jnp.linspace(-7, 7, 201)
    log_share = scipy.stats.norm.logpdf(nodes) + np.log(nodes[1] - nodes[0])

    def one(key):
        theta, _ = sample_prior(key, prior, (1, 1, 1), float)
        m = pre_activation(x, theta.beta[0], theta.gamma[0])
        v = m[None] + jnp.sqrt(theta.tau2[0]) * nodes[:, None, None]
        rows = last_log_likelihood(theta, h(v), y[None]) + log_share[:, None]
        return jnp.sum(jax.nn.logsumexp(rows, axis=0)), bounded(theta)

    program = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=2000))
    log_weight, values = map(np.asarray, program(jax.random.split(key, count)))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 10_000, "too few effective draws to judge by"
    means = weight @ values
    return means, np.sqrt(weight**2 @ (values - means) ** 2)


@pytest.mark.parametrize("name", KERNELS)
def test_posterior_of_one_hidden_unit(name, key):
    """All of Theta, L = 1, K = 1, N = 2, against numerical integration."""
    x, y, prior = jnp.array([[-0.8], [1.1]]), jnp.array([[1.5], [-0.4]]), proper_prior((1, 1, 1))
    expected, error = by_integration(key, x, y, prior, hard_tanh)

    def start(key):
        theta, scales = sample_prior(key, prior, (1, 1, 1), float)
        return GibbsState(theta, scales, simulate(key, theta, x, hard_tanh)[0])

    kernel = kernel_of(name, hard_tanh, settle=0)
    state = ends(jax.random.fold_in(key, 1), kernel, start, Data(x, y, prior), sweeps=150)
    values = np.asarray(jax.vmap(bounded)(state.theta))
    z = (values.mean(axis=0) - expected) / np.hypot(error, values.std(axis=0) / np.sqrt(CHAINS))
    assert not rejected({str(i): two_sided(value) for i, value in enumerate(z)})
