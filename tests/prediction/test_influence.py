"""Influence against finite differences and against straight lines."""

import numpy as np
import pytest

from deepnoise.model.activation import PiecewiseLinear, hard_tanh, identity
from deepnoise.prediction import per_draw
from deepnoise.prediction.functionals import moments
from deepnoise.prediction.influence import influence
from deepnoise.prediction.per_draw import DrawDensities

from .networks import densities

X_SCALE = np.array([0.5, 3.0])


def features_of(given, level=0.9):
    """Influence of two features that are the inputs, in units of X_SCALE."""
    slopes = np.broadcast_to(1 / X_SCALE, given.x.shape)
    return influence(given, ("a", "b"), slopes, [], level)


def shifted(given, feature, step):
    x = given.x.copy()
    x[:, feature] += step
    return DrawDensities(**{**vars(given), "x": x})


@pytest.mark.parametrize("widths", [(2, 3, 1), (2, 3, 3, 2)])
def test_against_finite_differences(key, widths):
    given = densities(key, widths, h=hard_tanh, draws=3, weights=[0.2, 0.5, 0.3])
    found = features_of(given)
    step = 1e-7
    for feature in range(2):
        ends = [moments(shifted(given, feature, sign * step)) for sign in (1, -1)]
        slope_mean, slope_sd = (
            (up - down) / (2 * step * X_SCALE[feature]) for up, down in zip(*ends, strict=True)
        )
        mean = np.abs(np.einsum("nmq,m->nq", slope_mean, given.weights)).mean(axis=0)
        assert np.allclose(np.atleast_1d(found.predictive[feature]), mean, rtol=1e-4, atol=1e-5)
        for band, slope in ((found.mean, slope_mean), (found.sd, slope_sd)):
            each = np.abs(slope).mean(axis=0)
            assert np.allclose(band.mean[feature], given.weights @ each, rtol=1e-4, atol=1e-5)
            assert np.allclose(band.lower[feature], each.min(axis=0), rtol=1e-4, atol=1e-5)
            assert np.allclose(band.upper[feature], each.max(axis=0), rtol=1e-4, atol=1e-5)


def test_a_straight_line_has_its_slope(key):
    given = densities(key, (2, 1), draws=1, h=identity)
    found = features_of(given)
    assert np.allclose(found.predictive, np.abs(given.draws.beta[0][0, 0]) * 2.0 / X_SCALE)
    assert np.allclose(found.sd.mean, 0)


def test_inputs_of_one_feature_add_up(key):
    given = densities(key, (3, 1), draws=1, h=identity)
    slopes = np.array([2.0, 5.0, -1.0]) * np.ones_like(given.x)
    found = influence(given, ("a", "b"), slopes, [1], 0.9)
    beta = given.draws.beta[0][0, 0]
    expected = [2 * beta[0], 5 * beta[1] - beta[2]]
    assert np.allclose(found.predictive, np.abs(expected) * 2.0)


def test_blocks_of_rows_change_nothing(key, monkeypatch):
    given = densities(key, rows=7)
    whole = features_of(given)
    monkeypatch.setattr(per_draw, "BLOCK_VALUES", 50)
    assert np.allclose(features_of(given).predictive, whole.predictive)


def test_jumps_are_refused(key):
    step = PiecewiseLinear((0.0, 0.0), (0.0, 1.0), (0.0,))
    with pytest.raises(ValueError, match="without jumps"):
        features_of(densities(key, h=step))
