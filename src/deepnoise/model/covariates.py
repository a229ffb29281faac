"""A Gaussian law of the inputs x = u_0, and the law of their missing entries given the rest.

x ~ N(μ, Λ⁻¹), μ | Λ ~ N(0, (κ Λ)⁻¹), Λ ~ Wishart(ν, S⁻¹), in standardised units.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import multigammaln

from .gaussian import InformationGaussian, after, scaled_cholesky, unshared
from .inverse_gamma import InverseGamma
from .random import normals

LOG_2PI = 1.8378770664093453
# The prior counts as one row for the mean; its covariances are centred at PRIOR_SPREAD · I.
KAPPA = 1.0
EXTRA_DEGREES = 2
PRIOR_SPREAD = 0.1
# Numbers in the matrices of one block of rows.
BLOCK_VALUES = 1 << 22


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InputLaw:
    """x ~ N(mu, precision⁻¹); (P,) and (P, P), float64."""

    mu: Any
    precision: Any

    def log_prob(self, x) -> jax.Array:
        """log p of every row of x (N, P)."""
        scale, factor = scaled_cholesky(self.precision)
        standard = ((x - self.mu) / scale) @ factor
        log_det = jnp.sum(jnp.log(jnp.diagonal(factor) / scale))
        return log_det - jnp.sum(standard**2, -1) / 2 - x.shape[-1] * LOG_2PI / 2


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Missing:
    """Which entries of x are missing: numbers of incomplete rows (n,), and a mask (n, P)."""

    rows: jax.Array
    mask: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NormalWishart:
    """Λ ~ Wishart(nu, scale⁻¹), μ | Λ ~ N(mean, (kappa Λ)⁻¹)."""

    mean: jax.Array
    kappa: jax.Array
    nu: jax.Array
    scale: jax.Array

    def log_prob(self, law: InputLaw) -> jax.Array:
        P = self.mean.shape[0]
        log_det = lambda a: jnp.linalg.slogdet(a)[1]  # noqa: E731
        apart = law.mu - self.mean
        log_normal = P * (jnp.log(self.kappa) - LOG_2PI) + log_det(law.precision)
        log_normal -= self.kappa * apart @ law.precision @ apart
        log_wishart = (self.nu - P - 1) * log_det(law.precision) - jnp.sum(
            self.scale * law.precision
        )
        log_wishart += self.nu * log_det(self.scale) - self.nu * P * np.log(2)
        return (log_normal + log_wishart) / 2 - multigammaln(self.nu / 2, P)

    def sample(self, key) -> InputLaw:
        """Bartlett: scale = F Fᵀ, Λ = B Bᵀ with B = F⁻ᵀ A, A lower triangular of χ and normals."""
        P = self.mean.shape[0]
        key_chi, key_normal, key_mu = jax.random.split(key, 3)
        half = (self.nu - jnp.arange(P)) / 2
        chi2 = 1 / InverseGamma(half, jnp.full(P, 0.5)).sample(key_chi)
        A = jnp.tril(normals(key_normal, (P, P), float), -1) + jnp.diag(jnp.sqrt(chi2))
        s, factor = scaled_cholesky(self.scale)
        F = factor / s[:, None]
        B = solve_triangular(F, A, lower=True, trans=1)
        z = solve_triangular(after(A, B), normals(key_mu, (P,), float), lower=True, trans=1)
        return InputLaw(self.mean + F @ z / jnp.sqrt(self.kappa), B @ B.T)


def input_prior(columns: int) -> NormalWishart:
    one = jnp.ones(())
    nu = one * (columns + EXTRA_DEGREES)
    return NormalWishart(jnp.zeros(columns), one * KAPPA, nu, jnp.eye(columns) * PRIOR_SPREAD)


def inputs_given(x: jax.Array, prior: NormalWishart) -> NormalWishart:
    """[μ, Λ | x] for complete rows x (N, P)."""
    x = x.astype(float)
    N = x.shape[0]
    mean = jnp.mean(x, axis=0)
    apart, kappa = mean - prior.mean, prior.kappa + N
    scatter = (x - mean).T @ (x - mean)
    scatter += prior.kappa * N / kappa * jnp.outer(apart, apart)
    return NormalWishart(
        (prior.kappa * prior.mean + N * mean) / kappa, kappa, prior.nu + N, prior.scale + scatter
    )


def x_given(x, mask, law: InputLaw, beta=None, gamma=None, tau2=None, v=None):
    """[missing entries of x | rest] as a law of x - μ with unit dummies at the observed entries.

    Λ_x = Λ + β_0ᵀ T_0⁻¹ β_0 and η = β_0ᵀ T_0⁻¹ (v_0 - γ_0 - β_0 μ) given v_0; without it, the law
    given the observed entries alone.  Shapes: x and mask (n, P), v (n, K_0).
    """
    precision = law.precision
    seen = jnp.where(mask, 0, x - law.mu).astype(float)
    potential = jnp.zeros(x.shape)
    if beta is not None:
        beta, gamma, tau2, v = (a.astype(float) for a in (beta, gamma, tau2, v))
        weighted = beta / tau2[:, None]
        precision = precision + weighted.T @ beta
        potential = (v - gamma - beta @ law.mu) @ weighted
    potential = jnp.where(mask, potential - seen @ precision, 0)
    both = mask[:, :, None] & mask[:, None, :]
    return InformationGaussian(jnp.where(both, precision, jnp.eye(x.shape[1])), potential)


def draw_missing(key, count: int, x, mask, law: InputLaw, *given) -> jax.Array:
    """Rows x (n, P) with their missing entries drawn ``count`` times from ``x_given``."""
    noise = normals(key, (x.shape[0], count, x.shape[1]), float)
    return jnp.swapaxes(_completed(noise, x, mask, law, given), 0, 1)


def fill(key, count: int, x, law: InputLaw) -> jax.Array:
    """Rows with NaN completed ``count`` times given what they hold; (count, n, P).

    Rows share the noise, so that none depends on its neighbours.
    """
    noise = jnp.broadcast_to(
        normals(key, (count, x.shape[1]), float), (x.shape[0], count, x.shape[1])
    )
    mask = jnp.isnan(x)
    return jnp.swapaxes(_completed(noise, jnp.where(mask, 0, x), mask, law, ()), 0, 1)


def _completed(noise, x, mask, law: InputLaw, given) -> jax.Array:
    """(n, count, P), a block of rows at a time: every row has a matrix of its own."""
    n, P = x.shape
    cost = max(P**3 // 3, P**2 * noise.shape[1])
    size = unshared(max(1, min(n, BLOCK_VALUES // (P * P))), cost)
    beta, gamma, tau2, v = given or (None, None, None, None)

    def one_block(block):
        x, mask, noise, v = block
        law_x = x_given(x, mask, law, beta, gamma, tau2, v)
        scale, factor = scaled_cholesky(law_x.precision)
        half = solve_triangular(factor, (scale * law_x.potential)[..., None], lower=True)
        whitened = half + jnp.swapaxes(noise, 1, 2)
        drawn = scale[..., None] * solve_triangular(factor, whitened, lower=True, trans=1)
        drawn = law.mu + jnp.swapaxes(drawn, 1, 2)
        return jnp.where(mask[:, None], drawn, x[:, None]).astype(x.dtype)

    def split(a):
        padded = jnp.concatenate([a, jnp.zeros((-n % size, *a.shape[1:]), a.dtype)])
        return padded.reshape(-1, size, *a.shape[1:])

    blocks = jax.tree.map(split, (x, mask, noise, v))
    return jax.lax.map(one_block, blocks).reshape(-1, *noise.shape[1:])[:n]
