"""Small models drawn at random, for tests that compare against the joint density."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from deepnoise.inference.gibbs import GibbsState
from deepnoise.model.activation import (
    approximate,
    hard_sigmoid,
    hard_tanh,
    identity,
    leaky_relu,
    piecewise_linear,
    relu,
)
from deepnoise.model.gamma import Gamma
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.network import Prior, sample_prior, simulate

ACTIVATIONS = {
    "identity": identity,
    "relu": relu,
    "leaky_relu": leaky_relu(0.1),
    "hard_tanh": hard_tanh,
    "hard_sigmoid": hard_sigmoid,
    "tanh": approximate(jnp.tanh, 0.05),
    "jumps": piecewise_linear((0.5, -1.0, 2.0), (0.0, 1.0, -2.0), (-0.7, 0.4)),
}
WIDTHS = {"L0": (3, 2), "L1": (2, 3, 1), "L2": (3, 4, 2, 2), "L3": (1, 2, 3, 2, 1)}


def proper_prior(widths, dtype=float, a=3.0, b=2.0) -> Prior:
    """IG(a, b)-like laws, all different, so that swapping two of them shows."""
    layers = len(widths) - 1
    law = lambda shift, l: InverseGamma(
        jnp.asarray(a + 0.5 * shift, dtype), jnp.asarray(b + 0.3 * shift + 0.1 * l, dtype)
    )
    return Prior(
        weight=tuple(law(0, l) for l in range(layers)),
        bias=tuple(law(1, l) for l in range(layers)),
        preact=tuple(law(2, l) for l in range(layers)),
        postact=tuple(law(3, l) for l in range(layers - 1)),
    )


def with_scales(prior: Prior) -> Prior:
    """The prior with learnt scales, whose laws differ."""
    law = lambda a, rate: Gamma(jnp.asarray(a, float), jnp.asarray(rate, float))
    weight = tuple(law(2.5 + 0.5 * l, 2.0) for l in range(len(prior.weight)))
    return replace(prior, noise_scale=law(3.0, 4.0), weight_scale=weight)


def random_model(key, widths, h, rows=5, dtype=float):
    """(state, x, y, prior): a draw of everything from the model."""
    prior = with_scales(proper_prior(widths, dtype))
    key_x, key_theta, key_rows = jax.random.split(key, 3)
    x = jax.random.normal(key_x, (rows, widths[0]), dtype)
    theta, scales = sample_prior(key_theta, prior, widths, dtype)
    latents, y = simulate(key_rows, theta, x, h)
    return GibbsState(theta, scales, latents), x, y, prior
