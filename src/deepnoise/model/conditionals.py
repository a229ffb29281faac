"""The full conditionals, one function an equation; each returns a law, none draws.

``l`` is fixed in every function; ``_prev`` and ``_next`` are its neighbours l - 1 and l + 1.
Where sums run over rows, ``counted`` (N,) is 1 for rows of the data and 0 for those that only fill
an array up; None counts all.
"""

import jax
import jax.numpy as jnp

from .activation import PiecewiseLinear
from .gamma import Gamma
from .gaussian import InformationGaussian, LinearGaussian
from .inverse_gamma import InverseGamma
from .network import Prior
from .piecewise_normal import PiecewiseNormal


def v_given(m, u_next, tau2, sigma2, h: PiecewiseLinear) -> PiecewiseNormal:
    """[v_l | rest] = Σ_j π_j TN(λ_j, ω_j²; c_{j-1}, c_j), l < L, with m = β_l u_l + γ_l.

    Paper: thm:distribution-v, eq:distribution-v; π_j in closed form instead of the ζ recursion.
    """
    return PiecewiseNormal(m, tau2, u_next, sigma2, h)


def u_given(v_prev, v, beta, gamma, tau2, sigma2_prev, h: PiecewiseLinear) -> LinearGaussian:
    """[u_l | rest] = N(Λ⁻¹ η, Λ⁻¹), Λ = βᵀ T⁻¹ β + Σ⁻¹, η = βᵀ T⁻¹ (v - γ) + Σ⁻¹ h(v_{l-1}).

    Paper: eq:distribution-u.  Errata: E1, E6.  Λ does not depend on n.
    """
    return LinearGaussian(h(v_prev), sigma2_prev, beta, v - gamma, tau2)


def weights_given(u, v, tau2, rho2, xi2, counted=None) -> InformationGaussian:
    """[(β_k, γ_k) | rest] = N(Λ⁻¹ η, Λ⁻¹), Λ = ūᵀū / τ²_k + diag(ρ²_k, ξ²_k)⁻¹, η = ūᵀ v_k / τ²_k.

    Paper: eq:distribution-betagamma.  Erratum: E2.  One Gram matrix ūᵀū, ū = (u, 1), for every k.
    Shapes: precision (K, K_prev + 1, K_prev + 1); the bias comes last.
    """
    u, v = u.astype(float), v.astype(float)
    u_bar = jnp.concatenate([u, jnp.ones_like(u[:, :1])], axis=1)
    if counted is not None:
        u_bar = u_bar * counted[:, None]
    return weights_given_sums(u_bar.T @ u_bar, v.T @ u_bar, tau2, rho2, xi2)


def weights_given_sums(gram, cross, tau2, rho2, xi2) -> InformationGaussian:
    """``weights_given`` from gram = ūᵀū and cross = vᵀū alone, in float64."""
    tau2, rho2, xi2 = (a.astype(float) for a in (tau2, rho2, xi2))
    prior_precision = 1 / jnp.concatenate([rho2, xi2[:, None]], axis=1)
    diagonal = jnp.eye(gram.shape[0]) * prior_precision[:, None, :]
    return InformationGaussian(gram / tau2[:, None, None] + diagonal, cross / tau2[:, None])


def tau2_given(v, m, preact: InverseGamma, counted=None) -> InverseGamma:
    """[τ²_k | rest] = IG(a_preact + N/2, b_preact + |v_k - m_k|²/2), m = β_l u_l + γ_l.

    Paper: eq:distribution-tau.  Erratum: E3.
    """
    return _after_rows(preact, v - m, counted)


def sigma2_given(
    u_next, v, postact: InverseGamma, h: PiecewiseLinear, counted=None
) -> InverseGamma:
    """[σ²_k | rest] = IG(a_postact + N/2, b_postact + |u_{l+1,k} - h(v_k)|²/2).

    Paper: eq:distribution-sigma.  Erratum: E3.
    """
    return _after_rows(postact, u_next - h(v), counted)


def rho2_given(beta, weight: InverseGamma) -> InverseGamma:
    """[ρ²_{k,k'} | rest] = IG(a_weight + 1/2, b_weight + β²/2).

    Paper: eq:distribution-rho.
    """
    return weight.updated(1, beta**2)


def xi2_given(gamma, bias: InverseGamma) -> InverseGamma:
    """[ξ²_k | rest] = IG(a_bias + 1/2, b_bias + γ²/2).

    Paper: eq:distribution-xi.
    """
    return bias.updated(1, gamma**2)


def noise_given(tau2, sigma2, prior: Prior, law: Gamma) -> Gamma:
    """[s | rest] = Gamma(a + Σ a_k, rate + Σ b_k/s²_k) over the hidden noise variances s²_k.

    Not in the paper: s²_k ~ IG(a_k, b_k s).
    """
    pairs = zip((*prior.preact[:-1], *prior.postact), (*tau2[:-1], *sigma2), strict=True)
    for part, variances in pairs:
        law = law.updated(part, variances)
    return law


def weight_given(rho2, weight: InverseGamma, law: Gamma) -> Gamma:
    """[s_l | rest] = Gamma(a + Σ a_weight, rate + Σ b_weight/ρ²) over the entries of ρ²_l.

    Not in the paper: ρ²_l ~ IG(a_weight, b_weight s_l).
    """
    return law.updated(weight, rho2)


def _after_rows(prior: InverseGamma, residual: jax.Array, counted) -> InverseGamma:
    if counted is not None:
        residual = residual * counted[:, None]
    rows = residual.shape[0] if counted is None else jnp.sum(counted)
    total = jnp.sum(residual**2, axis=0, dtype=float)
    return prior.updated(rows, total.astype(residual.dtype))
