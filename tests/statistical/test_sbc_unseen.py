"""Simulation-based calibration of chains that also draw what was not seen."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.kernels import InterweavedKernel
from deepnoise.inference.runtime import numerics
from deepnoise.inference.unseen import CUT_MEDIAN, Beside, Data, Unseen, begin
from deepnoise.model.activation import hard_tanh
from deepnoise.model.covariates import Missing, input_prior
from deepnoise.model.marginal import last_covariance, path_means
from deepnoise.model.network import sample_prior, simulate
from deepnoise.model.outcome import Choice, Levels, Window, log_choice

from ..oracle import proper_prior
from ..statistics import rejected, uniform_ranks

SIMULATIONS, WARMUP, KEPT, THIN = 256, 304, 31, 16
ROWS = 8
KERNEL = InterweavedKernel(hard_tanh, WARMUP, settle=0, lengths=(5,))
LEVELS = 3
# Three rows are whole, one has no entry at all.
GAPS = np.array([[0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1]], bool)


@dataclass(frozen=True)
class Case:
    """How data are made from Theta, and what is compared besides the predictive.

    ``simulate(key, theta, prior)`` gives the data of a chain and the truth behind them.
    """

    widths: tuple[int, ...]
    simulate: Callable
    compared: Callable[[Unseen], dict]


def line() -> jax.Array:
    return jnp.linspace(-1.5, 1.5, ROWS)[:, None]


def censored(key, theta, prior):
    """Seen exactly between -1 and 0.7 only; of the first row nothing was seen."""
    _, y = simulate(key, theta, line(), hard_tanh)
    lower = jnp.where(y < -1, -jnp.inf, jnp.where(y > 0.7, 0.7, y)).at[0].set(-jnp.inf)
    upper = jnp.where(y < -1, -1.0, jnp.where(y > 0.7, jnp.inf, y)).at[0].set(jnp.inf)
    return Data(line(), Window(lower, upper), prior), Unseen(y=y)


def gaps_in_x(key, theta, prior):
    key_law, key_x, key_y = jax.random.split(key, 3)
    law = input_prior(2).sample(key_law)
    covariance = jnp.linalg.inv(law.precision)
    x = jax.random.multivariate_normal(key_x, law.mu, covariance, (ROWS,))
    _, y = simulate(key_y, theta, x, hard_tanh)
    rows = np.flatnonzero(GAPS.any(1))
    missing = Missing(jnp.asarray(rows), jnp.asarray(GAPS[rows]))
    return Data(jnp.where(GAPS, 0, x), y, prior, missing), Unseen(x=x, beside=Beside(inputs=law))


def ordered(key, theta, prior):
    key_y, key_cut = jax.random.split(key)
    _, y = simulate(key_y, theta, line(), hard_tanh)
    step = CUT_MEDIAN * jnp.exp(jax.random.normal(key_cut, (LEVELS - 2,)))
    cuts = jnp.concatenate([jnp.zeros(1), jnp.cumsum(step)])
    return Data(line(), Levels(jnp.sum(y > cuts, 1, keepdims=True)), prior), Unseen(
        y=y, beside=Beside(cuts=cuts)
    )


def chosen(key, theta, prior):
    _, y = simulate(key, theta, line(), hard_tanh)
    return Data(line(), Choice(jnp.argmax(y, 1)), prior), Unseen(y=y)


def input_law(unseen: Unseen) -> dict:
    law, x = unseen.beside.inputs, unseen.x
    sign, log_det = jnp.linalg.slogdet(law.precision)
    slope = law.precision[0, 1] / jnp.sqrt(law.precision[0, 0] * law.precision[1, 1])
    return {
        "mu": law.mu[0],
        "log det": sign * log_det,
        "slope": slope,
        "entry beside another": x[3, 0],
        "entry of an empty row": x[7, 1],
    }


CASES = {
    "censored": Case((1, 2, 1), censored, lambda u: {"y": u.y[0, 0]}),
    "missing inputs": Case((2, 2, 1), gaps_in_x, input_law),
    "ordered": Case((1, 2, 1), ordered, lambda u: {"y": u.y[0, 0], "cut": u.beside.cuts[1]}),
    "classes": Case((1, 2, 3), chosen, lambda u: {"y": u.y[0, 0] - u.y[0, 1], "sum": u.y.sum()}),
}


def functionals(theta, unseen: Unseen, compared) -> dict:
    """Of the predictive at a new x, the noise, and what was not seen."""
    x = jnp.full((1, theta.beta[0].shape[1]), 0.7)
    means = path_means(jax.random.key(0), theta, x, hard_tanh, 64)[:, 0]
    variance = jnp.diagonal(last_covariance(theta))
    found = {
        "mean": jnp.mean(means[:, 0]),
        "sd": jnp.sqrt(variance[0] + jnp.var(means[:, 0])),
        "noise": jnp.log(theta.tau2[-1][0]),
    }
    if means.shape[1] > 1:
        chance = jnp.exp(log_choice(means, jnp.broadcast_to(variance, means.shape)))
        found["first class"] = jnp.mean(chance[:, 0])
    return found | compared(unseen)


def ranks(key, case: Case) -> dict:
    """How many kept draws lie below the truth, for one simulated data set."""
    prior = proper_prior(case.widths)
    key_truth, key_rows, key_start, key_begin, key_init, key_run = jax.random.split(key, 6)
    truth, _ = sample_prior(key_truth, prior, case.widths, float)
    data, hidden = case.simulate(key_rows, truth, prior)
    unseen = begin(key_begin, data, case.widths[-1], LEVELS)
    start = sample_prior(key_start, prior, case.widths, float)
    state = KERNEL.init(key_init, *start, data, unseen)

    def sweep(t, state):
        return KERNEL.step(jax.random.fold_in(key_run, t), t, state, data)

    def keep(state, d):
        state = jax.lax.fori_loop(d * THIN, (d + 1) * THIN, sweep, state)
        return state, functionals(KERNEL.theta(state), state.gibbs.unseen, case.compared)

    # One loop over warm-up and kept draws: the step is compiled once.
    first = WARMUP // THIN
    _, drawn = jax.lax.scan(keep, state, jnp.arange(first + KEPT))
    true = functionals(truth, hidden, case.compared)
    return jax.tree.map(lambda draws, value: jnp.sum(draws[first:] < value), drawn, true)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_ranks_are_uniform(name, key):
    with numerics():
        run = jax.jit(jax.vmap(lambda k: ranks(k, CASES[name])))
        found = {n: np.asarray(r) for n, r in run(jax.random.split(key, SIMULATIONS)).items()}
    assert not rejected(uniform_ranks(found, KEPT)), found
