"""Numbers, times and classes: the same tools for each, and what they say agrees."""

import numpy as np
import pytest
from scipy.special import logsumexp

from deepnoise import BDeepNoiseClassifier, BDeepNoiseRegressor, BDeepNoiseSurvival
from deepnoise.estimators.settings import widths

from .toy import PLAIN

SETTINGS = {"hidden": (2,), "chains": 2, "warmup": 20, "draws": 10, "paths": 4, "random_state": 0}
SETTINGS |= PLAIN
X = np.random.default_rng(2).normal(size=(30, 2))
TIME = np.exp(X[:, 0])
EVENT = TIME < 2
LABELS = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.fixture(scope="module")
def regressor():
    return BDeepNoiseRegressor(**SETTINGS).fit(X, X[:, 0])


@pytest.fixture(scope="module")
def survival():
    return BDeepNoiseSurvival(**SETTINGS).fit(X, (np.minimum(TIME, 2), EVENT))


@pytest.fixture(scope="module")
def classifier():
    return BDeepNoiseClassifier(**SETTINGS).fit(X, LABELS)


@pytest.fixture(scope="module")
def ordered():
    return BDeepNoiseClassifier(ordered=["low", "middle", "high"], **SETTINGS).fit(X, LABELS)


@pytest.fixture(params=["regressor", "survival", "classifier", "ordered"])
def model(request):
    return request.getfixturevalue(request.param)


def test_the_same_tools(model):
    pytest.importorskip("arviz")
    assert (model.diagnostics_.chains, model.diagnostics_.draws) == (2, 10)
    assert model.diagnostics_ is model.diagnostics_
    assert model.loo().pointwise.shape == (30,)
    assert "not judged yet" not in model._html_repr()
    data = model.to_arviz()
    assert data.log_likelihood["y"].shape == (2, 10, 30)
    assert data.posterior["gamma_0"].shape == (2, 10, 2)


def test_what_was_seen_goes_to_arviz(survival, classifier, ordered):
    pytest.importorskip("arviz")
    seen = survival.to_arviz().observed_data
    assert np.allclose(seen["y_lower"], np.log(np.minimum(TIME, 2)), atol=1e-5)
    assert np.array_equal(np.isinf(seen["y_upper"]), ~EVENT)
    assert list(np.asarray(classifier.to_arviz().observed_data["y"])) == list(LABELS)
    assert list(classifier.to_arviz().posterior["outcomes"].values) == ["high", "low", "middle"]
    assert ordered.to_arviz().posterior["cuts"].shape == (2, 10, 2)


@pytest.mark.parametrize("name", ["classifier", "ordered"])
def test_likelihoods_of_draws_average_to_the_probabilities(name, request):
    model = request.getfixturevalue(name)
    draws = model.predictive_.log_likelihood()
    place = [list(model.classes_).index(label) for label in LABELS]
    expected = model.predict_proba(X)[np.arange(30), place]
    assert np.allclose(logsumexp(draws, axis=(0, 1)) - np.log(20), np.log(expected))
    values = model.predictive_functionals([4])
    assert np.allclose(values["log_probability[4]"], draws[:, :, 4])
    assert np.allclose(sum(values[f"probability[4,{c}]"] for c in model.classes_), 1)


@pytest.mark.slow
def test_of_two_classes_one_probability_is_judged():
    model = BDeepNoiseClassifier(**SETTINGS).fit(X, X[:, 0] > 0)
    assert set(model.predictive_functionals([0])) == {"probability[0,True]", "log_probability[0]"}


def test_scores_of_classes(classifier):
    p = classifier.predict_proba(X)
    seen = np.array([list(classifier.classes_).index(label) for label in LABELS])
    found = classifier.score_report(X, LABELS)
    assert found["accuracy"] == classifier.score(X, LABELS)
    assert found["nll"] == pytest.approx(-np.log(p[np.arange(30), seen]).mean())
    assert found["brier"] == pytest.approx(((p - np.eye(3)[seen]) ** 2).sum(axis=1).mean())
    with pytest.raises(ValueError, match="'none', a class that was not there"):
        classifier.score_report(X, ["none"] * 30)


def test_scores_of_times(survival):
    y = np.minimum(TIME, 2), EVENT
    found, density = survival.score_report(X, y), survival.predict_density(X)
    assert set(found) == {"concordance", "nll", *(f"coverage_{p}" for p in (50, 80, 90, 95))}
    log_density = density.log_prob(np.log(TIME)) - np.log(TIME)
    log_beyond = np.log(survival.predict_survival(X, [2.0])[:, 0])
    assert found["nll"] == pytest.approx(-np.where(EVENT, log_density, log_beyond).mean())
    assert found["concordance"] == survival.score(X, y)
    # The unit of time is no matter of skill: nll moves by its logarithm, nothing else does.
    days = BDeepNoiseSurvival(**SETTINGS).fit(X, (365 * y[0], EVENT))
    again = days.score_report(X, (365 * y[0], EVENT))
    assert again["nll"] - found["nll"] == pytest.approx(EVENT.mean() * np.log(365), abs=0.01)


def test_several_thresholds_at_once(regressor):
    found = regressor.predict_above(X[:5], [[-1.0, 0.0, 0.5]], level=0.8)
    assert found.shape == (5, 3, 3)
    for m, c in enumerate([-1.0, 0.0, 0.5]):
        assert np.allclose(found[:, :, m], regressor.predict_above(X[:5], c, level=0.8))
    with pytest.raises(ValueError, match=r"or be \[\[c1, c2\]\] for several thresholds"):
        regressor.predict_above(X[:5], [-1.0, 0.0, 0.5])


def test_a_number_is_one_hidden_layer():
    assert widths(20) == widths(np.int64(20)) == (20,)
    for wrong in (0, True, 2.5, "20"):
        with pytest.raises(ValueError, match="hidden must be"):
            widths(wrong)
