"""Every slip of the paper that code can make, and others, put into the sampler on purpose."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from deepnoise.inference import gibbs, interweave, kernels, refresh
from deepnoise.model.activation import piecewise_linear
from deepnoise.model.network import Prior, Theta, pre_activation
from deepnoise.prediction import predict


@dataclass(frozen=True)
class Mutant:
    """``inject(monkeypatch)`` puts the mistake in; ``caught_by`` names the checks that must see it.

    ratio, density, round trip: the exact identities of ratio.py.  predictive: Theorem 2 against
    the simulator.  linear model: the posterior of L = 0.  gibbs, interweaved: Geweke's test of
    that kernel.
    """

    inject: Callable
    caught_by: tuple[str, ...]


def mean_of_u(monkeypatch):
    """(ββᵀ + Σ⁻¹)⁻¹ [Σ⁻¹ h(v) + βᵀ (v - γ)], the covariance being right."""
    right = gibbs.u_given

    def wrong(v_prev, v, beta, gamma, tau2, sigma2_prev, h):
        precision = beta @ beta.T + jnp.diag(1 / sigma2_prev)
        potential = (v - gamma) @ beta + h(v_prev) / sigma2_prev
        return _moved(
            right(v_prev, v, beta, gamma, tau2, sigma2_prev, h),
            _solve(precision, potential.T).T,
        )

    monkeypatch.setattr(gibbs, "u_given", wrong)
    monkeypatch.setattr(interweave, "u_given", wrong)


def _solve(matrix, right):
    """Gauss-Jordan without pivots.  Batches of LAPACK calls side by side can deadlock jaxlib."""
    rows = jnp.concatenate([matrix, right], axis=1)
    for i in range(len(matrix)):
        pivot = rows[i] / rows[i, i]
        rows = (rows - rows[:, [i]] * pivot).at[i].set(pivot)
    return rows[:, len(matrix) :]


def _moved(law, mean):
    """The same covariance around another mean."""
    return replace(law, center=mean, target=mean @ law.design.T)


def mean_of_weights(monkeypatch):
    """(ūᵀū + diag(ρ², ξ²)⁻¹)⁻¹ ūᵀ v, the covariance being right."""
    right = gibbs.weights_given

    def wrong(u, v, tau2, *rest):
        law, unit = right(u, v, tau2, *rest), right(u, v, jnp.ones_like(tau2), *rest)
        mean = jax.vmap(_solve)(unit.precision, unit.potential[..., None])
        return replace(law, potential=(law.precision @ mean)[..., 0])

    monkeypatch.setattr(gibbs, "weights_given", wrong)


def priors_swapped(monkeypatch):
    """τ² updated from the postact prior and σ² from the preact prior."""

    def swap(part):
        if not isinstance(part, Prior):
            return part
        preact = (*part.postact, part.preact[-1])
        return replace(part, preact=preact, postact=part.preact[:-1])

    _with_arguments(monkeypatch, gibbs, "draw_variances", swap)


def _with_arguments(monkeypatch, module, name, change):
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args: right(*map(change, args)))


def sigma_of_the_wrong_layer(monkeypatch):
    """T_L + β_L Σ_l β_Lᵀ with another layer's Σ (Σ_L, as printed, does not exist)."""

    def wrong(theta: Theta):
        beta = theta.beta[-1]
        return jnp.diag(theta.tau2[-1]) + (beta * theta.sigma2[0]) @ beta.T

    monkeypatch.setattr(predict, "last_covariance", wrong)


def no_sigma_in_prediction(monkeypatch):
    monkeypatch.setattr(predict, "last_covariance", lambda theta: jnp.diag(theta.tau2[-1]))


def outcome_redrawn(monkeypatch):
    """v_L drawn like the other v: the outcome is thrown away."""
    right = gibbs.sweep

    def wrong(key, state, x, y, *rest):
        key_y, key = jax.random.split(key)
        theta = state.theta
        m = pre_activation((x, *state.latents.u)[-1], theta.beta[-1], theta.gamma[-1])
        new = m + jnp.sqrt(theta.tau2[-1]) * jax.random.normal(key_y, y.shape, y.dtype)
        return right(key, state, x, new, *rest)

    monkeypatch.setattr(gibbs, "sweep", wrong)


def sigma_of_the_next_layer(monkeypatch):
    """u_{l+1} given σ²_{l+1} instead of σ²_l."""

    def shift(part):
        if not isinstance(part, Theta):
            return part
        return replace(part, sigma2=(*part.sigma2[1:], part.sigma2[0]))

    _with_arguments(monkeypatch, gibbs, "draw_u", shift)


def sign_of_noise(monkeypatch):
    """v = m - τ e where e was read off as (v - m)/τ."""
    right = interweave.standardise

    def wrong(*args):
        noises = right(*args)
        return replace(noises, e=tuple(-e for e in noises.e))

    monkeypatch.setattr(interweave, "standardise", wrong)


def no_last_variance(monkeypatch):
    """The collapsed likelihood of the move without β_L Σ_{L-1} β_Lᵀ."""

    def drop(part):
        if not isinstance(part, Theta):
            return part
        return replace(part, sigma2=(*part.sigma2[:-1], jnp.zeros_like(part.sigma2[-1])))

    _with_arguments(monkeypatch, interweave, "log_likelihood", drop)


