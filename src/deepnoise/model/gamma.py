"""Gamma law: prior and full conditional of the scales that many variances share."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from .inverse_gamma import InverseGamma


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gamma:
    """p(s) = rate^a / Gamma(a) s^(a-1) exp(-rate s).

    With a = 1/2 and rate = 1/(2 A²), √s is half-normal with scale A.
    """

    a: jax.Array
    rate: jax.Array

    def updated(self, law: InverseGamma, variances: jax.Array) -> "Gamma":
        """The law of s given ``variances``, each of IG(law.a, law.b s)."""
        a, b = (jnp.broadcast_to(part, variances.shape) for part in (law.a, law.b))
        total = jnp.sum(b / variances, dtype=float).astype(variances.dtype)
        return Gamma(self.a + jnp.sum(a), self.rate + total)

    def log_prob(self, s) -> jax.Array:
        a, rate = jnp.asarray(self.a), jnp.asarray(self.rate)
        return a * jnp.log(rate) - gammaln(a) + (a - 1) * jnp.log(s) - rate * s

    def reciprocal(self) -> InverseGamma:
        """The law of 1/s, whose sampler all variances share."""
        return InverseGamma(self.a, self.rate)
