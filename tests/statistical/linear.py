"""L = 0 with known prior scales: a regression whose posterior is a one-dimensional integral."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.kernels import InterweavedKernel, InterweavedState
from deepnoise.model.activation import hard_tanh
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.network import Prior, sample_prior, simulate

from .geweke import fixed_tuning

RHO2, XI2, PREACT = 1.5, 0.8, (3.0, 2.0)
SURE = 1e8


def problem(rows: int = 6):
    """(x, y, prior): two covariates, two outcomes that a posterior cannot ignore."""
    key_x, key_y = jax.random.split(jax.random.key(11))
    x = jax.random.normal(key_x, (rows, 2), float)
    truth = jnp.array([[2.0, -1.0], [0.5, 1.5]])
    y = x @ truth.T + jnp.array([1.0, -2.0]) + 0.7 * jax.random.normal(key_y, (rows, 2), float)
    pinned = lambda value: InverseGamma(jnp.asarray(SURE), jnp.asarray(SURE * value))
    preact = InverseGamma(*map(jnp.asarray, PREACT))
    return x, y, Prior((pinned(RHO2),), (pinned(XI2),), (preact,), ())


def chains(key, kernel, data, replicates: int = 4000, sweeps: int = 60):
    """Theta after ``sweeps`` steps of many independent chains that start from the prior."""
    widths = (data.x.shape[1], data.y.shape[1])

    def one(key):
        key_prior, key_latents, key_chain = jax.random.split(key, 3)
        theta, scales = sample_prior(key_prior, data.prior, widths, float)
        latents = simulate(key_latents, theta, data.x, hard_tanh)[0]
        state = GibbsState(theta, scales, latents)
        if isinstance(kernel, InterweavedKernel):
            state = InterweavedState(state, fixed_tuning(kernel, state))
        step = lambda t, s: kernel.step(jax.random.fold_in(key_chain, t), t, s, data)
        return kernel.theta(jax.lax.fori_loop(0, sweeps, step, state))

    return jax.vmap(one)(jax.random.split(key, replicates))


def p_values(theta, x, y) -> dict[str, float]:
    """Kolmogorov-Smirnov tests of every weight, bias and tau2 against its exact marginal."""
    found = {}
    for q in range(y.shape[1]):
        tau2, weight, mean, sd = exact(np.asarray(x), np.asarray(y[:, q]))
        draws = np.column_stack([theta.beta[0][:, q], theta.gamma[0][:, q]])
        for j in range(draws.shape[1]):
            cdf = lambda t, j=j: weight @ scipy.stats.norm.cdf((t - mean[:, [j]]) / sd[:, [j]])
            found[f"weight {q},{j}"] = scipy.stats.kstest(draws[:, j], cdf).pvalue
        below = lambda t: np.interp(np.log(t), np.log(tau2), np.cumsum(weight))
        found[f"tau2 {q}"] = scipy.stats.kstest(np.asarray(theta.tau2[0][:, q]), below).pvalue
    return found


def exact(x, y, size: int = 2000):
    """tau2 on a grid with its posterior weights, and mean and sd of (beta, gamma) given each."""
    log_tau2 = np.linspace(-6, 5, size)
    design = np.column_stack([x, np.ones(len(x))])
    scales = np.diag([RHO2] * x.shape[1] + [XI2])
    log_weight, means, sds = [], [], []
    for tau2 in np.exp(log_tau2):
        marginal = design @ scales @ design.T + tau2 * np.eye(len(x))
        log_prior = scipy.stats.invgamma.logpdf(tau2, PREACT[0], scale=PREACT[1]) + np.log(tau2)
        log_weight.append(
            log_prior + scipy.stats.multivariate_normal.logpdf(y, np.zeros(len(x)), marginal)
        )
        cov = np.linalg.inv(design.T @ design / tau2 + np.linalg.inv(scales))
        means.append(cov @ design.T @ y / tau2)
        sds.append(np.sqrt(np.diag(cov)))
    weight = np.exp(np.array(log_weight) - max(log_weight))
    return np.exp(log_tau2), weight / weight.sum(), np.array(means), np.array(sds)
