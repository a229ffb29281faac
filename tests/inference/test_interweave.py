"""The target of the non-centred move is the joint with u_L and the prior scales integrated out."""

import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from jax.flatten_util import ravel_pytree

from deepnoise.inference import interweave
from deepnoise.inference.interweave import Noises
from deepnoise.inference.kernels import (
    LENGTHS,
    InterweavedKernel,
    _inverse_mass,
)
from deepnoise.inference.posterior import Plan
from deepnoise.inference.runtime import numerics
from deepnoise.inference.unseen import Data
from deepnoise.model.activation import hard_tanh
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.network import Theta
from deepnoise.model.outcome import Window

from ..oracle import ACTIVATIONS, WIDTHS, random_model
from ..statistical.ratio import density_residual, round_trip_residual
from .fits import fit

EXACT = 1e-8


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


@pytest.mark.parametrize(
    ("widths", "h"), [("L0", "hard_tanh"), ("L1", "hard_tanh"), ("L2", "jumps"), ("L3", "tanh")]
)
def test_log_density_is_the_joint_with_parts_integrated(widths, h, key):
    widths, h = WIDTHS[widths], ACTIVATIONS[h]
    state, x, y, prior = random_model(key, widths, h)
    other = random_model(jax.random.fold_in(key, 1), widths, h)[0]
    residual = jax.jit(lambda s, t: density_residual(s, t, x, y, prior, h))(state, other)
    assert abs(residual) < EXACT


@pytest.mark.parametrize("widths", ["L1", "L2", "L3"])
def test_rebuild_inverts_standardise(widths, key):
    state, x, y, _ = random_model(key, WIDTHS[widths], hard_tanh)
    assert round_trip_residual(state, x, y, hard_tanh) < 1e-12


def test_position_round_trip(key):
    state = random_model(key, WIDTHS["L2"], hard_tanh)[0]
    there = state.theta, state.scales
    back = interweave.from_position(interweave.to_position(*there), state.scales)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), there, back)


def test_log_density_with_sites(key):
    """Weights of sites are in units of their own scale."""
    sites, h = (False, True, True), ACTIVATIONS["hard_tanh"]
    state, x, y, prior = random_model(key, WIDTHS["L2"], h, sites=sites)
    other = random_model(jax.random.fold_in(key, 1), WIDTHS["L2"], h, sites=sites)[0]
    residual = jax.jit(lambda s, t: density_residual(s, t, x, y, prior, h))(state, other)
    assert abs(residual) < EXACT
    there = state.theta, state.scales
    back = interweave.from_position(interweave.to_position(*there, sites), state.scales, sites)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), there, back)


@pytest.mark.parametrize("block", [1, 4, 7, 8, 13, 20])
@pytest.mark.parametrize("seen", ["exact", "windows", "some rows count"])
def test_rows_may_be_taken_in_blocks(block, seen, key):
    """13 rows: blocks that divide them or not, and more than there are."""
    state, x, y, prior = random_model(key, WIDTHS["L2"], hard_tanh, 13)
    noises = interweave.standardise(state.theta, *state.latents.clamp(x, y), hard_tanh)
    outcome = Window(y, y + 0.5) if seen == "windows" else y
    counted = (jnp.arange(13) < 11).astype(y.dtype) if seen == "some rows count" else None

    def density(position, block):
        given = noises, x, outcome, prior, hard_tanh, counted, block
        return interweave.log_density(position, *given)

    position = interweave.to_position(state.theta, state.scales)
    whole, parts = (jax.value_and_grad(density)(position, size) for size in (0, block))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), parts, whole)


@pytest.mark.parametrize("Q", [1, 2])
def test_log_likelihood_is_an_integral_over_the_last_u(Q, key):
    """Two hidden units, so that the integral over u_L is a double one, by Gauss-Hermite."""
    state, x, y, _ = random_model(key, (2, 2, Q), hard_tanh)
    theta = state.theta
    noises = interweave.standardise(theta, *state.latents.clamp(x, y), hard_tanh)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    share = np.outer(weights, weights).ravel()
    expected = 0.0
    for row in range(len(x)):
        centre = np.asarray(hard_tanh(state.latents.v[-1][row]))
        u = centre + grid * np.sqrt(theta.sigma2[-1])
        mean = u @ np.asarray(theta.beta[-1]).T + np.asarray(theta.gamma[-1])
        density = scipy.stats.norm.pdf(np.asarray(y[row]), mean, np.sqrt(theta.tau2[-1]))
        expected += np.log(share @ density.prod(axis=1))
    found = interweave.log_likelihood(theta, noises, x, y, hard_tanh)
    assert found == pytest.approx(expected, rel=1e-5)


