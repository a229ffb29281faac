"""Algorithm 1: one Gibbs sweep in four blocks, each over all layers at once.

The blocks run in the order variances, v, u, weights: a rotation of the paper's, in which one
forward product m = beta u + gamma serves both the variances and v, and a move that integrates the
prior scales out may come before the sweep.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from ..model import inverse_gamma, piecewise_normal
from ..model.activation import PiecewiseLinear
from ..model.conditionals import (
    noise_given,
    rho2_given,
    sigma2_given,
    tau2_given,
    u_given,
    v_given,
    weight_given,
    weights_given,
    xi2_given,
)
from ..model.gaussian import after, sample_rows, sample_weights
from ..model.network import Latents, Prior, Scales, Theta, pre_activations, sample_scales, simulate
from .streams import SCALES
from .unseen import ALL_SEEN, Unseen


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GibbsState:
    """Everything that a chain redraws; a sweep keeps ``unseen``."""

    theta: Theta
    scales: Scales
    latents: Latents
    unseen: Unseen = ALL_SEEN


def sweep(
    key: jax.Array,
    state: GibbsState,
    x: jax.Array,
    y: jax.Array,
    prior: Prior,
    h: PiecewiseLinear,
    hold: jax.Array | bool = False,
    rows: int | None = None,
    counted: jax.Array | None = None,
) -> GibbsState:
    """One full pass.  ``hold`` keeps Theta and Scales, so that latents can settle on a start.

    ``counted`` as in ``model.conditionals``.
    With ``rows``, only that many random rows get new latents.  Which rows are refreshed does not
    depend on the state, so every such kernel, and hence their mixture, leaves the posterior
    invariant.  Paper: alg:sampling.  Errata: E5, E6, E7.
    """
    key_s, key_v, key_u, key_w, key_rows = jax.random.split(key, 5)
    v, u = state.latents.clamp(x, y)
    old = state.theta
    m = pre_activations(old, u)
    tau2, sigma2, scales = draw_variances(
        key_s, v, u, m, old.beta, old.gamma, state.scales, prior, h, counted
    )
    scales = draw_scales(jax.random.fold_in(key_s, SCALES), tau2, sigma2, scales, prior)
    tau2, sigma2, scales = keep_if(
        hold, (old.tau2, old.sigma2, state.scales), (tau2, sigma2, scales)
    )
    theta = Theta(old.beta, old.gamma, tau2, sigma2)
    if rows is None or rows >= x.shape[0]:
        latents = draw_latents(key_v, key_u, theta, m, v, u, h)
    else:
        chosen = jax.random.permutation(key_rows, x.shape[0])[:rows]
        some = _take((m, v, u), chosen)
        part = draw_latents(key_v, key_u, theta, some[0], some[1], some[2], h)
        latents = jax.tree.map(lambda old, new: old.at[chosen].set(new), state.latents, part)
    settled = after(tau2, latents.u[-1]) if latents.u else tau2
    weights = draw_weights(key_w, *latents.clamp(x, y), settled, scales, counted)
    beta, gamma = keep_if(hold, (old.beta, old.gamma), weights)
    return GibbsState(Theta(beta, gamma, tau2, sigma2), scales, latents, state.unseen)


def draw_weights(key, v, u, tau2, scales: Scales, counted=None):
    """All (beta_l, gamma_l) given u, v."""
    layers = zip(u, v, tau2, scales.rho2, scales.xi2, strict=True)
    return sample_layers(key, [weights_given(*part, counted) for part in layers], tau2)


def sample_layers(key, laws, tau2):
    """(beta, gamma) from the laws of their rows, in the precision of tau2."""
    draws = [w.astype(t.dtype) for w, t in zip(sample_weights(key, laws), tau2, strict=True)]
    return tuple(w[:, :-1] for w in draws), tuple(w[:, -1] for w in draws)


def draw_variances(key, v, u, m, beta, gamma, scales: Scales, prior: Prior, h, counted=None):
    """All tau2, sigma2, rho2 and xi2."""
    laws = prior.given(scales)
    preact = [tau2_given(*part, counted) for part in zip(v, m, laws.preact, strict=True)]
    layers = zip(u[1:], v[:-1], laws.postact, strict=True)
    postact = [sigma2_given(*part, h, counted) for part in layers]
    return sample_variances(key, preact, postact, beta, gamma, scales, prior)


def sample_variances(key, preact, postact, beta, gamma, scales: Scales, prior: Prior):
    """All variances from the laws of tau2 and sigma2, by one merged inverse-gamma sampler."""
    laws = prior.given(scales)
    tau2, sigma2, rho2, xi2 = inverse_gamma.sample_merged(
        key,
        (
            preact,
            postact,
            [rho2_given(*part) for part in zip(beta, laws.weight, strict=True)],
            [xi2_given(*part) for part in zip(gamma, laws.bias, strict=True)],
        ),
    )
    return tau2, sigma2, replace(scales, rho2=rho2, xi2=xi2)


def draw_scales(key, tau2, sigma2, scales: Scales, prior: Prior) -> Scales:
    """The learnt scales given all variances."""
    if prior.noise_scale is None or prior.weight_scale is None:
        return scales
    noise = noise_given(tau2, sigma2, prior, prior.noise_scale)
    parts = zip(prior.scaled_weights(scales.rho2), prior.weight_scale, strict=True)
    weight = [weight_given(*part, law) for part, law in parts]
    (drawn,), drawn_weight = sample_scales(key, [[noise], weight])
    return replace(scales, noise=drawn, weight=drawn_weight)


def draw_latents(key_v, key_u, theta: Theta, m, v, u, h) -> Latents:
    """All v given u, then all u given v; ``v`` and ``u`` are clamped at y and x."""
    new_v = draw_v(key_v, theta, m, u, h)
    return Latents(new_v, draw_u(key_u, theta, (*new_v, v[-1]), h))


def draw_v(key, theta: Theta, m, u, h):
    """All v_0..v_{L-1}, by one piecewise-normal sampler."""
    if theta.L == 0:
        return ()
    layers = zip(m[:-1], u[1:], theta.tau2[:-1], theta.sigma2, strict=True)
    laws = [v_given(mean, u_next, tau2, sigma2, h) for mean, u_next, tau2, sigma2 in layers]
    widths = [law.shape[-1] for law in laws]
    draws = piecewise_normal.sample_apart(key, piecewise_normal.merge(laws))
    return tuple(jnp.split(draws, np.cumsum(widths)[:-1], axis=-1))


def draw_u(key, theta: Theta, v, h):
    """All u_1..u_L, one factorisation a layer for all rows."""
    laws = [
        u_given(
            v[l - 1], v[l], theta.beta[l], theta.gamma[l], theta.tau2[l], theta.sigma2[l - 1], h
        )
        for l in range(1, theta.L + 1)
    ]
    return tuple(sample_rows(key, laws)) if laws else ()


def init(
    key: jax.Array, theta: Theta, scales: Scales, x, h: PiecewiseLinear, unseen: Unseen = ALL_SEEN
) -> GibbsState:
    """A start at a given Theta, its latents simulated forward; sweeps with ``hold`` settle them."""
    return GibbsState(theta, scales, simulate(key, theta, x, h)[0], unseen)


def keep_if(hold, old, new):
    """``old`` while ``hold``, then ``new``."""
    return jax.tree.map(lambda a, b: jnp.where(hold, a, b), old, new)


def _take(tree, rows):
    return jax.tree.map(lambda a: jnp.take(a, rows, axis=0), tree)
