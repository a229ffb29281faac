"""Guarded and stretched mixtures; those with interleaved rows are in test_conformal.py."""

import numpy as np
import pytest

from deepnoise.prediction import metrics
from deepnoise.prediction.density.derived import best_stretch, guarded, stretched
from deepnoise.prediction.density.mixture import PredictiveMixture

from .mixtures import random_mixture

VARIANCES = np.array([4.0, 9.0])


@pytest.fixture
def density():
    return random_mixture(0, rows=5, components=3, outcomes=2)


def test_a_guard_is_a_wide_component(density):
    found = guarded(density, 0.1, VARIANCES)
    y = np.random.default_rng(0).normal(size=(5, 2))
    wide = PredictiveMixture.of(density.mean()[:, None], np.diag(VARIANCES)[None, None])
    expected = np.logaddexp(density.log_prob(y) + np.log(0.9), wide.log_prob(y) + np.log(0.1))
    np.testing.assert_allclose(found.log_prob(y), expected, rtol=1e-9)
    np.testing.assert_allclose(found.mean(), density.mean(), rtol=1e-12)
    inflated = 0.9 * density.cov() + 0.1 * np.diag(VARIANCES)
    np.testing.assert_allclose(found.cov(), inflated, rtol=1e-9)


def test_a_guard_of_rows_that_share_covariances():
    shared = PredictiveMixture.of(np.zeros((4, 2, 1)), np.ones((1, 2, 1, 1)))
    found = guarded(shared, 0.01, np.array([9.0]))
    assert found.components().covs.shape[0] == 1
    assert found.n_components == 3
    np.testing.assert_allclose(found.var(), 0.99 + 0.09, rtol=1e-12)


def test_a_far_row_keeps_some_density():
    narrow = PredictiveMixture.of([[[0.0]]], [[[[1e-6]]]])
    assert narrow.log_prob(1.0)[0] < -1e5
    assert guarded(narrow, 0.01, np.array([1.0])).log_prob(1.0)[0] > -7


@pytest.mark.parametrize(("share", "variances"), [(0.0, VARIANCES), (0.1, np.array([0.0, 1.0]))])
def test_without_a_share_or_a_spread_there_is_none(density, share, variances):
    assert guarded(density, share, variances) is density


def test_it_is_the_law_of_the_stretched_outcome():
    density = random_mixture(0, rows=3, components=4, outcomes=2)
    found = stretched(density, 1.7)
    y = np.random.default_rng(0).normal(size=(3, 2))
    moved = density.mean() + (y - density.mean()) / 1.7
    np.testing.assert_allclose(
        found.log_prob(y), density.log_prob(moved) - 2 * np.log(1.7), rtol=1e-9
    )
    np.testing.assert_allclose(found.mean(), density.mean(), rtol=1e-9)
    np.testing.assert_allclose(found.cov(), 1.7**2 * density.cov(), rtol=1e-9)


@pytest.mark.parametrize("true", [0.3, 1.0, 2.0])
def test_a_wrong_spread_is_found(true):
    rng = np.random.default_rng(1)
    density = PredictiveMixture.of(rng.normal(size=(4000, 1, 1)), np.ones((1, 1, 1, 1)))
    y = density.mean() + true * rng.normal(size=4000)
    found = best_stretch(density, y)
    assert found == pytest.approx(true, rel=0.05)
    better = stretched(density, found)
    assert metrics.nll(better, y) <= metrics.nll(density, y) + 1e-9
    assert metrics.coverage(better, y, 0.9) == pytest.approx(0.9, abs=0.02)
