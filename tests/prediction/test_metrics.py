"""Metrics against their definitions, written out, and against what a right density must score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deepnoise.model.outcome import Window
from deepnoise.prediction import metrics
from deepnoise.prediction.density.mixture import PredictiveMixture


def gaussians(means, sd=1.0):
    """N(mean, sd²) a row."""
    means = np.asarray(means, dtype=float)
    return PredictiveMixture.of(means[:, None, None], np.full((1, 1, 1, 1), sd**2))


def with_a_spike():
    return PredictiveMixture.of([[[0.0], [0.0]]], [[[[1.0]], [[1e-16]]]])


@pytest.fixture(scope="module")
def right():
    """(density, y) where y is drawn from the density: a mixture of two Gaussians a row."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4000, 2, 1)) * 2
    density = PredictiveMixture.of(means, [[[[0.5]], [[2.0]]]], [[0.3, 0.7]])
    return density, density.sample(1, 1)[:, 0]


def test_point_and_density_scores_of_gaussians():
    mean, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 1.0, 0.0, 9.0])
    density = gaussians(mean, 2.0)
    assert metrics.rmse(density, y) == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert metrics.nll(density, y) == pytest.approx(-np.mean(stats.norm.logpdf(y, mean, 2)))
    z = (y - mean) / 2
    score = 2 * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert metrics.crps(density, y) == pytest.approx(np.mean(score), rel=1e-8)
    np.testing.assert_allclose(metrics.pit(density, y), stats.norm.cdf(z), rtol=1e-12)


def test_a_right_density_is_calibrated(right):
    density, y = right
    assert stats.kstest(metrics.pit(density, y), "uniform").pvalue > 1e-4
    for row in metrics.calibration_table(density, y):
        assert row["coverage"] == pytest.approx(row["level"], abs=0.03)
        assert row["coverage"] == metrics.coverage(density, y, row["level"])
        width = np.mean(np.diff(density.interval(row["level"])))
        assert row["width"] == pytest.approx(width, rel=1e-9)
    assert metrics.wepi(density, y) == pytest.approx(
        np.mean(np.diff(density.interval(0.95))), rel=0.06
    )


PROPER = [
    metrics.crps,
    metrics.nll,
    metrics.interval_score,
    metrics.weighted_interval_score,
    lambda density, y: metrics.cde_loss(density[:400], y[:400]),
]


@pytest.mark.parametrize("metric", PROPER)
def test_proper_scores_prefer_the_right_density(right, metric):
    density, y = right
    best = metric(density, y)
    assert best < metric(density.affine(1.0, 1.0), y)
    assert best < metric(density.affine(1.3, 0.0), y)
    assert best < metric(gaussians(density.mean(), 3.0), y)


def brute_wepi(density, y, level):
    """Widen the nominal level until enough outcomes are covered."""
    for nominal in np.arange(1, 500) / 500:
        low, high = density.interval(nominal).T
        if np.mean((y >= low) & (y <= high)) >= level - 1e-12:
            return np.mean(high - low)
    return np.inf


@pytest.mark.parametrize("level", [0.95, 0.5, 0.9])
def test_wepi_is_the_first_level_that_covers(level):
    rng = np.random.default_rng(1)
    density, y = gaussians(rng.normal(size=20)), rng.normal(size=20)
    assert metrics.wepi(density, y, level) == pytest.approx(brute_wepi(density, y, level), abs=0.1)


def test_wepi_has_just_enough_outcomes_inside():
    rng = np.random.default_rng(2)
    density, y = gaussians(np.zeros(200)), rng.normal(size=200)
    half = metrics.wepi(density, y) / 2
    assert np.sum(np.abs(y) <= half * (1 + 1e-9)) == 190
    assert np.sum(np.abs(y) < half * (1 - 1e-9)) == 189


def test_wepi_is_infinite_if_no_level_covers_and_zero_at_the_median():
    density = gaussians(np.zeros(10))
    assert metrics.wepi(density, np.full(10, 1e3)) == np.inf
    assert metrics.wepi(density, np.zeros(10)) == 0.0
    few = np.zeros(100)
    few[:5] = 1e3
    assert metrics.wepi(gaussians(np.zeros(100)), few) < 1e-6


