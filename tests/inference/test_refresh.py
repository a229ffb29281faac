"""Refreshed noise paths reach the exact conditional of v, across modes too far for Gibbs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from deepnoise.inference.interweave import rebuild
from deepnoise.inference.refresh import draw_noises, refresh
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh
from deepnoise.model.network import Latents, Theta

from ..statistics import ALPHA

ROWS = 20_000


def two_modes() -> Theta:
    """A noisy switch: v ~ N(x, 4), u = h(v) + N(0, 0.02), y ~ N(u, 0.03)."""
    arrays = lambda *values: tuple(jnp.asarray(value, float) for value in values)
    return Theta(
        beta=arrays([[1.0]], [[1.0]]),
        gamma=arrays([0.0], [0.0]),
        tau2=arrays([4.0], [0.03]),
        sigma2=arrays([0.02]),
    )


def conditional_cdf(x: float, y: float):
    """cdf of v given y by quadrature: p(v | y) ∝ N(v; x, 4) N(y; h(v), 0.05)."""
    v = np.linspace(-20, 20, 400_001)
    log_p = -((v - x) ** 2) / 8 - (y - np.clip(v, -1, 1)) ** 2 / 0.1
    mass = np.cumsum(np.exp(log_p - log_p.max()))
    return lambda value: np.interp(value, v, mass / mass[-1])


@pytest.mark.parametrize("y", [1.0, 0.2])
def test_law_of_v(key, y):
    with numerics():
        theta = two_modes()
        x, target = jnp.full((ROWS, 1), 0.3), jnp.full((ROWS, 1), y)
        wrong_mode = Latents((jnp.full((ROWS, 1), -3.0),), ())

        def step(latents, key):
            return refresh(key, theta, latents, x, target, hard_tanh, tries=4)[0], None

        latents, _ = jax.lax.scan(step, wrong_mode, jax.random.split(key, 60))
        p = kstest(np.asarray(latents.v[0][:, 0]), conditional_cdf(0.3, y)).pvalue
    assert p > ALPHA


def test_fresh_paths_follow_the_model(key):
    with numerics():
        theta = two_modes()
        paths = rebuild(theta, draw_noises(key, theta, ROWS), jnp.full((ROWS, 1), 0.3), hard_tanh)
        p = kstest(np.asarray(paths.v[0][:, 0]), "norm", args=(0.3, 2.0)).pvalue
    assert p > ALPHA


def test_without_tries_nothing_moves(key):
    with numerics():
        latents = Latents((jnp.ones((3, 1)),), ())
        same, _ = refresh(
            key, two_modes(), latents, jnp.ones((3, 1)), jnp.ones((3, 1)), hard_tanh, 0
        )
    assert same is latents