def test_log_scale_mixture_is_an_integral_over_the_variance():
    """Differences between weights, against numerical integration of N(w; 0, s²) IG(s²; a, b)."""
    a, b = 1.3, 0.4
    law = InverseGamma(jnp.array(a), jnp.array(b))

    def integral(weight):
        density = lambda log_s2: np.exp(
            scipy.stats.norm.logpdf(weight, 0, np.exp(log_s2 / 2))
            + scipy.stats.invgamma.logpdf(np.exp(log_s2), a, scale=b)
            + log_s2
        )
        return np.log(scipy.integrate.quad(density, -12, 25, epsabs=0, limit=200)[0])

    ours = lambda w: float(interweave.log_scale_mixture(jnp.array([w]), law))
    for weight in (0.1, -1.0, 7.0):
        expected = integral(weight) - integral(0.0)
        assert ours(weight) - ours(0.0) == pytest.approx(expected, rel=1e-7)


def test_the_variance_term_is_the_prior_of_its_logarithm():
    law = InverseGamma(jnp.array(2.5), jnp.array(0.7))
    logs = np.linspace(-3, 3, 7)
    found = np.array([interweave._log_variance(jnp.array([t]), law) for t in logs])
    expected = scipy.stats.invgamma.logpdf(np.exp(logs), 2.5, scale=0.7) + logs
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


def test_one_outcome_and_several_agree(key):
    """A second outcome that depends on nothing adds its own density and changes nothing else."""
    state, x, y, _ = random_model(key, (2, 2, 1), hard_tanh)
    theta = state.theta
    noises = interweave.standardise(theta, *state.latents.clamp(x, y), hard_tanh)
    single = interweave.log_likelihood(theta, noises, x, y, hard_tanh)
    doubled = Theta(
        (theta.beta[0], jnp.concatenate([theta.beta[1], jnp.zeros((1, 2))])),
        (theta.gamma[0], jnp.append(theta.gamma[1], 0.0)),
        (theta.tau2[0], jnp.append(theta.tau2[1], 1.0)),
        theta.sigma2,
    )
    both = jnp.concatenate([y, 2 * jnp.ones_like(y)], axis=1)
    pair = interweave.log_likelihood(doubled, noises, x, both, hard_tanh)
    expected = len(x) * scipy.stats.norm.logpdf(2.0)
    assert float(pair - single) == pytest.approx(expected, rel=1e-12)


def test_redraw_last_keeps_everything_else(key):
    state, x, y, _ = random_model(key, WIDTHS["L3"], hard_tanh)
    noises: Noises = interweave.standardise(state.theta, *state.latents.clamp(x, y), hard_tanh)
    rebuilt = interweave.rebuild(state.theta, noises, x, hard_tanh)
    redrawn = interweave.redraw_last(key, state.theta, rebuilt, y, hard_tanh)
    assert len(redrawn.u) == len(state.latents.u) == len(rebuilt.u) + 1
    same = replace(redrawn, u=redrawn.u[:-1])
    jax.tree.map(np.testing.assert_array_equal, same, rebuilt)
    assert (redrawn.u[-1] != state.latents.u[-1]).all()


@pytest.fixture
def tuning(key):
    """(kernel, position, tuning) of a small network before any move."""
    state, x, y, prior = random_model(key, WIDTHS["L3"], hard_tanh)
    kernel = InterweavedKernel(hard_tanh, warmup=10, settle=0)
    begun = kernel.init(key, state.theta, state.scales, Data(x, y, prior))
    return kernel, interweave.to_position(state.theta, state.scales), begun.tuning


def test_a_score_that_overflows_does_not_stop_the_move(tuning):
    """Its square is infinite in float32; the masses keep what they had learnt."""
    kernel, _, begun = tuning
    before = replace(begun, log_score2=jnp.array([2.0, 3.0], jnp.float32))
    after = kernel._learn_mass(4, before, jnp.array([1e25, 1.0], jnp.float32))
    np.testing.assert_allclose(after.log_score2, [2.0, 2.4], atol=1e-6)


def test_the_mass_soon_forgets_the_scores_of_the_start(tuning):
    """Those of a draw of the prior may be 10⁹ where later ones are 100."""
    _, _, begun = tuning
    kernel = InterweavedKernel(hard_tanh, warmup=1000, settle=0)
    learnt = replace(begun, log_score2=jnp.zeros(2), window=jnp.array([0, 1000]))
    for t in range(300):
        score = jnp.array([3e4, 3e4]) if t < 20 else jnp.array([10.0, 0.1])
        learnt = kernel._learn_mass(t, learnt, score)
    np.testing.assert_allclose(jnp.exp(learnt.log_score2), [100, 0.01], rtol=0.1)


