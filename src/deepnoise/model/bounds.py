"""Theorem 3 and its corollary: the predictive variance bounded by the noise variances."""

import jax
import jax.numpy as jnp

from .activation import PiecewiseLinear
from .network import Theta


def variance_bound(theta: Theta, h: PiecewiseLinear) -> jax.Array:
    """tr Var(y | x, Θ) + |E(y | x, Θ) - g(x)|² <=
    Σ_l [d_l² Σ_k σ²_{l-1,k} + Σ_k τ²_{l,k}] Π_{l'>l} d²_{l'} C_h^{2(L-l)}.

    d_l is the spectral norm of beta_l, the product runs over l' > l, sigma_{-1} = 0 and g is the
    network without noise.  Paper: thm:variance-bound-general.
    """
    return jnp.sum(layer_bounds(theta, h))


def layer_bounds(theta: Theta, h: PiecewiseLinear) -> jax.Array:
    """The terms l = 0..L of the bound: what layer l's noise can add to the variance."""
    d2 = [jnp.linalg.norm(beta, ord=2) ** 2 for beta in theta.beta]
    terms, beyond = [], jnp.ones(())
    for l in reversed(range(theta.L + 1)):
        carried = d2[l] * jnp.sum(theta.sigma2[l - 1]) if l > 0 else 0.0
        terms.append((carried + jnp.sum(theta.tau2[l])) * beyond)
        beyond = beyond * d2[l] * h.lipschitz**2
    return jnp.stack(terms[::-1])


def simple_variance_bound(theta: Theta) -> jax.Array:
    """K L (d^{2L} + 1)(d² + 1)(σ² + τ²), the largest width, norm and variances; C_h <= 1, L >= 1.

    Paper: thm:variance-bound-special.
    """
    widths = [theta.beta[0].shape[1], *(beta.shape[0] for beta in theta.beta)]
    d2 = jnp.max(jnp.stack([jnp.linalg.norm(beta, ord=2) ** 2 for beta in theta.beta]))
    sigma2 = jnp.max(jnp.concatenate(theta.sigma2))
    tau2 = jnp.max(jnp.concatenate(theta.tau2))
    return max(widths) * theta.L * (d2**theta.L + 1) * (d2 + 1) * (sigma2 + tau2)
