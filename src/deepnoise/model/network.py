"""The B-DeepNoise model: its parameters, prior, simulator and joint density."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from .activation import PiecewiseLinear
from .gamma import Gamma
from .inverse_gamma import InverseGamma, sample_merged
from .random import RowsFrom, normals

LOG_2PI = 1.8378770664093453
Arrays = tuple[jax.Array, ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Theta:
    """Weights, biases and noise variances; tuples indexed by the paper's l.

    Shapes: beta[l] (K_l, K_{l-1}), gamma[l] and tau2[l] (K_l,) for l = 0..L;
    sigma2[l] (K_l,) for l = 0..L-1.  K_{-1} = P and K_L = Q.
    """

    beta: Arrays
    gamma: Arrays
    tau2: Arrays
    sigma2: Arrays

    @property
    def L(self) -> int:
        """Number of hidden layers."""
        return len(self.sigma2)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scales:
    """Prior variances of the weights: rho2[l] like beta[l], xi2[l] like gamma[l].

    ``noise`` multiplies the prior of all hidden noise variances, ``weight[l]`` that of rho2[l];
    None where the prior is fixed.  Where some inputs are sites, one more entry of ``weight``, the
    last, multiplies the prior of their part of rho2[0] instead of ``weight[0]``.
    """

    rho2: Arrays
    xi2: Arrays
    noise: jax.Array | None = None
    weight: Arrays | None = None


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Latents:
    """Hidden noise variables: v[l] (N, K_l) for l = 0..L-1 and u[l] for u_{l+1} (N, K_l)."""

    v: Arrays
    u: Arrays

    def clamp(self, x: jax.Array, y: jax.Array) -> tuple[Arrays, Arrays]:
        """(v_0..v_L, u_0..u_L) with v_L = y and u_0 = x, both indexed by the paper's l."""
        return (*self.v, y), (x, *self.u)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Prior:
    """An inverse-gamma law for every variance, one for each layer l (they may differ by entry).

    With ``noise_scale`` and ``weight_scale`` the laws of hidden noise variances and of rho2 are
    those of variances whose learnt scale is 1.  ``sites`` tells which inputs are sites; the last
    of ``weight_scale`` is then theirs.
    """

    weight: tuple[InverseGamma, ...]
    bias: tuple[InverseGamma, ...]
    preact: tuple[InverseGamma, ...]
    postact: tuple[InverseGamma, ...]
    noise_scale: Gamma | None = None
    weight_scale: tuple[Gamma, ...] | None = None
    sites: tuple[bool, ...] | None = field(default=None, metadata={"static": True})

    def given(self, scales: Scales) -> "Prior":
        """The laws of all variances given the learnt scales."""
        prior = self
        if scales.noise is not None:
            *hidden, last = self.preact
            preact = (*(law.scaled(scales.noise) for law in hidden), last)
            postact = tuple(law.scaled(scales.noise) for law in self.postact)
            prior = replace(prior, preact=preact, postact=postact)
        if scales.weight is not None:
            parts = zip(self.weight, by_layer(scales.weight, self.sites), strict=True)
            prior = replace(prior, weight=tuple(law.scaled(s) for law, s in parts))
        return prior

    def scaled_weights(self, rho2: Arrays) -> list[tuple[jax.Array, InverseGamma]]:
        """What each learnt scale of weights scales: part of rho2, and its law."""
        parts = list(zip(rho2, self.weight, strict=True))
        if self.sites is None:
            return parts
        (first, law), inside = parts[0], np.array(self.sites)
        b = jnp.broadcast_to(law.b, inside.shape)

        def of(columns):
            return first[:, columns], InverseGamma(law.a, b[columns])

        return [of(~inside), *parts[1:], of(inside)]


def by_layer(weight: Arrays, sites: tuple[bool, ...] | None) -> Arrays:
    """The scale of each layer's weights, or its log; one an input for layer 0 with sites."""
    if sites is None:
        return weight
    first, *others, of_sites = weight
    return jnp.where(np.array(sites), of_sites, first), *others


def pre_activation(u: jax.Array, beta: jax.Array, gamma: jax.Array) -> jax.Array:
    """m_l = beta_l u_l + gamma_l for every row."""
    return u @ beta.T + gamma


def pre_activations(theta: Theta, u: Arrays) -> list[jax.Array]:
    """m_0..m_L of u_0..u_L."""
    return [pre_activation(*part) for part in zip(u, theta.beta, theta.gamma, strict=True)]


def outcome_mean(theta: Theta, u: jax.Array) -> jax.Array:
    """β_L u + γ_L: the mean of y given u_L, or with u_L integrated out given u = h(v_{L-1})."""
    return pre_activation(u, theta.beta[-1], theta.gamma[-1])


def forward(
    theta: Theta,
    x: jax.Array,
    e: Sequence[jax.Array],
    d: Sequence[jax.Array],
    h: PiecewiseLinear,
) -> Latents:
    """The noisy pass: v_l = m_l + τ_l e_l and u_{l+1} = h(v_l) + σ_l d_l, layer after layer.

    It goes as far as there are standardised noises: one v for each e, one u for each d.  Leading
    axes of x and of noises may be 1.
    Paper: eq:v, eq:u.
    """
    v, u = [], [x]
    for l, before in enumerate(e):
        m = pre_activation(u[l], theta.beta[l], theta.gamma[l])
        v.append(m + jnp.sqrt(theta.tau2[l]) * before)
        if l < len(d):
            u.append(h(v[l]) + jnp.sqrt(theta.sigma2[l]) * d[l])
    return Latents(tuple(v), tuple(u[1:]))


