"""The non-centred move: Theta moves while the standardised noises stay, between Gibbs sweeps.

Given e_l = (v_l - m_l)/τ_l (l < L) and d_l = (u_{l+1} - h(v_l))/σ_l (l < L-1), the latents are a
function of Theta.  Hamiltonian dynamics on (β, γ, log τ², log σ²) target their law given (e, d, y)
with u_L and the prior scales ρ², ξ² integrated out; u_L is then redrawn here and ρ², ξ² by the
sweep that follows, before anything conditions on them.  Partially collapsed, interweaved: the
posterior stays invariant.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp

from ..model.activation import PiecewiseLinear
from ..model.conditionals import u_given
from ..model.gamma import Gamma
from ..model.gaussian import sample_rows
from ..model.inverse_gamma import InverseGamma
from ..model.marginal import log_likelihood_of_means
from ..model.network import (
    Arrays,
    Latents,
    Prior,
    Scales,
    Theta,
    by_layer,
    forward,
    pre_activations,
)
from ..model.outcome import Seen

# Which inputs are sites, as in ``Prior``.
Sites = tuple[bool, ...] | None


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Noises:
    """Standardised noises: e[l] before activation l (l < L), d[l] after it (l < L-1); (K_l, N).

    Rows are on the last axis: there products and their gradients run along memory, which saves a
    third of the time of the move on a CPU.
    """

    e: Arrays
    d: Arrays


def standardise(theta: Theta, v: Arrays, u: Arrays, h: PiecewiseLinear) -> Noises:
    """(e, d) of the clamped latents v_0..v_L, u_0..u_L."""
    m = pre_activations(theta, u)
    e = tuple(((v[l] - m[l]) / jnp.sqrt(theta.tau2[l])).T for l in range(theta.L))
    d = tuple(((u[l + 1] - h(v[l])) / jnp.sqrt(theta.sigma2[l])).T for l in range(theta.L - 1))
    # Behind the barrier: else every step of the move would compute them again.
    return jax.lax.optimization_barrier(Noises(e, d))


def rebuild(theta: Theta, noises: Noises, x: jax.Array, h: PiecewiseLinear) -> Latents:
    """v_0..v_{L-1} and u_1..u_{L-1} that Theta and the noises imply."""
    return forward(theta, x, [e.T for e in noises.e], [d.T for d in noises.d], h)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Position:
    """The coordinates of the move: log variances and weights in units of the learnt scales, whose
    logs are coordinates too.  Non-centred: a scale moves everything that it scales.
    """

    theta: Theta
    noise: jax.Array | None = None
    weight: Arrays | None = None


def to_position(theta: Theta, scales: Scales, sites: Sites = None) -> Position:
    log = lambda variances: tuple(jnp.log(s2) for s2 in variances)  # noqa: E731
    moved = Theta(theta.beta, theta.gamma, log(theta.tau2), log(theta.sigma2))
    noise, weight = jax.tree.map(jnp.log, (scales.noise, scales.weight))
    return Position(_rescaled(moved, noise, weight, sites, -1), noise, weight)


def from_position(position: Position, scales: Scales, sites: Sites = None) -> tuple[Theta, Scales]:
    """Theta and ``scales`` with the learnt ones of the position."""
    moved = _rescaled(position.theta, position.noise, position.weight, sites, 1)
    noise, weight = jax.tree.map(jnp.exp, (position.noise, position.weight))
    return exp_variances(moved), replace(scales, noise=noise, weight=weight)


def exp_variances(position: Theta) -> Theta:
    """Theta from one that holds log variances."""
    exp = lambda logs: tuple(jnp.exp(log) for log in logs)  # noqa: E731
    return Theta(position.beta, position.gamma, exp(position.tau2), exp(position.sigma2))


def _rescaled(theta: Theta, noise, weight, sites: Sites, sign: int) -> Theta:
    """Log variances and weights times (sign = 1) or divided by (-1) the scales of these logs."""
    if noise is not None:
        *hidden, last = theta.tau2
        tau2 = (*(log + sign * noise for log in hidden), last)
        theta = replace(theta, tau2=tau2, sigma2=tuple(log + sign * noise for log in theta.sigma2))
    if weight is not None:
        parts = zip(theta.beta, by_layer(weight, sites), strict=True)
        beta = tuple(beta * jnp.exp(sign * log / 2) for beta, log in parts)
        theta = replace(theta, beta=beta)
    return theta


def log_density(
    position: Position,
    noises: Noises,
    x: jax.Array,
    y: Seen,
    prior: Prior,
    h: PiecewiseLinear,
    counted: jax.Array | None = None,
    block: int = 0,
) -> jax.Array:
    """log p(position, y | e, d), u_L, ρ² and ξ² integrated out, up to a constant.

    ``counted`` as in ``model.conditionals``; ``block`` rows at a time, 0 for all.
    """
    theta = from_position(position, Scales((), ()), prior.sites)[0]
    if 0 < block < len(x):
        rows = log_likelihood_by_blocks(theta, noises, x, y, h, counted, block)
    else:
        rows = log_likelihood(theta, noises, x, y, h, counted)
    return rows + log_prior(position, prior)


def log_prior(position: Position, prior: Prior) -> jax.Array:
    """log p(position) with ρ² and ξ² integrated out, up to a constant."""
    theta = position.theta
    weights = _joined((*theta.beta, *theta.gamma), (*prior.weight, *prior.bias))
    variances = _joined((*theta.tau2, *theta.sigma2), (*prior.preact, *prior.postact))
    total = log_scale_mixture(*weights) + _log_variance(*variances)
    if position.noise is not None and prior.noise_scale is not None:
        total += _log_scale(position.noise, prior.noise_scale)
    for log_s, law in zip(position.weight or (), prior.weight_scale or (), strict=True):
        total += _log_scale(log_s, law)
    return total


def _joined(arrays: Arrays, laws: tuple[InverseGamma, ...]) -> tuple[jax.Array, InverseGamma]:
    """All entries on one axis, and their laws: few large operations instead of many small ones."""
    parts = list(zip(arrays, laws, strict=True))
    a, b = (
        jnp.concatenate([jnp.broadcast_to(getattr(law, name), x.shape).ravel() for x, law in parts])
        for name in ("a", "b")
    )
    return jnp.concatenate([x.ravel() for x in arrays]), InverseGamma(a, b)


def _log_scale(log_s, law: Gamma) -> jax.Array:
    """log Gamma(s) + log s (the Jacobian of the log scale) up to a constant."""
    return law.a * log_s - law.rate * jnp.exp(log_s)


def log_likelihood(
    theta: Theta, noises: Noises, x, y: Seen, h: PiecewiseLinear, counted=None
) -> jax.Array:
    """log N(y; β_L h(v_{L-1}) + γ_L, T_L + β_L Σ_{L-1} β_Lᵀ), or its mass, summed over rows.

    The pass of ``network.forward``, here with rows on the last axis: see :class:`Noises`.
    """
    # Behind the barrier: else exp of a few variances would be computed again for every row.
    sd = jax.lax.optimization_barrier(jax.tree.map(jnp.sqrt, (theta.tau2, theta.sigma2)))
    u = x.T
    for l in range(theta.L):
        m = _product(theta.beta[l], u) + theta.gamma[l][:, None]
        u = h(m + sd[0][l][:, None] * noises.e[l])
        if l < theta.L - 1:
            u = u + sd[1][l][:, None] * noises.d[l]
    mean = (theta.beta[-1] @ u + theta.gamma[-1][:, None]).T
    rows = log_likelihood_of_means(theta, mean, y)
    return jnp.sum(rows if counted is None else rows * counted, dtype=float)


def log_likelihood_by_blocks(
    theta: Theta, noises: Noises, x, y: Seen, h: PiecewiseLinear, counted, block: int
) -> jax.Array:
    """:func:`log_likelihood`, the gradient of a block of rows taken while a cache still has it."""
    N = len(x)
    counted = jnp.ones(N, x.dtype) if counted is None else counted

    def of_block(theta, i):
        # The last block begins early enough to be whole; what it shares counts nothing there.
        start = jnp.minimum(i * block, N - block)
        cut = partial(jax.lax.dynamic_slice_in_dim, start_index=start, slice_size=block)
        part = jax.tree.map(partial(cut, axis=1), noises)
        weight = jnp.where(start + jnp.arange(block) >= i * block, cut(counted), 0)
        return log_likelihood(theta, part, cut(x), jax.tree.map(cut, y), h, weight)

    @jax.custom_vjp
    def total(theta):
        return with_gradient(theta)[0]

    def with_gradient(theta):
        add = lambda i, sums: jax.tree.map(jnp.add, sums, jax.value_and_grad(of_block)(theta, i))  # noqa: E731
        none = jnp.zeros(()), jax.tree.map(jnp.zeros_like, theta)
        return jax.lax.fori_loop(0, -(-N // block), add, none)

    total.defvjp(
        with_gradient, lambda g, slope: (jax.tree.map(lambda a: slope.astype(a.dtype) * a, g),)
    )
    return total(theta)


@jax.custom_vjp
def _product(beta: jax.Array, u: jax.Array) -> jax.Array:
    """beta @ u; its gradient turns beta first, since a product with betaᵀ is slow on a CPU."""
    return beta @ u


def _product_forward(beta, u):
    return beta @ u, (beta, u)


def _product_backward(given, slope):
    beta, u = given
    return slope @ u.T, jax.lax.optimization_barrier(beta.T) @ slope


_product.defvjp(_product_forward, _product_backward)


def log_scale_mixture(weight: jax.Array, law: InverseGamma) -> jax.Array:
    """log ∫ N(weight; 0, s²) IG(s²; a, b) ds² up to a constant: Student-t with 2a degrees."""
    return -jnp.sum((law.a + 0.5) * jnp.log1p(weight**2 / (2 * law.b)))


def _log_variance(log_s2: jax.Array, law: InverseGamma) -> jax.Array:
    """log IG(s²; a, b) + log s² (the Jacobian of the log scale) up to a constant."""
    return -jnp.sum(law.a * log_s2 + law.b * jnp.exp(-log_s2))


def redraw_last(key: jax.Array, theta: Theta, latents: Latents, y, h: PiecewiseLinear) -> Latents:
    """``latents`` of ``rebuild`` with u_L drawn from its full conditional."""
    if theta.L == 0:
        return latents
    last = u_given(
        latents.v[-1],
        y,
        theta.beta[-1],
        theta.gamma[-1],
        theta.tau2[-1],
        theta.sigma2[-1],
        h,
    )
    return Latents(latents.v, (*latents.u, *sample_rows(key, [last])))
