"""Cases whose answer is known: no hidden layer, no rows, other units."""

from dataclasses import replace

import jax
import numpy as np
import pytest
import scipy.stats

from deepnoise.inference.diagnostics import diagnose
from deepnoise.inference.posterior import Plan
from deepnoise.inference.priors import PriorSpec
from deepnoise.model.activation import hard_tanh

from ..inference.fits import fit
from ..statistics import rejected, two_sided

TIGHT = 1e7
LINEAR = PriorSpec(
    weight=(TIGHT, TIGHT * 0.5), bias=(TIGHT, TIGHT * 2.0), preact=(TIGHT, TIGHT * 0.25),
    postact=(3.0, 2.0),
)  # fmt: skip
PROPER = PriorSpec(weight=(3.0, 2.0), bias=(3.5, 2.0), preact=(4.0, 2.5), postact=(4.5, 3.0))


@pytest.mark.parametrize("sampler", ["gibbs", "interweaved"])
def test_no_hidden_layer_is_bayesian_linear_regression(sampler):
    """With ρ², ξ², τ² pinned, w ~ N(Λ⁻¹ x̄ᵀy/τ², Λ⁻¹), Λ = x̄ᵀx̄/τ² + diag(ρ², ξ²)⁻¹."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 2))
    y = x @ [[1.0], [-2.0]] + rng.normal(size=(9, 1))
    plan = Plan((), hard_tanh, 0, LINEAR, 2, 200, 4000, 2, "prior", sampler, "float64")
    draws = fit(plan, x, y).draws
    w = np.concatenate([draws.beta[0][:, :, 0], draws.gamma[0]], axis=2).reshape(-1, 3)
    x_bar = np.c_[x, np.ones(9)]
    cov = np.linalg.inv(x_bar.T @ x_bar / 0.25 + np.diag([2.0, 2.0, 0.5]))
    mean = cov @ x_bar.T @ y[:, 0] / 0.25
    whitened = np.linalg.solve(np.linalg.cholesky(cov), (w - mean).T)
    # Draws two sweeps apart are close to independent: weights are one Gibbs block here.
    p_values = {
        f"mean {i}": two_sided(z.mean() * np.sqrt(z.size / 1.5)) for i, z in enumerate(whitened)
    }
    p_values |= {
        f"spread {i}": scipy.stats.kstest(z[::4], "norm").pvalue for i, z in enumerate(whitened)
    }
    assert not rejected(p_values)


@pytest.mark.parametrize("sampler", ["gibbs", "interweaved"])
def test_no_rows_gives_the_prior(sampler):
    plan = Plan((2,), hard_tanh, 0, PROPER, 4, 300, 2000, 3, "prior", sampler, "float64")
    draws = fit(plan, np.empty((0, 1)), np.empty((0, 1))).draws
    logs = {"tau2": np.log(draws.tau2[1][:, :, 0]), "sigma2": np.log(draws.sigma2[0][:, :, 1])}
    values = logs | {"beta": draws.beta[0][:, :, 0, 0]}
    assert diagnose(values).max_rhat < 1.01
    laws = {
        "tau2": scipy.stats.invgamma(4.0, scale=2.5).cdf,
        "sigma2": scipy.stats.invgamma(4.5, scale=3.0).cdf,
        "beta": scipy.stats.t(6.0, scale=np.sqrt(2.0 / 3.0)).cdf,
    }
    raw = {"tau2": np.exp(logs["tau2"]), "sigma2": np.exp(logs["sigma2"]), "beta": values["beta"]}
    p_values = {
        name: scipy.stats.kstest(raw[name][:, ::10].ravel(), laws[name]).pvalue for name in raw
    }
    assert not rejected(p_values)


def test_scaling_of_y_scales_the_density():
    """Standardised rows do not know their unit: the same draws, another scale."""
    from deepnoise import BDeepNoiseRegressor

    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    settings = {"hidden": (2,), "chains": 1, "warmup": 5, "draws": 10, "init": "prior"}
    one = BDeepNoiseRegressor(**settings, random_state=0).fit(x, y)
    other = BDeepNoiseRegressor(**settings, random_state=0).fit(x, 8 * y)
    np.testing.assert_allclose(
        8 * one.predict_quantiles(x, [0.1, 0.9]), other.predict_quantiles(x, [0.1, 0.9]), rtol=1e-6
    )


def test_order_of_rows_does_not_matter(key):
    """Permuted rows leave the law of Theta: means over many short chains agree."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(6, 1)), rng.normal(size=(6, 1))
    plan = Plan((2,), hard_tanh, 0, PROPER, 400, 30, 1, 1, "prior", "gibbs", "float64")
    order = rng.permutation(6)
    one = fit(plan, x, y).draws
    other = fit(replace(plan, seed=1), x[order], y[order]).draws
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    p_values = {
        str(i): scipy.stats.ks_2samp(a.reshape(400, -1)[:, 0], b.reshape(400, -1)[:, 0]).pvalue
        for i, (a, b) in enumerate(pairs)
    }
    assert not rejected(p_values)