def sample_prior(
    key: jax.Array, prior: Prior, widths: tuple[int, ...], dtype=jnp.float32
) -> tuple[Theta, Scales]:
    """A draw of (Theta, Scales); ``widths`` is (P, K_0, ..., K_{L-1}, Q)."""
    fan = [(out, fan_in) for fan_in, out in pairwise(widths)]
    outs = [(out,) for out in widths[1:]]
    key_variances, key_weights, key_scales = jax.random.split(key, 3)
    learnt = _sample_scales(key_scales, prior, dtype)
    prior = prior.given(learnt)
    blocks = (
        zip(prior.weight, fan, strict=True),
        zip(prior.bias, outs, strict=True),
        zip(prior.preact, outs, strict=True),
        zip(prior.postact, outs[:-1], strict=True),
    )
    laws = [
        [InverseGamma(law.a, jnp.broadcast_to(law.b, shape).astype(dtype)) for law, shape in block]
        for block in blocks
    ]
    rho2, xi2, tau2, sigma2 = sample_merged(key_variances, laws)
    drawn = _draw_normals(key_weights, (*rho2, *xi2))
    beta, gamma = drawn[: len(rho2)], drawn[len(rho2) :]
    return Theta(beta, gamma, tau2, sigma2), replace(learnt, rho2=rho2, xi2=xi2)


def _sample_scales(key, prior: Prior, dtype) -> Scales:
    """The learnt scales alone."""
    laws = [
        [] if prior.noise_scale is None else [prior.noise_scale],
        [] if prior.weight_scale is None else list(prior.weight_scale),
    ]
    if not any(laws):
        return Scales((), ())
    noise, weight = sample_scales(key, laws)
    cast = lambda s: s.astype(dtype)  # noqa: E731
    return Scales((), (), cast(noise[0]) if noise else None, tuple(map(cast, weight)) or None)


def sample_scales(key, blocks: list[list[Gamma]]) -> list[Arrays]:
    """One draw of every law of every block, all by one sampler."""
    drawn = sample_merged(key, [[law.reciprocal() for law in block] for block in blocks])
    return [tuple(1 / s for s in block) for block in drawn]


def _draw_normals(key, variances) -> Arrays:
    sizes = [s2.size for s2 in variances]
    z = jnp.split(normals(key, (sum(sizes),), variances[0].dtype), np.cumsum(sizes)[:-1])
    return tuple(
        jnp.sqrt(s2) * part.reshape(s2.shape) for s2, part in zip(variances, z, strict=True)
    )


def simulate(
    key: jax.Array, theta: Theta, x: jax.Array, h: PiecewiseLinear, first: jax.Array | None = None
) -> tuple[Latents, jax.Array]:
    """Latents and y drawn forward from the model; x may be the rows from ``first`` on of more."""
    widths = [s2.shape[0] for s2 in (*theta.tau2, *theta.sigma2)]
    rows = key if first is None else RowsFrom(key, first)
    z = normals(rows, (x.shape[0], sum(widths)), x.dtype)
    noises = jnp.split(z, np.cumsum(widths)[:-1], 1)
    path = forward(theta, x, noises[: theta.L + 1], noises[theta.L + 1 :], h)
    return Latents(path.v[:-1], path.u), path.v[-1]


def log_joint(
    theta: Theta,
    scales: Scales,
    latents: Latents,
    x: jax.Array,
    y: jax.Array,
    prior: Prior,
    h: PiecewiseLinear,
) -> jax.Array:
    """log p(y, v, u, beta, gamma, tau2, sigma2, scales | x): the one definition of the model."""
    v, u = latents.clamp(x, y)
    total = log_scales(scales, prior)
    prior = prior.given(scales)
    for l in range(theta.L + 1):
        m = pre_activation(u[l], theta.beta[l], theta.gamma[l])
        total += _log_normal(v[l], m, theta.tau2[l])
        total += _log_normal(theta.beta[l], 0.0, scales.rho2[l])
        total += _log_normal(theta.gamma[l], 0.0, scales.xi2[l])
        total += jnp.sum(prior.weight[l].log_prob(scales.rho2[l]))
        total += jnp.sum(prior.bias[l].log_prob(scales.xi2[l]))
        total += jnp.sum(prior.preact[l].log_prob(theta.tau2[l]))
    for l in range(theta.L):
        total += _log_normal(u[l + 1], h(v[l]), theta.sigma2[l])
        total += jnp.sum(prior.postact[l].log_prob(theta.sigma2[l]))
    return total


def log_scales(scales: Scales, prior: Prior) -> jax.Array:
    """log p of the learnt scales."""
    total = jnp.zeros(())
    if prior.noise_scale is not None:
        total += prior.noise_scale.log_prob(scales.noise)
    if prior.weight_scale is not None:
        parts = zip(prior.weight_scale, scales.weight or (), strict=True)
        total += sum((law.log_prob(s) for law, s in parts), jnp.zeros(()))
    return total


def _log_normal(value, mean, variance):
    return -jnp.sum((value - mean) ** 2 / variance + jnp.log(variance) + LOG_2PI) / 2
