"""Agreement with blackjax's NUTS on the marginal model of a network with one hidden layer."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference import interweave
from deepnoise.inference.diagnostics import diagnose
from deepnoise.inference.interweave import Noises
from deepnoise.inference.posterior import Plan
from deepnoise.inference.priors import PriorSpec, build_prior
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh
from deepnoise.model.marginal import last_covariance, path_means
from deepnoise.model.network import sample_prior

from ..inference.fits import fit
from ..statistics import mcse

SPEC = PriorSpec(weight=(3.0, 2.0), bias=(3.0, 2.0), preact=(3.0, 1.0), postact=(3.0, 1.0))
WIDTHS = (1, 2, 1)
RNG = np.random.default_rng(0)
X = np.linspace(-1.5, 1.5, 20)[:, None]
Y = np.tanh(2 * X) + 0.3 * RNG.normal(size=X.shape)
CHAINS = 4


def functionals(theta):
    means = path_means(jax.random.key(0), theta, jnp.array([[-1.0], [0.5]]), hard_tanh, 64)[..., 0]
    sd = jnp.sqrt(last_covariance(theta)[0, 0] + jnp.var(means, axis=0))
    return jnp.concatenate([jnp.mean(means, axis=0), jnp.log(sd)])


def by_nuts(key, spec) -> np.ndarray:
    """(functional, chain, draw) from Theta and the standardised noises e, u_L integrated out."""
    prior = build_prior(spec, WIDTHS, float)

    def log_density(position):
        theta, e = position
        inner = interweave.log_density(theta, Noises((e,), ()), X, Y, prior, hard_tanh)
        return inner - jnp.sum(e**2) / 2

    def one_chain(key):
        key_start, key_noise, key_warm, key_run = jax.random.split(key, 4)
        theta, scales = sample_prior(key_start, prior, WIDTHS, float)
        start = interweave.to_position(theta, scales), jax.random.normal(key_noise, (2, len(X)))
        warm = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, tuned), _ = warm.run(key_warm, start, 1000)
        step = blackjax.nuts(log_density, **tuned).step

        def draw(state, key):
            state, _ = step(key, state)
            return state, functionals(interweave.from_position(state.position[0], scales)[0])

        return jax.lax.scan(draw, state, jax.random.split(key_run, 2500))[1]

    return np.asarray(jax.jit(jax.vmap(one_chain))(jax.random.split(key, CHAINS))).transpose(
        2, 0, 1
    )


def by_gibbs(sampler: str, spec) -> np.ndarray:
    plan = Plan((2,), hard_tanh, 0, spec, CHAINS, 1000, 2500, 4, "prior", sampler, "float64")
    draws = fit(plan, X, Y).draws
    return np.asarray(jax.jit(jax.vmap(jax.vmap(functionals)))(draws)).transpose(2, 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [SPEC, "default"], ids=["fixed", "learnt"])
@pytest.mark.parametrize("sampler", ["gibbs", "interweaved"])
def test_same_posterior_as_nuts(sampler, spec, key):
    with numerics():
        expected, found = by_nuts(key, spec), by_gibbs(sampler, spec)
    assert diagnose({str(i): v for i, v in enumerate(expected)}).max_rhat < 1.05
    for theirs, ours in zip(expected, found, strict=True):
        error = np.hypot(mcse(theirs), mcse(ours))
        assert abs(theirs.mean() - ours.mean()) < 4 * error
        ratio = np.log(theirs.std() / ours.std())
        assert abs(ratio) < 0.25, "the spread of a functional differs by a quarter"