@settings(max_examples=10, deadline=None)
@given(st.floats(0.01, 100), st.floats(-50, 50))
def test_units(scale, shift):
    rng = np.random.default_rng(3)
    density, y = gaussians(rng.normal(size=30)), rng.normal(size=30)
    moved, there = density.affine(scale, shift), scale * y + shift
    for metric in (metrics.rmse, metrics.crps, metrics.wepi, metrics.interval_score):
        assert metric(moved, there) == pytest.approx(scale * metric(density, y), rel=1e-6)
    assert metrics.nll(moved, there) == pytest.approx(metrics.nll(density, y) + np.log(scale))


def test_quantile_l1_of_shifted_quantiles():
    density, levels = gaussians([0.0, 5.0], 2.0), (np.arange(100) + 0.5) / 100
    truth = np.array([[0.0], [5.0]]) + 2 * stats.norm.ppf(levels)
    assert metrics.quantile_l1(density, truth, levels) < 1e-9
    assert metrics.quantile_l1(density, truth + 0.25, levels) == pytest.approx(0.25)


def test_lattice_nll_with_a_step():
    density, y = gaussians([0.0, 0.4]), np.array([1.0, -2.0])
    mass = stats.norm.cdf(y + 0.5, [0, 0.4]) - stats.norm.cdf(y - 0.5, [0, 0.4])
    assert metrics.lattice_nll(density, y, 1.0) == pytest.approx(-np.mean(np.log(mass)))


def test_lattice_nll_with_values_is_a_distribution_over_them():
    values = np.array([3.0, 4.0, 6.0, 9.0])
    mass = [np.exp(-metrics.lattice_nll(gaussians([5.0], 2.0), [v], values)) for v in values]
    assert np.sum(mass) == pytest.approx(1.0)
    assert mass[1] == pytest.approx(stats.norm.cdf(5, 5, 2) - stats.norm.cdf(3.5, 5, 2))


def test_a_spike_gains_density_but_not_lattice_mass():
    y = np.array([1.0, 2.0, 3.0])
    wide, spike = gaussians(y, 0.1), gaussians(y, 1e-6)
    assert metrics.nll(spike, y) < metrics.nll(wide, y) - 10
    assert metrics.lattice_nll(spike, y, 1.0) >= metrics.lattice_nll(wide, y, 1.0) - 1e-5


def test_interval_score_by_hand():
    density = gaussians([0.0, 0.0, 0.0])
    edge = stats.norm.ppf(0.95)
    truth = 2 * edge + 2 / 0.1 * (3 - edge) / 3
    assert metrics.interval_score(density, [0.0, 1.0, -3.0], 0.9) == pytest.approx(truth)


