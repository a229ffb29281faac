"""Theorem 3 and its corollary as inequalities on simulated variance."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import leaky_relu
from deepnoise.model.bounds import layer_bounds, simple_variance_bound, variance_bound
from deepnoise.model.network import Theta, pre_activation, simulate

from ..oracle import ACTIVATIONS, WIDTHS, random_model

PATHS = 20_000
CASES = [
    ("L0", "identity"),
    ("L2", "hard_tanh"),
    ("L2", "relu"),
    ("L3", "leaky_relu"),
    ("L1", "tanh"),
]


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


def noise_free(theta: Theta, x, h):
    """g(x): the network without noise."""
    for l in range(theta.L):
        x = h(pre_activation(x, theta.beta[l], theta.gamma[l]))
    return pre_activation(x, theta.beta[-1], theta.gamma[-1])


def spread(key, theta: Theta, h):
    """tr Var(y) + |E y - g|² at one x by simulation, and its Monte Carlo error."""
    x = jnp.ones((1, theta.beta[0].shape[1])) * jnp.linspace(-1, 1, theta.beta[0].shape[1])
    y = simulate(key, theta, jnp.tile(x, (PATHS, 1)), h)[1]
    square = jnp.sum((y - noise_free(theta, x, h)) ** 2, axis=1)
    return jnp.mean(square), jnp.std(square) / np.sqrt(PATHS)


def many_nets(key, widths, h, nets=20):
    """(spread, its error, bounds of the layers, corollary) of random nets, noise of every size."""

    def one(part):
        key, theta = part
        key_noise, key_paths = jax.random.split(key)
        size = jnp.exp(2 * jax.random.normal(key_noise))
        scaled = lambda part: tuple(size * s2 for s2 in part)
        theta = replace(theta, tau2=scaled(theta.tau2), sigma2=scaled(theta.sigma2))
        simple = simple_variance_bound(theta) if theta.L else jnp.inf
        return *spread(key_paths, theta, h), layer_bounds(theta, h), simple

    keys = jax.random.split(key, nets)
    thetas = [random_model(key, widths, h)[0].theta for key in keys]
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *thetas)
    return jax.jit(lambda parts: jax.lax.map(one, parts))((keys, stacked))


@pytest.mark.parametrize(("widths", "h"), CASES)
def test_simulated_variance_is_within_the_bounds(widths, h, key):
    h = ACTIVATIONS[h]
    value, error, layers, simple = many_nets(key, WIDTHS[widths], h)
    bound = layers.sum(axis=1)
    assert (value <= bound + 5 * error).all()
    if h.lipschitz <= 1:
        assert (bound <= simple * (1 + 1e-12)).all()


def test_a_jump_has_no_bound():
    theta = chain_of_single_units()
    assert variance_bound(theta, ACTIVATIONS["jumps"]) == jnp.inf


def chain_of_single_units() -> Theta:
    beta = tuple(jnp.array([[b]]) for b in (0.9, -1.7, 1.3))
    tau2 = tuple(jnp.array([s]) for s in (2.5, 0.3, 0.2))
    return Theta(beta, (jnp.zeros(1),) * 3, tau2, (jnp.array([1.6]), jnp.array([0.4])))


def without_sigma(theta, h):
    zero = tuple(map(jnp.zeros_like, theta.sigma2))
    return variance_bound(replace(theta, sigma2=zero), h)


def norms_not_squared(theta, h):
    return variance_bound(replace(theta, beta=tuple(jnp.sqrt(jnp.abs(b)) for b in theta.beta)), h)


def sigma_of_the_layer_itself(theta, h):
    """σ²_l where σ²_{l-1} belongs, the erratum of Theorem 2 carried over."""
    return variance_bound(replace(theta, sigma2=(*theta.sigma2[1:], jnp.zeros(1))), h)


def without_first_layer(theta, h):
    return jnp.sum(layer_bounds(theta, h)[1:])


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_the_bound_is_reached_and_smaller_ones_fail(slope, key):
    # One unit a layer and a linear h: the bound is the variance, so every smaller bound is wrong.
    h = leaky_relu(1.0)
    h = replace(h, b=(slope, slope))
    theta = chain_of_single_units()
    value, error = jax.jit(spread, static_argnums=2)(key, theta, h)
    assert abs(value - variance_bound(theta, h)) < 5 * error
    for wrong in (without_sigma, norms_not_squared, sigma_of_the_layer_itself, without_first_layer):
        assert value > wrong(theta, h) + 5 * error, wrong.__name__


def test_layers_bound_their_own_noise(key):
    """With the noise of one layer alone, the variance is within that layer's term."""
    h, widths = ACTIVATIONS["hard_tanh"], (3, 4, 2, 2)
    theta = random_model(key, widths, h)[0].theta
    bounds = layer_bounds(theta, h)
    program = jax.jit(spread, static_argnums=2)
    for l in range(theta.L + 1):
        only = lambda part, keep: tuple(
            s2 if k == keep else jnp.zeros_like(s2) for k, s2 in enumerate(part)
        )
        alone = replace(theta, tau2=only(theta.tau2, l), sigma2=only(theta.sigma2, l - 1))
        value, error = program(jax.random.fold_in(key, l), alone, h)
        assert value <= bounds[l] + 5 * error
