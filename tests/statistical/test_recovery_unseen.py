"""What was not seen is recovered: simulated data of which the truth is known."""

import jax
import numpy as np
import pytest
import scipy.stats

from deepnoise import BDeepNoiseClassifier, BDeepNoiseRegressor, right_censored
from deepnoise.model.covariates import fill
from deepnoise.prediction import metrics

from ..statistics import ALPHA

SMALL = {"hidden": (8,), "chains": 2, "warmup": 200, "draws": 100, "thin": 2, "random_state": 0}
ROWS, NEW = 200, 300


def correlated_inputs(rng, rows: int) -> np.ndarray:
    """Three inputs, the second near the first."""
    z = rng.normal(size=(rows, 3))
    return np.stack([z[:, 0], 0.8 * z[:, 0] + 0.6 * z[:, 1], z[:, 2]], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_of_missing_entries_cover_them(level):
    rng = np.random.default_rng(1)
    X = correlated_inputs(rng, ROWS + NEW)
    y = np.abs(X[:, 0]) + X[:, 2] + 0.2 * rng.normal(size=len(X))
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = BDeepNoiseRegressor(**SMALL).fit(holed[:ROWS], y[:ROWS])
    x, true = (model.units_.x.apply(a[ROWS:]) for a in (holed, X))
    with jax.enable_x64(True):
        laws = model.predictive_.input_laws
        keys = jax.random.split(jax.random.key(0), len(laws.mu))
        drawn = np.asarray(jax.vmap(lambda key, law: fill(key, 5, x, law))(keys, laws))
    low, high = np.quantile(drawn, (0.5 - level / 2, 0.5 + level / 2), axis=(0, 1))
    covered = ((low <= true) & (true <= high))[np.isnan(x)]
    assert scipy.stats.binomtest(int(covered.sum()), covered.size, level).pvalue > ALPHA
    alone = np.quantile(true, (0.5 - level / 2, 0.5 + level / 2), axis=0)
    beside = np.isnan(x[:, 0]) & ~np.isnan(x[:, 1])
    assert np.mean((high - low)[beside, 0]) < 0.8 * np.ptp(alone[:, 0])


def skewed(rng, rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(-1, 1, size=(rows, 1))
    return X, np.sin(2 * X[:, 0]) + (0.2 + 0.2 * (X[:, 0] > 0)) * rng.normal(size=rows)


@pytest.mark.slow
def test_densities_of_censored_outcomes_are_those_of_the_truth():
    rng = np.random.default_rng(2)
    X, y = skewed(rng, 2 * ROWS)
    X_new, y_new = skewed(rng, 1000)
    points = rng.permutation(y) + 0.3
    event = y <= points
    assert 0.25 < np.mean(~event) < 0.5
    seen = right_censored(np.minimum(y, points), event)
    windows = BDeepNoiseRegressor(**SMALL).fit(X, seen)
    dropped = BDeepNoiseRegressor(**SMALL).fit(X[event], y[event])
    kept, lost = (
        scipy.stats.kstest(metrics.pit(m.predict_density(X_new), y_new[:, None]).ravel(), "uniform")
        for m in (windows, dropped)
    )
    assert kept.pvalue > ALPHA
    # The same test tells that leaving censored rows out shifts the densities.
    assert lost.pvalue < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_bands_of_class_probabilities_hold_the_truth(classes):
    rng = np.random.default_rng(3)
    X, grid = rng.uniform(-2, 2, size=(3 * ROWS, 1)), np.linspace(-1.8, 1.8, 41)[:, None]
    labels = (rng.random(len(X))[:, None] > np.cumsum(shares(X, classes), axis=1)).sum(1)
    model = BDeepNoiseClassifier(**SMALL).fit(X, labels)
    band, truth = model.probability_bands(grid), shares(grid, classes)
    assert np.mean(np.abs(model.predict_proba(grid) - truth)) < 0.06
    assert np.mean((band.lower <= truth) & (truth <= band.upper)) > 0.8
    assert np.mean(band.upper - band.lower) < 0.3


def shares(X: np.ndarray, classes: int) -> np.ndarray:
    """True probabilities; none of them is monotone in x for long."""
    scores = np.stack([np.zeros(len(X)), 2 * np.sin(2 * X[:, 0]), X[:, 0]], axis=1)[:, :classes]
    return np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
