"""The ratio identity of every conditional: log law and log_joint differ by a constant."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.model import conditionals as given
from deepnoise.model.network import log_joint, pre_activation

from ..oracle import ACTIVATIONS, WIDTHS, random_model

TOLERANCE = 1e-8


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def swap(parts, l, value):
    return (*parts[:l], value, *parts[l + 1 :])


class Model:
    """One state, and the joint density as a function of one changed part."""

    def __init__(self, key, widths, h, sites=None):
        self.h = h
        self.state, self.x, self.y, self.prior = random_model(key, widths, h, sites=sites)
        self.v, self.u = self.state.latents.clamp(self.x, self.y)
        theta = self.state.theta
        self.m = [pre_activation(*p) for p in zip(self.u, theta.beta, theta.gamma, strict=True)]

    def joint(self, group, name, l, value):
        part = getattr(self.state, group)
        changed = replace(part, **{name: swap(getattr(part, name), l, value)})
        s = replace(self.state, **{group: changed})
        return log_joint(s.theta, s.scales, s.latents, self.x, self.y, self.prior, self.h)

    def check(self, law, group, name, l, old, new, log_prob=None):
        log_prob = log_prob or (lambda value: jnp.sum(law.log_prob(value)))
        expected = self.joint(group, name, l, new) - self.joint(group, name, l, old)
        np.testing.assert_allclose(
            log_prob(new) - log_prob(old), expected, rtol=TOLERANCE, atol=TOLERANCE
        )


CASES = [("L2", name) for name in ACTIVATIONS] + [(w, "jumps") for w in WIDTHS if w != "L2"]
CASES += [("L2", "jumps", "sites"), ("L0", "hard_tanh", "sites")]
SITES = (False, True, True)


@pytest.fixture(params=CASES, ids="-".join)
def model(request, key):
    widths, activation, *sites = request.param
    return Model(key, WIDTHS[widths], ACTIVATIONS[activation], SITES if sites else None)


def test_v_given(model, key):
    theta = model.state.theta
    for l in range(theta.L):
        law = given.v_given(model.m[l], model.u[l + 1], theta.tau2[l], theta.sigma2[l], model.h)
        new = model.v[l] + jax.random.normal(key, model.v[l].shape)
        model.check(law, "latents", "v", l, model.v[l], new)


def test_u_given(model, key):
    theta = model.state.theta
    for l in range(1, theta.L + 1):
        law = given.u_given(
            model.v[l - 1],
            model.v[l],
            theta.beta[l],
            theta.gamma[l],
            theta.tau2[l],
            theta.sigma2[l - 1],
            model.h,
        )
        new = model.u[l] + jax.random.normal(key, model.u[l].shape)
        model.check(law, "latents", "u", l - 1, model.u[l], new)


def test_weights_given(model, key):
    theta, scales = model.state.theta, model.state.scales
    for l in range(theta.L + 1):
        law = given.weights_given(
            model.u[l], model.v[l], theta.tau2[l], scales.rho2[l], scales.xi2[l]
        )
        beta, gamma = theta.beta[l], theta.gamma[l]

        def of_beta(value, law=law, gamma=gamma):
            return jnp.sum(law.log_prob(jnp.concatenate([value, gamma[:, None]], 1)))

        def of_gamma(value, law=law, beta=beta):
            return jnp.sum(law.log_prob(jnp.concatenate([beta, value[:, None]], 1)))

        other_beta = beta + jax.random.normal(key, beta.shape)
        other_gamma = gamma + jax.random.normal(key, gamma.shape)
        model.check(law, "theta", "beta", l, beta, other_beta, of_beta)
        model.check(law, "theta", "gamma", l, gamma, other_gamma, of_gamma)


def test_variances_given(model, key):
    theta, prior = model.state.theta, model.prior.given(model.state.scales)
    for l in range(theta.L + 1):
        laws = {
            ("theta", "tau2"): given.tau2_given(model.v[l], model.m[l], prior.preact[l]),
            ("scales", "rho2"): given.rho2_given(theta.beta[l], prior.weight[l]),
            ("scales", "xi2"): given.xi2_given(theta.gamma[l], prior.bias[l]),
        }
        if l < theta.L:
            laws["theta", "sigma2"] = given.sigma2_given(
                model.u[l + 1], model.v[l], prior.postact[l], model.h
            )
        for (group, name), law in laws.items():
            old = getattr(getattr(model.state, group), name)[l]
            new = old * jnp.exp(jax.random.normal(key, old.shape))
            model.check(law, group, name, l, old, new)


def test_scales_given(model, key):
    """The scale of all hidden noise, and that of each layer's weights."""
    theta, scales, prior = model.state.theta, model.state.scales, model.prior
    factor = jnp.exp(jax.random.normal(key))
    law = given.noise_given(theta.tau2, theta.sigma2, prior, prior.noise_scale)
    new = factor * scales.noise
    changed = log_joint_with(model, replace(scales, noise=new)) - log_joint_with(model, scales)
    assert abs(law.log_prob(new) - law.log_prob(scales.noise) - changed) < TOLERANCE
    scaled = prior.scaled_weights(scales.rho2)
    for l, old in enumerate(scales.weight):
        law = given.weight_given(*scaled[l], prior.weight_scale[l])
        model.check(law, "scales", "weight", l, old, factor * old)


def log_joint_with(model, scales):
    s = model.state
    return log_joint(s.theta, scales, s.latents, model.x, model.y, model.prior, model.h)
