"""Sites have a scale of their own: limits with known answers, and what a slip would do."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from deepnoise.inference.new_site import SiteLaw, draw_weights
from deepnoise.inference.posterior import Plan
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh
from deepnoise.model.gamma import Gamma
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.network import Prior, Theta

from ..inference.fits import fit
from ..oracle import ACTIVATIONS, random_model
from ..statistics import ALPHA
from . import ratio
from .geweke import LARGE, Net, drift, gibbs_kernel, interweaved_kernel

EXACT = 1e-8
SITES = (False, True, True)


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


def random_intercepts():
    """Four observations at each of five sites, and one-hot columns for them and a new one."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(5), 4)
    y = 0.5 + rng.normal(0, 1.0, 5)[site] + 0.4 * rng.normal(size=len(site))
    return np.eye(6)[site], y[:, None]


def exact_new_site(y, t):
    """P(γ + w <= t) of a new site's w: quadrature over γ, log τ² and log s, and over each w.

    y = γ + w + e, w ~ √s Student-t with ten degrees of freedom, √s half-normal, ξ² ~ IG(5, 5),
    τ² ~ IG(1, 0.001): the default prior without other inputs and hidden layers.
    """
    gamma = np.linspace(-4, 5, 46)[:, None, None, None]
    log_tau2 = np.linspace(-4, 1, 41)[:, None, None]
    log_s = np.linspace(-7, 4, 45)[:, None]
    nodes = np.linspace(-5, 6, 331)
    tau2, s = np.exp(log_tau2), np.exp(log_s)
    log_weight = scipy.stats.t(10).logpdf(gamma[..., 0])
    log_weight = log_weight + (scipy.stats.invgamma(1, scale=0.001).logpdf(tau2) + log_tau2)[..., 0]
    log_weight = log_weight + (scipy.stats.halfnorm.logpdf(np.sqrt(s)) + log_s / 2)[..., 0]
    prior = scipy.stats.t(10, loc=gamma[..., 0, :], scale=np.sqrt(s)).pdf(nodes)
    for rows in y.reshape(5, 4):
        fits = scipy.stats.norm.logpdf(rows[:, None, None], nodes, np.sqrt(tau2[:, 0]))
        like = np.exp(fits.sum(axis=0))
        log_weight = log_weight + np.log(np.tensordot(prior, like, (2, 1))).swapaxes(1, 2)
    weight = np.exp(log_weight - log_weight.max()).sum(axis=1)
    below = scipy.stats.t(10, loc=gamma[..., 0], scale=np.sqrt(s)[:, 0])
    return np.array([np.sum(weight * below.cdf(at)[:, 0]) for at in t]) / weight.sum()


@pytest.mark.parametrize("sampler", [pytest.param("gibbs", marks=pytest.mark.slow), "interweaved"])
def test_a_new_site_of_the_random_intercept_model(sampler):
    x, y = random_intercepts()
    lengths = {"chains": 4, "warmup": 300, "draws": 500, "thin": 8}
    plan = Plan(
        (), hard_tanh, 0, **lengths, init="prior", sampler=sampler, dtype="float64", sites=(0, 6)
    )
    draws = fit(plan, x, y).draws
    level = np.asarray(draws.gamma[0][..., 0] + draws.beta[0][..., 0, 5]).ravel()
    grid = np.linspace(-12, 13, 120)
    cdf = exact_new_site(y[:, 0], grid)
    assert cdf[0] < 0.01
    assert cdf[-1] > 0.99
    assert scipy.stats.kstest(level, lambda t: np.interp(t, grid, cdf)).pvalue > ALPHA


