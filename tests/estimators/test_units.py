"""Standardised units and back, at any magnitude."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deepnoise.estimators.units import Standardizer, Units
from deepnoise.prediction.density.mixture import PredictiveMixture

COLUMN = arrays(float, st.integers(1, 20), elements=st.floats(-1.7e308, 1.7e308))


def test_mean_zero_and_sd_one(key):
    x = np.random.default_rng(0).normal(3, [1e-6, 1, 1e6], (50, 3))
    standard = Standardizer.learn(x).apply(x)
    assert np.allclose(standard.mean(0), 0, atol=1e-9)
    assert np.allclose(standard.std(0), 1)


@given(COLUMN)
def test_any_column_is_standardised(values):
    units = Standardizer.learn(values[:, None])
    standard = units.apply(values[:, None])
    assert np.isfinite(standard).all()
    assert np.abs(standard).max() <= 1.01 * np.sqrt(len(values))
    assert units.scale[0] > 0


@pytest.mark.parametrize("size", [1e-290, 1e-100, 1.0, 1e100, 1e307])
def test_units_scale_with_the_values(size):
    values = np.array([[1.0], [2.0], [4.0]])
    assert np.allclose(
        Standardizer.learn(values * size).apply(values * size),
        Standardizer.learn(values).apply(values),
    )


def test_constant_columns_have_scale_one():
    units = Standardizer.learn(np.array([[0.1, 1e300], [0.1, 1e300], [0.1, 1e300]]))
    assert units == Standardizer((0.1, 1e300), (1.0, 1.0))
    assert np.array_equal(units.apply(np.array([[0.1, 1e300]])), [[0, 0]])


def test_far_values_stay_finite():
    units = Standardizer((0.0,), (1e-300,))
    assert np.array_equal(units.apply(np.array([[1e300], [-1e300]])), [[1e30], [-1e30]])


def test_density_in_the_users_units():
    density = PredictiveMixture.of([[[0.5]]], [[[[4.0]]]])
    restored = Standardizer((10.0,), (3.0,)).restore(density)
    assert restored.mean() == pytest.approx(11.5)
    assert restored.var() == pytest.approx(36.0)


def test_identity_when_not_standardised():
    x, y = np.array([[1.0, 5.0], [3.0, 7.0]]), np.array([[2.0], [8.0]])
    units = Units.learn(x, y, standardize=False)
    assert np.array_equal(units.x.apply(x), x)
    assert np.array_equal(units.y.apply(y), y)


def test_json_round_trip():
    units = Units.learn(np.random.default_rng(0).random((5, 2)), np.array([[0.1]] * 5), True)
    assert Units.from_dict(json.loads(json.dumps(units.to_dict()))) == units


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_outcomes_whose_variance_is_no_number(size):
    with pytest.raises(ValueError, match="change the unit of y"):
        Units.learn(np.zeros((2, 1)), np.array([[1.0], [2.0]]) * size, True)
