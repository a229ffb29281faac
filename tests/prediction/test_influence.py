"""Influence against finite differences, straight lines and noise; its floor and its levels."""

import numpy as np
import pytest

from deepnoise.model.activation import PiecewiseLinear, hard_tanh, identity
from deepnoise.prediction import influence as influence_module
from deepnoise.prediction import per_draw
from deepnoise.prediction.influence import Category, influence, noise_floor
from deepnoise.prediction.per_draw import DrawDensities, moments

from .networks import densities

X_SCALE = np.array([0.5, 3.0])


def features_of(given, level=0.9):
    """Influence of two features that are the inputs, in units of X_SCALE."""
    slopes = np.broadcast_to(1 / X_SCALE, given.x.shape)
    return influence(given, ("a", "b"), slopes, [], level, X_SCALE)


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
        for effects, slope in ((found.on_mean, slope_mean), (found.on_sd, slope_sd)):
            per_sd = slope.mean(axis=0) * X_SCALE[feature]
            signed = effects.signed
            assert np.allclose(signed.mean[feature], given.weights @ per_sd, rtol=1e-4, atol=1e-5)
            assert np.allclose(signed.lower[feature], per_sd.min(axis=0), rtol=1e-4, atol=1e-5)
        assert np.allclose(found.on_mean.size[feature], mean * X_SCALE[feature], atol=1e-4)


def test_a_straight_line_has_its_slope(key):
    given = densities(key, (2, 1), draws=1, h=identity)
    found = features_of(given)
    assert np.allclose(found.predictive, np.abs(given.draws.beta[0][0, 0]) * 2.0 / X_SCALE)
    assert np.allclose(found.sd.mean, 0)


def test_inputs_of_one_feature_add_up(key):
    given = densities(key, (3, 1), draws=1, h=identity)
    slopes = np.array([2.0, 5.0, -1.0]) * np.ones_like(given.x)
    found = influence(given, ("a", "b"), slopes, [1], 0.9, np.ones(2))
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
    with pytest.raises(ValueError, match="continuous activation"):
        features_of(densities(key, h=step))


def lines(key, slopes, spread, draws=400, seed=1):
    """Straight lines whose slopes lie around ``slopes``, one a feature."""
    rng = np.random.default_rng(seed)
    given = densities(key, (len(slopes), 1), draws=draws, rows=30, h=identity)
    given.draws.beta[0][:, 0] = slopes + spread * rng.normal(size=(draws, len(slopes)))
    names = tuple("abcdefgh"[: len(slopes)])
    return influence(given, names, np.ones_like(given.x), [], 0.95, np.ones(len(slopes)))


@pytest.mark.slow
def test_noise_stays_below_the_floor_in_as_many_fits_as_promised(key):
    rng, fits = np.random.default_rng(0), 200
    passed = [
        lines(key, 0.1 * rng.normal(size=5), 0.1, seed=seed).on_mean.clear.any()
        for seed in range(fits)
    ]
    # Five columns of noise, floors of 95 %: 200 fits have more than 22 alarms once in 10,000.
    assert np.sum(passed) <= 22


def test_an_effect_passes_the_floor_with_its_sign(key):
    effects = lines(key, np.array([1.0, -1.0, 0.0]), 0.1).on_mean
    assert effects.clear.tolist() == [True, True, False]
    assert effects.sign.tolist() == [1, -1, 0]
    assert effects.signed.lower[2] < 0 < effects.signed.upper[2]


def test_the_floor_grows_with_doubt_and_with_the_number_of_columns():
    rng = np.random.default_rng(0)
    apart, weights = np.abs(rng.normal(size=(4000, 20))), np.full(4000, 1 / 4000)
    one, many = noise_floor(apart[:, :1], weights, 0.95), noise_floor(apart, weights, 0.95)
    assert one == pytest.approx([1.96], abs=0.1)
    assert many == pytest.approx(np.full(20, 3.02), abs=0.3)
    assert np.allclose(noise_floor(2 * apart, weights, 0.95), 2 * many)
    assert np.isinf(noise_floor(apart[:1], np.ones(1), 0.95)).all()


def test_a_category_is_one_column_with_an_effect_for_each_level(key):
    given = densities(key, (4, 1), draws=300, rows=20, h=identity)
    beta = given.draws.beta[0][:, 0]
    beta[:] = np.array([1.0, 3.0, 0.0, -2.0]) + 0.01 * np.random.default_rng(0).normal(
        size=beta.shape
    )
    shares = np.array([0.5, 0.25, 0.25])
    colour = Category("colour", ("blue", "green", "red"), np.arange(1, 4), np.eye(3), shares)
    names = ("size", "colour=blue", "colour=green", "colour=red")
    found = influence(given, names, np.ones_like(given.x), [], 0.9, np.ones(4), [colour])
    assert found.columns == ("size", "colour")
    assert found.names == names
    # E[y] is 2 · slope above its shift, and levels are compared with their average.
    levels = 2 * (np.array([3.0, 0.0, -2.0]) - 1.0)
    assert np.allclose(found.levels["colour"].mean.mean, levels, atol=0.05)
    assert found.on_mean.size == pytest.approx([2, np.sqrt(shares @ levels**2)], abs=0.05)
    assert found.on_mean.clear.all()
    assert found.on_mean.sign.tolist() == [1, 0]
    assert np.isnan(found.on_mean.signed.mean[1])


@pytest.mark.parametrize("columns", [3, 40])
def test_products_and_parabolas_are_seen_though_their_mean_slope_is_zero(key, columns, monkeypatch):
    rng = np.random.default_rng(0)
    given = densities(key, (columns, 1), draws=200, rows=60, h=identity)
    x = given.x
    slopes = 0.3 * rng.normal(size=(200, 1, 1, columns)) + 0.6 * rng.normal(
        size=(200, 60, 1, columns)
    )
    slopes[..., 0] += x[:, None, 0]
    slopes[..., 1] += x[:, None, 2] * (columns < 30)
    monkeypatch.setattr(influence_module, "gradients", lambda *_: (slopes, 0 * slopes))
    names = tuple(map(str, range(columns)))
    found = influence(given, names, np.ones_like(x), [], 0.95, np.ones(columns)).on_mean
    assert found.clear[0]
    assert found.clear[1] == (columns < 30)
    assert not found.clear[2:].any()
