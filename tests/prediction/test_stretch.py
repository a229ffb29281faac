import numpy as np
import pytest

from deepnoise.prediction import metrics
from deepnoise.prediction.density.mixture import PredictiveMixture
from deepnoise.prediction.density.stretch import best_stretch, stretched

from .mixtures import random_mixture


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