@pytest.mark.parametrize("L", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_weights_of_a_later_site(L):
    """One unit: its weight given rows of the site, all else fixed, by quadrature."""
    h, M, s = hard_tanh, 3000, 0.8
    one = lambda value: jnp.full((M, 1), value)
    beta = jnp.tile(jnp.array([[0.7, -0.4, 9.0]]), (M, 1, 1))
    last = (jnp.full((M, 1, 1), 1.5),) if L else ()
    tau2 = (one(0.1), one(0.2))[: L + 1]
    theta = Theta((beta, *last), (one(0.3), one(-0.2))[: L + 1], tau2, (one(0.05),)[:L])
    x = jnp.array([[0.5, 0.0, 1.0], [-1.0, 0.0, 1.0], [0.2, 0.0, 1.0]])
    y = jnp.array([[1.4], [-0.6], [0.9]])
    pinned = Gamma(jnp.asarray(1e7), jnp.asarray(1e7 / s))
    law = SiteLaw(InverseGamma(jnp.asarray(5.0), jnp.asarray(5.0)), pinned)
    keys = jax.random.split(jax.random.key(3), M)
    found = draw_weights(keys, theta, x, y, law, jnp.array([1, 2]), 2, 40, h)[:, 0]
    w, v = np.linspace(-8, 8, 1601), np.linspace(-7, 7, 701)
    log_weight = scipy.stats.t(10, scale=np.sqrt(s)).logpdf(w)
    for row, value in zip(np.asarray(x), np.asarray(y)[:, 0], strict=True):
        m = 0.7 * row[0] + 0.3 + w
        if L == 0:
            log_weight += scipy.stats.norm.logpdf(value, m, np.sqrt(0.1))
            continue
        top = scipy.stats.norm.pdf(
            value, 1.5 * np.clip(v, -1, 1) - 0.2, np.sqrt(0.2 + 1.5**2 * 0.05)
        )
        log_weight += np.log(scipy.stats.norm.pdf(v, m[:, None], np.sqrt(0.1)) @ top)
    cdf = np.cumsum(np.exp(log_weight - log_weight.max()))
    cdf /= cdf[-1]
    assert scipy.stats.kstest(np.asarray(found), lambda t: np.interp(t, w, cdf)).pvalue > ALPHA


def sites_in_the_scale_of_others(monkeypatch):
    """The scale of layer 0 learnt from the weights of sites too."""
    right = Prior.scaled_weights

    def wrong(self, rho2):
        parts = right(self, rho2)
        return [(rho2[0], self.weight[0]), *parts[1:]]

    monkeypatch.setattr(Prior, "scaled_weights", wrong)


@pytest.mark.parametrize("mutant", [False, True])
def test_exact_identities_with_sites(mutant, monkeypatch):
    widths, h = (3, 2, 1), hard_tanh
    state, x, y, prior = random_model(jax.random.key(3), widths, h, sites=SITES)
    other = random_model(jax.random.key(4), widths, h, sites=SITES)[0]
    if mutant:
        sites_in_the_scale_of_others(monkeypatch)
    residuals = jax.jit(lambda key: ratio.sweep_residuals(key, state, other, x, y, prior, h))
    found = np.abs(jax.tree.leaves(residuals(jax.random.key(5))))
    assert (found.max() < EXACT) == (not mutant)


@pytest.mark.parametrize(
    ("kernel", "widths"),
    [
        pytest.param(interweaved_kernel, (3, 2, 1), marks=pytest.mark.slow),
        pytest.param(gibbs_kernel, (3, 2, 1), marks=pytest.mark.long),
        pytest.param(interweaved_kernel, (3, 2), marks=pytest.mark.long),
    ],
)
def test_kernels_are_right_with_sites(kernel, widths, key):
    h = ACTIVATIONS["hard_tanh"]
    assert not drift(key, kernel(h), Net(h, widths, N=4, sites=SITES), LARGE)


def test_without_sites_nothing_is_added():
    """The same arrays and the same numbers as before there were sites."""
    _, _, _, prior = random_model(jax.random.key(3), (3, 2, 1), hard_tanh)
    given = random_model(jax.random.key(3), (3, 2, 1), hard_tanh, sites=SITES)[3]
    assert len(jax.tree.leaves(given)) == len(jax.tree.leaves(prior)) + 2
    parts = prior.scaled_weights(("a", "b"))
    assert [(a, law) for a, law in parts] == list(zip("ab", prior.weight, strict=True))
    alone = replace(prior, sites=None)
    assert jax.tree.structure(alone) == jax.tree.structure(prior)
