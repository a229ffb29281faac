"""The parts of the entropy against laws whose entropies are known."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import integrate, special, stats

from deepnoise.model.activation import identity
from deepnoise.prediction import per_draw
from deepnoise.prediction.density.mixture import PredictiveMixture
from deepnoise.prediction.per_draw import moments, thinned
from deepnoise.prediction.uncertainty import SAMPLES, entropy_parts, information

from .networks import densities


def gaussian_entropy(covs):
    """Of N(0, cov) for every cov (M, Q, Q)."""
    return np.linalg.slogdet(2 * np.pi * np.e * covs)[1] / 2


def parts(given):
    """The entropy parts, the predictive density made of the same draws and paths."""
    means = np.concatenate([block for _, block in given.blocks()])
    rows, draws, paths, outcomes = means.shape
    predictive = PredictiveMixture.of(
        means.reshape(rows, draws * paths, outcomes),
        np.repeat(given.covs(), paths, axis=0)[None],
        np.repeat(given.weights / paths, paths)[None],
    )
    return entropy_parts(predictive, given)


def test_one_outcome_against_adaptive_quadrature(key):
    """Without a hidden layer y is Gaussian given a draw."""
    given = densities(key, (2, 1), draws=3, rows=3, weights=[0.5, 0.3, 0.2])
    means, sds = (part[..., 0] for part in moments(given))
    found = parts(given)
    for n in range(3):

        def minus_p_log_p(y, n=n):
            p = given.weights @ stats.norm.pdf(y, means[n], sds[n])
            return -p * np.log(p) if p > 0 else 0.0

        ends = means[n].min() - 12 * sds[n].max(), means[n].max() + 12 * sds[n].max()
        truth, _ = integrate.quad(minus_p_log_p, *ends, limit=500, points=means[n])
        assert found.total[n] == pytest.approx(truth, abs=1e-7)
    exact = given.weights @ gaussian_entropy(given.covs())
    assert np.allclose(found.aleatoric, exact, atol=1e-7)
    assert (found.standard_error == 0).all()


def test_few_paths_of_noise_do_not_look_like_ignorance(key):
    """A linear network is Gaussian given a draw; most of its noise is in the paths.

    Without its correction the mean error of 64 paths is 0.11.
    """
    given = densities(key, (2, 3, 1), draws=6, paths=64, h=identity)
    small = {"sigma2": (given.draws.sigma2[0] / 500,)}
    small["tau2"] = (given.draws.tau2[0], given.draws.tau2[1] / 500)
    given = replace(given, draws=replace(given.draws, **small))
    effect = np.einsum("mqk,mk->m", np.square(given.draws.beta[1]), given.draws.tau2[0])
    last = np.einsum("mqk,mk->m", np.square(given.draws.beta[1]), given.draws.sigma2[0])
    sds = np.sqrt(effect + last + given.draws.tau2[1][:, 0]) * given.scale
    hidden = np.einsum("mkp,np->nmk", given.draws.beta[0], given.x) + given.draws.gamma[0]
    centre = np.einsum("mqk,nmk->nm", given.draws.beta[1], hidden) + given.draws.gamma[1][:, 0]
    exact = [
        information_of_normals(row * given.scale + given.shift, sds, given.weights)
        for row in centre
    ]
    rng = np.random.default_rng(0)
    keys = jax.random.split(key, 8)
    found = [information(replace(given, key=k), rng)[0] for k in keys]
    assert abs(np.mean(found - np.array(exact))) < 0.06
    found = information(replace(given, paths=2000), rng)[0]
    assert np.allclose(found, exact, atol=0.03)


def information_of_normals(means, sds, weights):
    grid = np.linspace(means.min() - 10 * sds.max(), means.max() + 10 * sds.max(), 20_001)
    p = stats.norm.pdf(grid[:, None], means, sds)
    divergence = special.rel_entr(p, (p @ weights)[:, None])
    return np.trapezoid(divergence, grid, axis=0) @ weights


def same_draws(given, many):
    repeated = jax.tree.map(lambda a: np.repeat(a[:1], many, axis=0), given.draws)
    return replace(given, draws=repeated, weights=np.full(many, 1 / many))


@pytest.mark.parametrize("outcomes", [1, 2])
def test_knowing_theta_tells_nothing_that_is_known(key, outcomes):
    """However few the paths."""
    given = same_draws(densities(key, (2, 3, outcomes), paths=2), 30)
    assert np.allclose(parts(given).epistemic, 0, atol=1e-12)


def far_apart(given, sds):
    """Two draws without hidden layers, so far apart that y tells which it came from."""
    theta = replace(
        given.draws,
        beta=(np.zeros((2, given.n_outcomes, 2)),),
        gamma=(np.tile([[-200.0], [200.0]], (1, given.n_outcomes)),),
        tau2=(np.tile(np.square(sds)[:, None], (1, given.n_outcomes)),),
    )
    return replace(given, draws=theta)


@pytest.mark.parametrize("sds", [(1.0, 2.0), (1e-3, 1.0)], ids=["quadrature", "sampling"])
def test_two_draws_far_apart_are_one_bit(key, sds):
    given = far_apart(densities(key, (2, 1), draws=2, weights=[0.25, 0.75]), sds)
    found = parts(given)
    assert np.allclose(found.epistemic, stats.entropy([0.25, 0.75]), atol=1e-3)
    exact = given.weights @ gaussian_entropy(given.covs())
    error = found.standard_error.sum(axis=1)
    assert (np.abs(found.aleatoric - exact) <= 5 * error + 1e-7).all()
    assert (error > 0).all() == (sds[0] < 1)


def test_several_outcomes_within_their_standard_error(key):
    given = densities(key, (2, 2), draws=4, rows=40)
    found = parts(given)
    exact = given.weights @ gaussian_entropy(given.covs())
    z = (found.aleatoric - exact) / np.hypot(*found.standard_error.T)
    assert np.abs(z).max() < 5
    assert found.standard_error[:, 0] == pytest.approx(1 / np.sqrt(SAMPLES), rel=0.5)
    for q in range(2):
        theta = given.draws
        one = replace(
            given,
            draws=replace(
                theta,
                beta=(theta.beta[0][:, q : q + 1],),
                gamma=(theta.gamma[0][:, q : q + 1],),
                tau2=(theta.tau2[0][:, q : q + 1],),
            ),
            scale=given.scale[q : q + 1],
            shift=given.shift[q : q + 1],
        )
        # One outcome tells no more of Theta than both.
        alone = parts(one).epistemic
        assert (alone <= found.epistemic + 4 * found.standard_error[:, 1]).all()


def test_units_shift_the_entropy_and_leave_the_information(key):
    given = densities(key)
    scaled = replace(given, scale=10 * given.scale)
    a, b = parts(given), parts(scaled)
    assert np.allclose(b.aleatoric, a.aleatoric + np.log(10))
    assert np.allclose(b.epistemic, a.epistemic, atol=1e-8)


def test_blocks_of_rows_change_nothing(key, monkeypatch):
    given = densities(key, (2, 3, 2), rows=5)
    whole = parts(given)
    monkeypatch.setattr(per_draw, "BLOCK_VALUES", 600)
    assert np.allclose(parts(given).total, whole.total)


def test_thinned_draws_keep_their_proportions(key):
    given = densities(key, draws=8, weights=[0.0, 0.0, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
    few = thinned(given, 3)
    assert few.weights == pytest.approx([0.2, 0.4, 0.4])
    assert np.array_equal(few.draws.gamma[0], given.draws.gamma[0][[2, 4, 7]])
    assert len(thinned(given, 100).weights) == 6
