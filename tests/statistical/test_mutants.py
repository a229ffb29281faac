"""Each mistake is caught by name, and the code as it stands passes the same checks."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from deepnoise.inference.kernels import Data, GibbsKernel
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh
from deepnoise.model.network import simulate
from deepnoise.prediction.predict import predictive

from ..oracle import random_model
from ..statistics import ALPHA, rejected
from . import linear, ratio
from .geweke import LARGE, Net, drift, gibbs_kernel, interweaved_kernel
from .mutants import MUTANTS, caught_by

WIDTHS = (2, 2, 2, 2)
EXACT = 1e-8


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


def cases(*checks, mark=lambda name: []):
    """(check, mutant) for all mutants of the checks, and the right code once for each."""
    return [
        pytest.param(check, name, id=f"{check}: {name}", marks=mark(name))
        for check in checks
        for name in ("right", *caught_by(check))
    ]


def slow_or_long(name):
    """Long where an exact identity catches the mutant too: that one is in the fast tier."""
    exact = name != "right" and len(MUTANTS[name].caught_by) > 1
    return pytest.mark.long if exact else pytest.mark.slow


@pytest.mark.parametrize(("check", "name"), cases("ratio", "density", "round trip"))
def test_exact_identities(check, name, monkeypatch):
    state, x, y, prior = random_model(jax.random.key(3), WIDTHS, hard_tanh)
    other = random_model(jax.random.key(4), WIDTHS, hard_tanh)[0]
    if name != "right":
        MUTANTS[name].inject(monkeypatch)

    def residuals(key):
        if check == "ratio":
            return ratio.sweep_residuals(key, state, other, x, y, prior, hard_tanh)
        if check == "density":
            return ratio.density_residual(state, other, x, y, prior, hard_tanh)
        return ratio.round_trip_residual(state, x, y, hard_tanh)

    found = np.abs(jax.tree.leaves(jax.jit(residuals)(jax.random.key(5))))
    assert (found.max() < EXACT) == (name == "right")


@pytest.mark.parametrize(("check", "name"), cases("predictive"))
def test_predictive_against_simulation(check, name, monkeypatch):
    theta = random_model(jax.random.key(7), WIDTHS, hard_tanh)[0].theta
    theta = replace(theta, sigma2=(jnp.array([0.3, 0.2]), jnp.array([2.0, 1.5])))
    if name != "right":
        MUTANTS[name].inject(monkeypatch)
    x = jnp.array([[0.3, -0.8]])
    simulated = simulate(jax.random.key(1), theta, jnp.tile(x, (10_000, 1)), hard_tanh)[1]
    draws = jax.tree.map(lambda a: np.asarray(a)[None], theta)
    density = predictive(jax.random.key(2), draws, np.asarray(x), hard_tanh, paths=20_000)
    for q in range(2):
        cdf = density.marginal(q).cdf_grid(np.sort(simulated[:, q]))[0]
        p_value = scipy.stats.kstest(cdf, "uniform").pvalue
        assert (p_value > ALPHA) == (name == "right")


@pytest.mark.parametrize(("check", "name"), cases("linear model"))
def test_posterior_of_the_linear_model(check, name, monkeypatch):
    if name != "right":
        MUTANTS[name].inject(monkeypatch)
    x, y, prior = linear.problem()
    program = jax.jit(lambda key: linear.chains(key, GibbsKernel(hard_tanh, 0), Data(x, y, prior)))
    wrong = rejected(linear.p_values(program(jax.random.key(6)), x, y))
    assert (not wrong) == (name == "right"), wrong


@pytest.mark.parametrize(("check", "name"), cases("gibbs", "interweaved", mark=slow_or_long))
def test_geweke(check, name, monkeypatch):
    if name != "right":
        MUTANTS[name].inject(monkeypatch)
    kernel = gibbs_kernel(hard_tanh) if check == "gibbs" else interweaved_kernel(hard_tanh)
    wrong = drift(jax.random.key(8), kernel, Net(hard_tanh, WIDTHS), LARGE)
    assert (not wrong) == (name == "right"), wrong


@pytest.mark.parametrize("name", ["right", "E3 priors of tau2 and sigma2 swapped"])
def test_quick_geweke(name, monkeypatch):
    """A mutant that is cheap to see, in the fast tier."""
    if name != "right":
        MUTANTS[name].inject(monkeypatch)
    wrong = drift(jax.random.key(8), gibbs_kernel(hard_tanh), Net(hard_tanh, (2, 2, 1)))
    assert (not wrong) == (name == "right"), wrong


def test_every_erratum_of_the_sampler_has_a_mutant():
    # E7 is a start that needs no scales (test_sampling); E8 and E9 are not about the sampler.
    assert {name.split()[0] for name in MUTANTS} >= {"E1", "E2", "E3", "E4", "E5", "E6"}
