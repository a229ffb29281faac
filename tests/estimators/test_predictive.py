"""What predictions are made from: one frozen value, made anew when the model is another."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from .toy import Line, sloped, small


@pytest.fixture(scope="module")
def model():
    return small().fit(*sloped())


def test_it_answers_as_the_model_does(model):
    X, y = sloped()
    rows, fitted = model.encoded_rows(X), model.predictive_
    assert np.array_equal(fitted.density(rows).log_prob(y), model.predict_density(X).log_prob(y))
    assert fitted.diagnostics is model.diagnostics_
    line = Line().fit(X, y)
    found = line.predictive_.density(line.encoded_rows(X)).mean()
    assert np.array_equal(found, line.predict(X))


def test_it_is_kept_until_something_changes(model):
    fitted = model.predictive_
    assert model.predictive_ is fitted
    assert pickle.loads(pickle.dumps(model)).predictive_.verdict == fitted.verdict
    changed = pickle.loads(pickle.dumps(model)).set_params(paths=model.paths + 1)
    assert changed.predictive_.paths == fitted.paths + 1
    assert changed.predictive_.rows is changed.rows_
    with pytest.raises(FrozenInstanceError):
        fitted.paths = 3


def test_chains_that_still_run_can_be_asked():
    found = []

    def report(done, total, posterior):
        if posterior.run.n_draws:
            few = watched.predictive_of(posterior.only(slice(-2, None)))
            found.append(few.functionals(np.array([0]))["mean[0]"].shape)

    watched = small()
    watched.set_params(progress=report).fit(*sloped())
    assert set(found) == {(2, 2)}


def test_before_a_fit_there_is_none():
    for estimator in (small(), Line()):
        with pytest.raises(NotFittedError):
            _ = estimator.predictive_