def test_several_outcomes_are_averaged():
    rng = np.random.default_rng(4)
    density = PredictiveMixture.of(rng.normal(size=(50, 2, 2)), np.tile(np.eye(2), (1, 2, 1, 1)))
    y = rng.normal(size=(50, 2))
    each = [metrics.wepi(density.marginal(q), y[:, q]) for q in (0, 1)]
    assert metrics.wepi(density, y) == pytest.approx(np.mean(each))
    each = [metrics.crps(density.marginal(q), y[:, q]) for q in (0, 1)]
    assert metrics.crps(density, y) == pytest.approx(np.mean(each))
    table = metrics.calibration_table(density, y)
    assert [row["level"] for row in table] == [0.5, 0.8, 0.9, 0.95]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: metrics.rmse(d, [0.0]), "y must be"),
        (lambda d: metrics.nll(d, [0.0, np.nan]), "y must be finite"),
        (lambda d: metrics.coverage(d, [0.0, 1.0], 0.0), "level"),
        (lambda d: metrics.wepi(d, [0.0, 1.0], 1.5), "level"),
        (lambda d: metrics.interval_score(d, [0.0, 1.0], 1.0), "level"),
        (lambda d: metrics.weighted_interval_score(d, [0.0, 1.0], [95]), "levels"),
        (lambda d: metrics.msll(d, [0.0, 1.0], [1.0]), "y_train must hold two"),
        (lambda d: metrics.msll(d, [0.0, 1.0], [1.0, 1.0]), "y_train must not be constant"),
        (lambda d: metrics.cde_loss(with_a_spike(), [0.0]), "too narrow"),
        (lambda d: metrics.lattice_nll(d, [0.0, 1.0], -1.0), "step"),
        (lambda d: metrics.lattice_nll(d, [0.0, 1.4], [0.0, 1.0, 2.0]), "lattice"),
        (lambda d: metrics.quantile_l1(d, [0.0, 1.0], [0.5, 0.6]), "true_quantiles"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call(gaussians([0.0, 1.0]))


def test_coverage_among_censored_outcomes():
    rng = np.random.default_rng(0)
    y, end = rng.normal(size=40_000), rng.normal(1.0, 0.1, size=40_000)
    seen = Window(np.minimum(y, end), np.where(y < end, y, np.inf))
    density, levels = gaussians(np.zeros(len(y))), [0.5, 0.8]
    # Of 40,000 rows, four standard errors.
    assert metrics.coverages_seen(density, seen, levels) == pytest.approx(levels, abs=0.01)
    exact = y < end
    alone = metrics.coverages_seen(density[exact], y[exact], levels)
    assert abs(alone[1] - 0.8) > 0.05  # what leaving censored rows out would have said
    missing = Window(np.append(y[:9], -np.inf), np.append(y[:9], np.inf))
    few = metrics.coverages_seen(density[:9], y[:9], levels)
    assert metrics.coverages_seen(density[:10], missing, levels) == few


def test_coverage_of_several_outcomes_seen_exactly():
    density = PredictiveMixture.of(np.zeros((3, 1, 2)), np.eye(2)[None, None])
    y = np.array([[0.0, 1.5], [0.1, 0.2], [-2.0, 0.3]])
    found = metrics.coverages_seen(density, Window(y, y), [0.8])
    assert found == metrics.coverages_seen(density, y, [0.8]) == [4 / 6]


def test_weighted_interval_score_tends_to_the_crps(right):
    """With ever more intervals it is the CRPS (Bracher et al. 2021)."""
    density, y = right[0][:300], right[1][:300]
    many = metrics.weighted_interval_score(density, y, np.arange(1, 200) / 200)
    assert many == pytest.approx(metrics.crps(density, y), rel=0.01)
    scoringrules = pytest.importorskip("scoringrules")
    levels = np.array(metrics.HUB_COVERAGES)
    quantiles = density.quantile([0.5, *(1 - levels) / 2, *(1 + levels) / 2])
    median, low, high = np.split(quantiles, [1, 12], axis=1)
    # Version 0.8 weighs the median itself, where the distance from it belongs.
    distance = np.abs(y - median[:, 0])
    theirs = scoringrules.weighted_interval_score(y, distance, low, high, 1 - levels)
    assert metrics.weighted_interval_score(density, y) == pytest.approx(np.mean(theirs), rel=1e-9)


def test_cde_loss_by_its_pairs_of_components(right):
    density, y = right[0][:50], right[1][:50]
    parts = density.components()
    spread = np.sqrt(parts.covs[..., 0, 0][:, :, None] + parts.covs[..., 0, 0][:, None])
    apart = parts.means[:, :, None, 0] - parts.means[:, None, :, 0]
    pairs = parts.weights[:, :, None] * parts.weights[:, None]
    square = np.sum(pairs * stats.norm.pdf(apart, 0, spread), axis=(1, 2))
    truth = np.mean(square - 2 * density.pdf(y))
    assert metrics.cde_loss(density, y) == pytest.approx(truth, rel=1e-12)


def test_standardised_log_loss_is_zero_for_the_plain_normal():
    rng = np.random.default_rng(3)
    train, y = rng.normal(2.0, 3.0, size=(2, 40))
    plain = gaussians(np.full(40, train.mean()), train.std())
    assert metrics.msll(plain, y, train) == pytest.approx(0, abs=1e-12)
    assert metrics.msll(gaussians(y, 1.0), y, train) < 0
    pair = PredictiveMixture.of(train[:, None].mean(0)[None, None, [0, 0]], np.eye(2)[None, None])
    assert np.isfinite(metrics.msll(pair, [[0.0, 1.0]], np.c_[train, y]))
