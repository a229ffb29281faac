"""Exact identities that every right sweep and move obeys, as numbers that must be zero."""

from contextlib import contextmanager
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from deepnoise.inference import gibbs, interweave
from deepnoise.inference.gibbs import GibbsState
from deepnoise.model import conditionals as given
from deepnoise.model.network import Scales, Theta, log_joint

CONDITIONALS = ("tau2", "sigma2", "rho2", "xi2", "noise", "weight", "v", "u", "weights")


def sweep_residuals(key, state: GibbsState, other: GibbsState, x, y, prior, h):
    """Of each block of the sweep: log law(new) - log law(old) less the same of the joint.

    The laws are those that the sweep itself asks for, so wrong indices show as well; instead of
    what it draws, each block takes its values from ``other``.
    """
    with _recorded(other, state.scales) as laws:
        new = gibbs.sweep(key, state, x, y, prior, h)
    theta = Theta(state.theta.beta, state.theta.gamma, new.theta.tau2, new.theta.sigma2)
    drawn = replace(state.scales, rho2=new.scales.rho2, xi2=new.scales.xi2)
    variances = GibbsState(theta, drawn, state.latents)
    scales = replace(variances, scales=new.scales)
    v = replace(scales, latents=replace(state.latents, v=new.latents.v))
    u = replace(v, latents=new.latents)
    steps = {
        "variances": (state, variances, ("tau2", "sigma2", "rho2", "xi2")),
        "scales": (variances, scales, ("noise", "weight")),
        "v": (scales, v, ("v",)),
        "u": (v, u, ("u",)),
        "weights": (u, new, ("weights",)),
    }
    joint = lambda s: log_joint(s.theta, s.scales, s.latents, x, y, prior, h)
    residuals = {}
    for block, (old, fresh, names) in steps.items():
        change = sum(_log_prob(laws, n, fresh) - _log_prob(laws, n, old) for n in names)
        residuals[block] = change - (joint(fresh) - joint(old))
    return residuals


@contextmanager
def _recorded(other: GibbsState, old: Scales):
    """gibbs with conditionals that keep the laws they return, l by l, and draws from ``other``."""
    theta, laws = other.theta, {name: [] for name in CONDITIONALS}
    keeping = lambda scales: replace(scales, noise=old.noise, weight=old.weight)
    values = {
        "draw_variances": (theta.tau2, theta.sigma2, keeping(other.scales)),
        "draw_scales": other.scales,
        "draw_v": other.latents.v,
        "draw_u": other.latents.u,
        "draw_weights": (theta.beta, theta.gamma),
    }

    def recording(name, right):
        def wrapped(*args):
            laws[name].append(right(*args))
            return laws[name][-1]

        return wrapped

    def answering(value, right):
        def wrapped(*args):
            right(*args)
            return value

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        for name in CONDITIONALS:
            right = getattr(gibbs, f"{name}_given")
            patch.setattr(gibbs, f"{name}_given", recording(name, right))
        for name, value in values.items():
            patch.setattr(gibbs, name, answering(value, getattr(gibbs, name)))
        yield laws


def _log_prob(laws, name: str, state: GibbsState) -> jax.Array:
    theta = state.theta
    joined = [
        jnp.concatenate([beta, gamma[:, None]], 1)
        for beta, gamma in zip(theta.beta, theta.gamma, strict=True)
    ]
    values = {
        "tau2": theta.tau2,
        "sigma2": theta.sigma2,
        "rho2": state.scales.rho2,
        "xi2": state.scales.xi2,
        "noise": [state.scales.noise],
        "weight": state.scales.weight,
        "v": state.latents.v,
        "u": state.latents.u,
        "weights": joined,
    }[name]
    parts = zip(laws[name], values, strict=True)
    return sum((jnp.sum(law.log_prob(value)) for law, value in parts), jnp.zeros(()))


def density_residual(state: GibbsState, other: GibbsState, x, y, prior, h) -> jax.Array:
    """Change of the move's log density from one state's Theta and scales to the other's, less that
    of the joint.

    The joint loses u_L, rho2 and xi2 by p(rest) = p(all) / p(u_L, rho2, xi2 | rest), with the exact
    conditionals, and gains the Jacobians of the noises, of the logs and of the scaled weights.
    """
    noises = interweave.standardise(state.theta, *state.latents.clamp(x, y), h)
    rest = state.scales.rho2, state.scales.xi2

    def expected(theta: Theta, learnt: Scales):
        scales = Scales(*rest, learnt.noise, learnt.weight)
        rebuilt = interweave.rebuild(theta, noises, x, h)
        latents = replace(rebuilt, u=(*rebuilt.u, *state.latents.u[-1:]))
        total = log_joint(theta, scales, latents, x, y, prior, h)
        total -= integrated_out(theta, scales, latents, x, y, prior, h)
        for l in range(theta.L):
            total += len(x) * jnp.sum(jnp.log(theta.tau2[l])) / 2
        for l in range(theta.L - 1):
            total += len(x) * jnp.sum(jnp.log(theta.sigma2[l])) / 2
        scaled = [part.size for part, _ in prior.scaled_weights(theta.beta)]
        for size, scale in zip(scaled, scales.weight, strict=True):
            total += (1 + size / 2) * jnp.log(scale)
        total += jnp.log(scales.noise)
        return total + sum(jnp.sum(jnp.log(s2)) for s2 in (*theta.tau2, *theta.sigma2))

    def actual(theta: Theta, learnt: Scales):
        position = interweave.to_position(theta, learnt, prior.sites)
        return interweave.log_density(position, noises, x, y, prior, h)

    def change(density):
        return density(other.theta, other.scales) - density(state.theta, state.scales)

    return change(actual) - change(expected)


def integrated_out(theta: Theta, scales: Scales, latents, x, y, prior, h) -> jax.Array:
    """log p(u_L, rho2, xi2 | everything else)."""
    v, u = latents.clamp(x, y)
    prior = prior.given(scales)
    total = jnp.zeros(())
    for l in range(theta.L + 1):
        total += jnp.sum(given.rho2_given(theta.beta[l], prior.weight[l]).log_prob(scales.rho2[l]))
        total += jnp.sum(given.xi2_given(theta.gamma[l], prior.bias[l]).log_prob(scales.xi2[l]))
    if theta.L:
        last = given.u_given(
            v[-2], v[-1], theta.beta[-1], theta.gamma[-1], theta.tau2[-1], theta.sigma2[-1], h
        )
        total += jnp.sum(last.log_prob(u[-1]))
    return total


def round_trip_residual(state: GibbsState, x, y, h) -> jax.Array:
    """How far rebuild(standardise(latents)) is from the latents."""
    noises = interweave.standardise(state.theta, *state.latents.clamp(x, y), h)
    rebuilt = interweave.rebuild(state.theta, noises, x, h)
    pairs = [*zip(rebuilt.v, state.latents.v), *zip(rebuilt.u, state.latents.u)]
    return jnp.max(jnp.stack([jnp.max(jnp.abs(a - b)) for a, b in pairs]))
