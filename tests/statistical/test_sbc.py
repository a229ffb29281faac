"""Simulation-based calibration: ranks of true predictive functionals among posterior draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.kernels import Data, GibbsKernel, InterweavedKernel
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh
from deepnoise.model.marginal import last_covariance, path_means
from deepnoise.model.network import sample_prior, simulate

from ..oracle import proper_prior
from ..statistics import rejected, uniform_ranks

SIMULATIONS, WARMUP, KEPT, THIN = 512, 300, 63, 12
WIDTHS = (1, 2, 1)
KERNELS = {
    "gibbs": GibbsKernel(hard_tanh, settle=0),
    "interweaved": InterweavedKernel(hard_tanh, WARMUP, settle=0, lengths=(5,)),
}


def functionals(theta):
    """Predictive mean and sd at a new x, the 5 % point of a path, and the output noise."""
    means = path_means(jax.random.key(0), theta, jnp.array([[0.7]]), hard_tanh, 64)[:, 0, 0]
    variance = last_covariance(theta)[0, 0] + jnp.var(means)
    names = {
        "mean": jnp.mean(means),
        "sd": jnp.sqrt(variance),
        "low path": jnp.quantile(means, 0.05),
        "noise": jnp.log(theta.tau2[-1][0]),
    }
    return names


def ranks(key, kernel):
    """How many kept draws lie below the truth, for one simulated data set."""
    prior = proper_prior(WIDTHS)
    key_truth, key_start, key_rows, key_init, key_run = jax.random.split(key, 5)
    x = jnp.linspace(-1.5, 1.5, 8)[:, None]
    truth, _ = sample_prior(key_truth, prior, WIDTHS, float)
    _, y = simulate(key_rows, truth, x, hard_tanh)
    data = Data(x, y, prior)
    state = kernel.init(key_init, *sample_prior(key_start, prior, WIDTHS, float), data)

    def sweep(t, state):
        return kernel.step(jax.random.fold_in(key_run, t), t, state, data)

    def keep(state, d):
        first = WARMUP + d * THIN
        state = jax.lax.fori_loop(first, first + THIN, sweep, state)
        return state, functionals(kernel.theta(state))

    state = jax.lax.fori_loop(0, WARMUP, sweep, state)
    _, drawn = jax.lax.scan(keep, state, jnp.arange(KEPT))
    return jax.tree.map(lambda draws, true: jnp.sum(draws < true), drawn, functionals(truth))


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_ranks_are_uniform(name, key):
    with numerics():
        run = jax.jit(jax.vmap(lambda k: ranks(k, KERNELS[name])))
        found = {n: np.asarray(r) for n, r in run(jax.random.split(key, SIMULATIONS)).items()}
    assert not rejected(uniform_ranks(found, KEPT)), found
