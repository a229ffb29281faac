"""Refreshed noise paths reach the exact conditional of v, across modes too far for Gibbs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from deepnoise.inference import refresh as module
from deepnoise.inference.interweave import rebuild, standardise
from deepnoise.inference.refresh import draw_noises, refresh, turned
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


@pytest.mark.parametrize(("y", "turn"), [(1.0, 1.0), (0.2, 1.0), (0.2, 0.5)])
def test_law_of_v(key, y, turn, monkeypatch):
    """Points that go half round the ellipse only are another set from each of them."""
    monkeypatch.setattr(module, "turned", lambda z, new, angle: turned(z, new, turn * angle))
    with numerics():
        theta = two_modes()
        x, target = jnp.full((ROWS, 1), 0.3), jnp.full((ROWS, 1), y)
        wrong_mode = Latents((jnp.full((ROWS, 1), -3.0),), (jnp.zeros((ROWS, 1)),))

        def step(latents, key):
            noises = standardise(theta, *latents.clamp(x, target), hard_tanh)
            paths = refresh(key, theta, noises, x, target, hard_tanh, tries=4)[0]
            return Latents(paths.v, latents.u), None

        latents, _ = jax.lax.scan(step, wrong_mode, jax.random.split(key, 60))
        p = kstest(np.asarray(latents.v[0][:, 0]), conditional_cdf(0.3, y)).pvalue
    assert (p > ALPHA) == (turn == 1)


def test_fresh_paths_follow_the_model(key):
    with numerics():
        theta = two_modes()
        paths = rebuild(theta, draw_noises(key, theta, ROWS), jnp.full((ROWS, 1), 0.3), hard_tanh)
        p = kstest(np.asarray(paths.v[0][:, 0]), "norm", args=(0.3, 2.0)).pvalue
    assert p > ALPHA


def test_without_tries_nothing_moves(key):
    with numerics():
        theta, x = two_modes(), jnp.ones((3, 1))
        noises = draw_noises(key, theta, 3)
        same, _ = refresh(key, theta, noises, x, jnp.ones((3, 1)), hard_tanh, 0)
        now = rebuild(theta, noises, x, hard_tanh)
    jax.tree.map(np.testing.assert_array_equal, same, now)


def test_the_points_of_an_ellipse_are_the_same_from_each_of_them(key):
    """The choice among them is then a draw given the set, whichever point is the present one."""
    with numerics():
        theta, tries = two_modes(), 4
        z, fresh = (draw_noises(k, theta, 5) for k in jax.random.split(key))
        angles = [2 * np.pi * i / (tries + 1) for i in range(tries + 1)]
        seen = [turned(z, fresh, a).e[0] for a in angles]
        # From the second point, beside which the fresh noises have turned as well.
        again = turned(z, fresh, angles[1]), turned(z, fresh, angles[1] + np.pi / 2)
        moved = [turned(*again, a).e[0] for a in angles]
    np.testing.assert_allclose(moved, seen[1:] + seen[:1], atol=1e-12)
