"""Small models drawn at random, for tests that compare against the joint density."""

from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

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
from deepnoise.model.network import Latents, Prior, Scales, Theta

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


def with_scales(prior: Prior, sites=None) -> Prior:
    """The prior with learnt scales, whose laws differ; weights of sites also by their input."""
    law = lambda a, rate: Gamma(jnp.asarray(a, float), jnp.asarray(rate, float))
    weight = tuple(law(2.5 + 0.5 * l, 2.0) for l in range(len(prior.weight)))
    prior = replace(prior, noise_scale=law(3.0, 4.0), weight_scale=weight)
    if sites is None:
        return prior
    first = prior.weight[0]
    b = first.b * (1 + 0.3 * jnp.arange(len(sites), dtype=first.b.dtype))
    return replace(
        prior,
        weight=(InverseGamma(first.a, b), *prior.weight[1:]),
        weight_scale=(*weight, law(3.5, 1.5)),
        sites=tuple(sites),
    )


def random_model(key, widths, h, rows=5, dtype=float, sites=None):
    """(state, x, y, prior): a draw of everything from the model; NumPy compiles nothing."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    prior = with_scales(proper_prior(widths, dtype), sites)
    gamma_law = lambda law: rng.gamma(law.a) / law.rate
    noise, weight = gamma_law(prior.noise_scale), tuple(map(gamma_law, prior.weight_scale))
    laws = prior.given(Scales((), (), noise, weight))
    variances = lambda law, *shape: np.asarray(law.b) / rng.gamma(law.a, size=shape)
    scaled = lambda s2: np.sqrt(s2) * rng.normal(size=s2.shape)
    fan = list(enumerate(pairwise(widths)))
    rho2 = tuple(variances(laws.weight[l], out, fan_in) for l, (fan_in, out) in fan)
    xi2 = tuple(variances(laws.bias[l], out) for l, (_, out) in fan)
    tau2 = tuple(variances(laws.preact[l], out) for l, (_, out) in fan)
    sigma2 = tuple(variances(laws.postact[l], out) for l, (_, out) in fan[:-1])
    theta = Theta(tuple(map(scaled, rho2)), tuple(map(scaled, xi2)), tau2, sigma2)
    x = rng.normal(size=(rows, widths[0]))
    v, u = [], [x]
    for l in range(theta.L + 1):
        m = u[l] @ theta.beta[l].T + theta.gamma[l]
        v.append(m + scaled(np.broadcast_to(tau2[l], m.shape)))
        if l < theta.L:
            u.append(value_of(h, v[l]) + scaled(np.broadcast_to(sigma2[l], m.shape)))
    latents = Latents(tuple(v[:-1]), tuple(u[1:]))
    state = GibbsState(theta, Scales(rho2, xi2, noise, weight), latents)
    return *jax.tree.map(lambda a: jnp.asarray(a, dtype), (state, x, v[-1])), prior


def value_of(h, t):
    """h(t), by NumPy."""
    j = np.searchsorted(h.c, t, side="right")
    return np.array(h.b)[j] * t + np.array(h.b_prime)[j]
