"""Inverse-gamma law: prior and full conditional of every variance."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from .random import normal_and_uniforms

# Draws are kept in this range, in which products and quotients of two fit in float32.
VARIANCE_RANGE = (1e-20, 1e20)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InverseGamma:
    """p(x) = b^a / Gamma(a) x^(-a-1) exp(-b/x), entry by entry; a and b broadcast.

    Paper: eq:distribution-tau, eq:distribution-sigma, eq:distribution-rho, eq:distribution-xi.
    """

    a: jax.Array
    b: jax.Array

    def updated(self, count, sum_sq) -> "InverseGamma":
        """The law given ``count`` residuals N(0, x) whose squares sum to ``sum_sq``."""
        return InverseGamma(self.a + count / 2, self.b + sum_sq / 2)

    def scaled(self, s) -> "InverseGamma":
        """The law of s x."""
        return InverseGamma(self.a, self.b * s)

    def log_prob(self, x) -> jax.Array:
        a, b = jnp.asarray(self.a), jnp.asarray(self.b)
        return a * jnp.log(b) - gammaln(a) - (a + 1) * jnp.log(x) - b / x

    def sample(self, key) -> jax.Array:
        """One draw an entry, in the dtype of b, kept within VARIANCE_RANGE.

        x = b / G, G ~ Gamma(a, 1) = d (1 + e)^3 by Marsaglia and Tsang (2000), d = a - 1/3; shapes
        below 1 take Gamma(a) = Gamma(a + 1) U^(1/a).
        """
        b = jnp.asarray(self.b)
        a = jnp.asarray(self.a, np.float64)
        a = jnp.broadcast_to(a, jnp.broadcast_shapes(a.shape, b.shape))
        d = jnp.where(a < 1, a + 1, a) - 1 / 3
        log_e, log_u = _log_one_plus_e(key, d, b.dtype)
        log_g = 3 * log_e + jnp.where(a < 1, log_u / a, 0)
        x = b / d * jnp.exp(-jnp.maximum(log_g, -500))
        return jnp.clip(x, *VARIANCE_RANGE).astype(b.dtype)


def merge(laws: Sequence[InverseGamma]) -> InverseGamma:
    """Many laws as one flat law, so that one compiled sampler draws them all."""
    pairs = [jnp.broadcast_arrays(law.a, law.b) for law in laws]
    a, b = (jnp.concatenate([x.ravel() for x in part]) for part in zip(*pairs, strict=True))
    return InverseGamma(a, b)


def sample_merged(key, blocks: Sequence[Sequence[InverseGamma]]) -> list[tuple[jax.Array, ...]]:
    """One draw of every law of every block, all by one sampler."""
    laws = [law for block in blocks for law in block]
    sizes = [law.b.size for law in laws]
    flat = jnp.split(merge(laws).sample(key), np.cumsum(sizes)[:-1])
    draws = iter(x.reshape(law.b.shape) for x, law in zip(flat, laws, strict=True))
    return [tuple(next(draws) for _ in block) for block in blocks]


def _log_one_plus_e(key, d, dtype) -> tuple[jax.Array, jax.Array]:
    """log(1 + e) with d (1 + e)^3 ~ Gamma(d + 1/3, 1), and log U; whole-array retry in ``dtype``.

    x normal, e = x / (3 sqrt(d)), accepted if
    log u < x^2/2 + d - d (1 + e)^3 + 3 d log(1 + e) = 3 d [log(1 + e) - e + e^2/2 - e^3/3].
    Rejected entries try again with the blocks of the next round; accepted ones keep their value, so
    a chain that is done is not disturbed by the others of its batch.
    """
    one, half, third = (np.dtype(dtype).type(value) for value in (1, 1 / 2, 1 / 3))
    triple, step = (3 * d).astype(dtype), (1 / (3 * jnp.sqrt(d))).astype(dtype)

    def attempt(state):
        round_, value, log_u, accepted = state
        x, u, u_next = normal_and_uniforms(key, d.shape, dtype, block=2 * round_)
        e = step * x
        log_e = jnp.log1p(jnp.maximum(e, -one))
        surplus = triple * (log_e - e * (one - e * (half - e * third)))
        value, log_u = (
            jnp.where(accepted, old, new) for old, new in ((value, log_e), (log_u, jnp.log(u_next)))
        )
        return round_ + 1, value, log_u, accepted | (jnp.log(u) < surplus)

    nothing = jnp.zeros(d.shape, dtype)
    start = jnp.uint32(0), nothing, nothing, jnp.zeros(d.shape, bool)
    return jax.lax.while_loop(lambda state: ~state[3].all(), attempt, start)[1:3]
