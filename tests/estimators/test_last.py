"""A model simulates a table once, and again as soon as the table or the model is another."""

import copy
import gc
import pickle

import numpy as np
import pytest

from deepnoise.estimators import last, predictive

from .toy import Line, sloped, small


@pytest.fixture
def simulated(monkeypatch):
    """Numbers of rows of each density that is made."""
    rows, simulate = [], predictive.predictive

    def counted(key, draws, x, *rest):
        rows.append(len(x))
        return simulate(key, draws, x, *rest)

    monkeypatch.setattr(predictive, "predictive", counted)
    return rows


@pytest.fixture(scope="module")
def fitted():
    return small().fit(*sloped())


def test_a_mean_and_then_an_interval_simulate_once(fitted, simulated):
    X, y = sloped()
    mean, interval = fitted.predict(X), fitted.predict_interval(X)
    fitted.score_report(X, y)
    assert simulated == [len(X)]
    fresh = copy.copy(fitted)
    np.testing.assert_array_equal(fresh.predict(X), mean)
    np.testing.assert_array_equal(fresh.predict_interval(X), interval)
    assert len(simulated) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.set_params(paths=3),
        lambda model: model.set_params(guard=0.1),
        lambda model: setattr(model, "stretch_", 2.0),
        lambda model: setattr(model, "chain_weights_", np.array([1.0, 0.0])),
        lambda model: model.chain_weights_.__setitem__(slice(None), [1.0, 0.0]),
        lambda model: model.resume(30),
        lambda model: model.fit(sloped()[0], 2 * sloped()[1]),
    ],
    ids=["paths", "guard", "stretch", "weights", "weights in place", "resume", "fit"],
)
def test_a_changed_model_answers_anew(change, fitted):
    model, (X, _) = pickle.loads(pickle.dumps(fitted)), sloped()
    before = model.predict_quantiles(X)
    change(model)
    assert (model.predict_quantiles(X) != before).any()
    np.testing.assert_array_equal(model.predict_quantiles(X), copy.copy(model).predict_quantiles(X))


def test_changed_rows_are_predicted_anew(fitted):
    X = sloped()[0]
    before = fitted.predict(X)
    X[0] += 1.0
    after = fitted.predict(X)
    assert after[0] != before[0]
    np.testing.assert_array_equal(after[1:], before[1:])


def test_what_is_remembered_is_not_pickled_and_goes_with_the_model():
    X, y = sloped()
    model = Line().fit(X, y)
    unasked = pickle.dumps(model)
    model.predict(X)
    assert pickle.dumps(model) == unasked
    remembered = len(last.LAST)
    del model
    gc.collect()
    assert len(last.LAST) == remembered - 1


def test_large_densities_are_not_remembered(monkeypatch, fitted, simulated):
    X = sloped()[0]
    monkeypatch.setattr(last, "MOST_KEPT", len(X))
    small_part = X[:1]
    for _ in range(2):
        fitted.predict(X)
    assert simulated == [len(X)] * 2
    assert fitted not in last.LAST
    fitted.predict(small_part)
    assert fitted not in last.LAST
