"""Chains that start at the truth and chains that start at prior draws end with the same errors.

The test of Piccioli, Troiani and Zdeborová (2024), "Gibbs sampling the posterior of neural
networks", J. Phys. A 57 125002: labels come from a network of the prior, so that the truth is
itself a draw of the posterior; a sampler that does not forget its start is found out.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.kernels import InterweavedKernel
from deepnoise.inference.priors import build_prior
from deepnoise.inference.runtime import numerics
from deepnoise.inference.unseen import Data
from deepnoise.model.activation import hard_tanh
from deepnoise.model.gamma import Gamma
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.marginal import path_means
from deepnoise.model.network import Prior, sample_prior, simulate

NETWORKS, ROWS, WIDTHS = 24, 100, (3, 6, 1)
WARMUP, SWEEPS = 500, 1500


def curved_prior() -> Prior:
    """Learnt scales that prefer large weights and little noise: there is much to learn."""
    usual = build_prior("default", WIDTHS, float)
    large, small = Gamma(jnp.array(8.0), jnp.array(2.0)), Gamma(jnp.array(4.0), jnp.array(400.0))
    last = InverseGamma(jnp.array(4.0), jnp.array(0.04))
    preact = (*usual.preact[:-1], last)
    return replace(usual, preact=preact, noise_scale=small, weight_scale=(large,) * 2)


def errors(key) -> dict[str, jax.Array]:
    """Squared errors of the posterior mean at new rows, from either start, and of no network."""
    prior = curved_prior()
    key_truth, key_x, key_y, key_start, key_init, key_run = jax.random.split(key, 6)
    x = jax.random.normal(key_x, (2 * ROWS, WIDTHS[0]))
    truth = sample_prior(key_truth, prior, WIDTHS, float)
    _, y = simulate(key_y, truth[0], x[:ROWS], hard_tanh)
    data = Data(x[:ROWS], y, prior)
    kernel = InterweavedKernel(hard_tanh, WARMUP, settle=0)

    def mean_of(theta):
        return path_means(key_init, theta, x[ROWS:], hard_tanh, 32).mean(axis=0)[:, 0]

    def predicted(start):
        def sweep(t, carry):
            state, total = carry
            state = kernel.step(jax.random.fold_in(key_run, t), t, state, data)
            return state, total + jnp.where(t < WARMUP, 0, mean_of(kernel.theta(state)))

        first = kernel.init(key_init, *start, data), jnp.zeros(ROWS)
        return jax.lax.fori_loop(0, SWEEPS, sweep, first)[1] / (SWEEPS - WARMUP)

    wanted = mean_of(truth[0])
    start = sample_prior(key_start, prior, WIDTHS, float)
    return {
        "truth": jnp.mean((predicted(truth) - wanted) ** 2),
        "prior draw": jnp.mean((predicted(start) - wanted) ** 2),
        "nothing learnt": jnp.mean((y.mean() - wanted) ** 2),
    }


@pytest.mark.slow
def test_chains_forget_where_they_began(key):
    with numerics():
        found = jax.jit(jax.vmap(errors))(jax.random.split(key, NETWORKS))
    logs = {name: np.log(np.asarray(part)) for name, part in found.items()}
    assert np.mean(logs["nothing learnt"] - logs["prior draw"]) > 1, "there was too little to learn"
    difference = logs["prior draw"] - logs["truth"]
    error = difference.std(ddof=1) / np.sqrt(NETWORKS)
    assert abs(difference.mean()) < 3 * error + 0.02, difference