def test_the_step_size_is_tuned_afresh_for_the_mass_that_is_kept(tuning):
    kernel, position, begun = tuning
    score = ravel_pytree(position)[0]
    for t in range(8):
        begun = kernel._learn_step(t, kernel._learn_mass(t, begun, score), jnp.asarray(0.9))
    kept = kernel._learn_mass(8, begun, 2 * score)
    assert np.array_equal(kept.log_score2, begun.log_score2)
    assert kept.step_size.step == 1
    assert kept.step_size.log_step_size == pytest.approx(begun.step_size.log_step_size_avg)
    later = kernel._learn_mass(9, kernel._learn_step(8, kept, jnp.asarray(0.9)), 2 * score)
    assert later.step_size.step == 2
    done = kernel._learn_step(10, kernel._learn_mass(10, later, score), jnp.asarray(0.1))
    assert done.step_size.log_step_size_avg == later.step_size.log_step_size_avg


def test_masses_are_pooled_within_a_tensor(tuning):
    _, position, begun = tuning
    log_score2 = jnp.full_like(begun.log_score2, -jnp.inf).at[0].set(jnp.log(8.0))
    size = position.theta.beta[0].size
    learnt = replace(begun, log_score2=log_score2)
    found = 1 / _inverse_mass(learnt, ravel_pytree(position)[1]) - 1e-3
    np.testing.assert_allclose(found[0], 4 + 4 / size, rtol=1e-4)
    np.testing.assert_allclose(found[1:size], 4 / size, rtol=1e-3)
    np.testing.assert_allclose(found[size:], 0, atol=1e-8)


NEVER = np.nan


@pytest.mark.parametrize(
    ("jumps", "best"),
    [
        ([[NEVER, NEVER, NEVER]], 50),
        ([[10.0, NEVER, NEVER]], 50),
        # Twice as long a trajectory is no gain if it goes only a little further.
        ([[10.0, 14.0, NEVER]], 50),
        ([[10.0, 40.0, 60.0]], 100),
        ([[10.0, 40.0, 160.0]], 200),
        ([[0.0, 0.0, 0.0]], 50),
        ([[10.0, 40.0, 60.0], [10.0, 40.0, 100.0]], 200),
    ],
)
def test_the_length_goes_furthest_for_its_time(jumps, best):
    assert InterweavedKernel(hard_tanh, 10).best_length(np.array(jumps)) == best


def test_all_lengths_are_tried_until_the_mass_is_kept(tuning):
    kernel, _, begun = tuning
    chains = jax.tree.map(lambda a: np.stack([a, a]), begun)
    chains = replace(chains, jumps=np.array([[1.0, 9.0, 2.0]] * 2))
    steps, sweeps = kernel.steps(chains, 3)
    assert steps.tolist() == list(LENGTHS)
    assert sweeps == 5
    steps, sweeps = kernel.steps(chains, 8)
    assert steps.tolist() == [100] * 3
    assert sweeps == sys.maxsize


def test_jumps_of_before_are_forgotten_and_broken_ones_left_out(tuning):
    _, _, begun = tuning
    kernel = InterweavedKernel(hard_tanh, warmup=1000, settle=3)
    learnt = replace(begun, window=jnp.array([0, 1000]))
    learn = lambda t, tuning, jump: kernel._learn_jump(t, tuning, jnp.asarray(jump))
    assert np.isnan(learn(2, learnt, 1e4).jumps).all()
    learnt = learn(5, learnt, 100.0)
    assert learnt.jumps[2] == 100
    for t in range(8, 600, 3):
        learnt = learn(t, learnt, 3.0)
    assert learnt.jumps[2] == pytest.approx(3, rel=1e-3)
    assert np.isnan(learnt.jumps[:2]).all()
    assert learn(602, learnt, np.inf).jumps[2] == learnt.jumps[2]
    assert learn(899, learnt, 9.0).jumps[2] == learnt.jumps[2]
    again = replace(learnt, window=jnp.array([1200, 1300]))
    assert learn(1202, again, 9.0).jumps[2] == 9


def test_chains_keep_the_length_that_their_trials_chose():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    plan = Plan((3,), hard_tanh, 0, chains=2, warmup=20, draws=2, init="prior")
    found = fit(plan, x, x[:, :1])
    jumps = found.run.state.tuning.jumps
    assert np.isfinite(jumps).all()
    assert found.steps == InterweavedKernel(hard_tanh, 20).best_length(jumps)
    assert fit(replace(plan, warmup=0), x, x[:, :1]).steps == LENGTHS[0]
    assert fit(replace(plan, sampler="gibbs"), x, x[:, :1]).steps == 0