def shifted_boundary(monkeypatch):
    """Pieces of h that end 0.6 too late in the law of v."""
    right = gibbs.v_given

    def wrong(m, u_next, tau2, sigma2, h):
        shifted = piecewise_linear(h.b, h.b_prime, [c + 0.6 for c in h.c])
        return right(m, u_next, tau2, sigma2, shifted)

    monkeypatch.setattr(gibbs, "v_given", wrong)


def transposed_weight(monkeypatch):
    right = gibbs.u_given
    wrong = lambda v_prev, v, beta, *rest: right(v_prev, v, beta.T, *rest)
    monkeypatch.setattr(gibbs, "u_given", wrong)


def reused_key(monkeypatch):
    """The same random bits for u of every layer."""
    right = gibbs.sample_rows
    wrong = lambda key, laws: [right(key, [law])[0] for law in laws]
    monkeypatch.setattr(gibbs, "sample_rows", wrong)


def same_key_every_sweep(monkeypatch):
    right = kernels.GibbsKernel.step
    fixed = lambda self, key, *rest: right(self, jax.random.key(0), *rest)
    monkeypatch.setattr(kernels.GibbsKernel, "step", fixed)


def no_jacobian(monkeypatch):
    """Variances moved on the log scale without the Jacobian of the logarithm."""
    right = interweave._log_variance
    wrong = lambda log_s2, law: right(log_s2, law) - jnp.sum(log_s2)
    monkeypatch.setattr(interweave, "_log_variance", wrong)


def no_jacobian_of_scales(monkeypatch):
    """Learnt scales moved on the log scale without the Jacobian of the logarithm."""
    right = interweave._log_scale
    wrong = lambda log_s, law: right(log_s, law) - log_s
    monkeypatch.setattr(interweave, "_log_scale", wrong)


def last_noise_in_the_scale(monkeypatch):
    """The scale of hidden noise given τ²_L too, which it does not scale."""
    right = gibbs.noise_given

    def wrong(tau2, sigma2, prior, law):
        return right(tau2, sigma2, prior, law).updated(prior.preact[-1], tau2[-1])

    monkeypatch.setattr(gibbs, "noise_given", wrong)


def last_latents_kept(monkeypatch):
    """u_L, integrated out of the move, not redrawn after it."""
    right = kernels.InterweavedKernel.step

    def wrong(self, key, t, state, data):
        stale = state.gibbs.latents.u[-1]
        keep = lambda key, theta, latents, y, h: replace(latents, u=(*latents.u, stale))
        with monkeypatch.context() as inner:
            inner.setattr(interweave, "redraw_last", keep)
            return right(self, key, t, state, data)

    monkeypatch.setattr(kernels.InterweavedKernel, "step", wrong)


def current_path_left_out(monkeypatch):
    """A refresh in which only new paths compete: no longer invariant."""
    right = kernels.refresh

    def wrong(key, theta, noises, x, y, h, tries, others):
        key_new, key = jax.random.split(key)
        fresh = refresh.draw_noises(key_new, theta, len(x))
        return right(key, theta, fresh, x, y, h, tries, others)

    monkeypatch.setattr(kernels, "refresh", wrong)


MUTANTS = {
    "E1 mean of u": Mutant(mean_of_u, ("ratio", "gibbs")),
    "E2 mean of the weights": Mutant(mean_of_weights, ("ratio", "gibbs")),
    "E3 priors of tau2 and sigma2 swapped": Mutant(priors_swapped, ("ratio", "gibbs")),
    "E4 sigma2 of the wrong layer": Mutant(sigma_of_the_wrong_layer, ("predictive",)),
    "E5 outcome redrawn": Mutant(outcome_redrawn, ("linear model",)),
    "E6 u given sigma2 of the next layer": Mutant(sigma_of_the_next_layer, ("ratio", "gibbs")),
    "wrong sign of a noise": Mutant(sign_of_noise, ("round trip", "interweaved")),
    "no last variance in the move": Mutant(no_last_variance, ("density", "interweaved")),
    "no last variance in prediction": Mutant(no_sigma_in_prediction, ("predictive",)),
    "shifted piece boundary": Mutant(shifted_boundary, ("ratio", "gibbs")),
    "transposed weight": Mutant(transposed_weight, ("ratio", "gibbs")),
    "reused key": Mutant(reused_key, ("gibbs",)),
    "same key every sweep": Mutant(same_key_every_sweep, ("gibbs",)),
    "no Jacobian in the move": Mutant(no_jacobian, ("density", "interweaved")),
    "no Jacobian of a scale": Mutant(no_jacobian_of_scales, ("density", "interweaved")),
    "the last noise in the scale": Mutant(last_noise_in_the_scale, ("ratio", "gibbs")),
    "u_L kept after the move": Mutant(last_latents_kept, ("interweaved",)),
    "current path left out of the refresh": Mutant(current_path_left_out, ("interweaved",)),
}


def caught_by(check: str) -> dict[str, Mutant]:
    return {name: mutant for name, mutant in MUTANTS.items() if check in mutant.caught_by}
