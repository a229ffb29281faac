"""The weights of a site that came later, given some of its rows and all else as it was drawn.

A cut posterior: each draw of the other parameters stays as the first data left it.  Given one, the
weights w (K_0,) of the new input are drawn by turns with the latents of the new rows: an elliptical
slice (Murray, Adams and MacKay 2010) while the standardised noises stay and u_L is integrated out,
fresh noise paths, and a Gibbs sweep of the latents and of w.  Each leaves their law invariant.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.conditionals import rho2_given, weight_given, weights_given_sums
from ..model.gamma import Gamma
from ..model.inverse_gamma import InverseGamma
from ..model.network import Theta, pre_activation, pre_activations, sample_scales
from ..model.random import normals
from . import gibbs, interweave
from .priors import build_prior
from .refresh import draw_noises, refresh

TRIES = 4
# Rows at most, times draws of Theta, whose latents are drawn side by side.
TOGETHER = 100_000
# Sweeps of a scale given weights, from a start near it; an interval that has shrunk so often is
# a point.
SCALE_SWEEPS, MOST_CUTS = 30, 60


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SiteLaw:
    """The law of weights of sites whose scale is 1, and of the scale."""

    weight: InverseGamma
    scale: Gamma


def site_law(widths: tuple[int, ...], sites: tuple[int, int]) -> SiteLaw:
    """Those of the default prior."""
    prior = build_prior("default", widths, float, sites=sites)
    first, scale = prior.weight[0], (prior.weight_scale or ())[-1]
    return SiteLaw(InverseGamma(first.a, first.b[sites[0]]), scale)


def draw_scale(key: jax.Array, beta: jax.Array, law: SiteLaw) -> jax.Array:
    """How much sites differ given the weights (K_0, S) of all: s, with ρ² drawn beside it."""

    def sweep(t, s):
        key_rho, key_s = jax.random.split(jax.random.fold_in(key, t))
        rho2 = rho2_given(beta, _whole(law.weight.scaled(s), beta.shape)).sample(key_rho)
        ((s,),) = sample_scales(key_s, [[weight_given(rho2, law.weight, law.scale)]])
        return s

    return jax.lax.fori_loop(0, SCALE_SWEEPS, sweep, jnp.mean(beta**2))


def _whole(law: InverseGamma, shape) -> InverseGamma:
    return InverseGamma(law.a, jnp.broadcast_to(law.b, shape))


@partial(jax.jit, static_argnums=(6, 7, 8))
def draw_weights(
    keys: jax.Array,
    draws: Theta,
    x: jax.Array,
    y: jax.Array,
    law: SiteLaw,
    prior_columns: jax.Array,
    column: int,
    sweeps: int,
    h: PiecewiseLinear,
) -> jax.Array:
    """Weights (M, K_0) of input ``column`` given rows x, y of its site, one draw after another.

    ``prior_columns`` are the numbers of the inputs that are sites.
    """

    def one(part):
        key, theta = part
        key_scale, key_start, key_sweeps = jax.random.split(key, 3)
        s = draw_scale(key_scale, theta.beta[0][:, prior_columns], law)
        noises = draw_noises(key_start, theta, len(x)) if theta.L else interweave.Noises((), ())
        first = theta.beta[0][:, column], jnp.full(theta.gamma[0].shape, s), noises

        def step(t, state):
            return sweep(jax.random.fold_in(key_sweeps, t), state, theta, x, y, law, s, column, h)

        return jax.lax.fori_loop(0, sweeps, step, first)[0]

    count = len(keys)
    most = max(TOGETHER // len(x), 1)
    together = max(size for size in range(1, min(most, count) + 1) if count % size == 0)
    return jax.lax.map(one, (keys, draws), batch_size=together)


def sweep(key, state, theta: Theta, x, y, law: SiteLaw, s, column: int, h: PiecewiseLinear):
    """(w, ρ², noises) once more, given Theta less w and the scale s."""
    key_slice, key_path, key_last, key_v, key_u, key_w, key_rho = jax.random.split(key, 7)
    w, rho2, noises = state

    def with_weights(w):
        beta = theta.beta[0].at[:, column].set(w)
        return replace(theta, beta=(beta, *theta.beta[1:]))

    def log_density(w):
        return interweave.log_likelihood(with_weights(w), noises, x, y, h)

    w = elliptical_slice(key_slice, w, jnp.sqrt(rho2), log_density)
    now = with_weights(w)
    paths = refresh(key_path, now, noises, x, y, h, TRIES)[0]
    latents = interweave.redraw_last(key_last, now, paths, y, h)
    v, u = latents.clamp(x, y)
    m = pre_activations(now, u)
    latents = gibbs.draw_latents(key_v, key_u, now, m, v, u, h)
    v, u = latents.clamp(x, y)
    # All rows are of this site: its weights are a bias beside what the other inputs give.
    rest = v[0] - pre_activation(u[0], now.beta[0].at[:, column].set(0.0), now.gamma[0])
    rows, total = jnp.full((1, 1), float(len(x))), jnp.sum(rest, axis=0)[:, None]
    given = weights_given_sums(rows, total, now.tau2[0], jnp.zeros((len(w), 0)), rho2)
    spread = given.precision[:, 0, 0]
    w = given.potential[:, 0] / spread + normals(key_w, w.shape, w.dtype) / jnp.sqrt(spread)
    rho2 = rho2_given(w, _whole(law.weight.scaled(s), w.shape)).sample(key_rho)
    return w, rho2, interweave.standardise(with_weights(w), v, u, h)


def elliptical_slice(
    key: jax.Array, w: jax.Array, sd: jax.Array, log_density: Callable[[jax.Array], jax.Array]
) -> jax.Array:
    """One move that leaves N(w; 0, sd²) exp(log_density(w)) invariant."""
    key_other, key_height, key_angle = jax.random.split(key, 3)
    other = sd * normals(key_other, w.shape, w.dtype)
    height = log_density(w) + jnp.log(jax.random.uniform(key_height, (), w.dtype))

    def at(angle):
        return w * jnp.cos(angle) + other * jnp.sin(angle)

    def outside(state):
        cuts, angle, _, _ = state
        return (cuts < MOST_CUTS) & (log_density(at(angle)) <= height)

    def cut(state):
        cuts, angle, low, high = state
        low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
        u = jax.random.uniform(jax.random.fold_in(key_angle, cuts), (), w.dtype)
        return cuts + 1, low + u * (high - low), low, high

    turn = 2 * np.pi
    angle = turn * jax.random.uniform(jax.random.fold_in(key_angle, MOST_CUTS), (), w.dtype)
    cuts, angle, _, _ = jax.lax.while_loop(outside, cut, (0, angle, angle - turn, angle))
    return jnp.where(cuts < MOST_CUTS, at(angle), w)
