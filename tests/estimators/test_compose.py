"""The estimator among scikit-learn's other tools."""

import copy
import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .toy import PLAIN, small

ROWS = 30


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=ROWS)


@pytest.fixture(scope="module")
def fitted(rows):
    return small().fit(*rows)


def test_pipeline(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), small()).fit(X, y)
    assert pipeline.score(X, y) > 0.5
    assert pipeline[-1].predict_density(pipeline[:-1].transform(X)).n_rows == ROWS


def test_transformed_target(rows):
    X, y = rows
    model = TransformedTargetRegressor(
        small(), func=np.exp, inverse_func=np.log, check_inverse=False
    )
    assert np.isfinite(model.fit(X, y / 10).predict(X[:3])).all()


def test_cross_validation(rows):
    X, y = rows
    assert np.isfinite(cross_val_score(small(**PLAIN), X, y, cv=2)).all()
    assert cross_val_predict(small(**PLAIN), X, y, cv=2).shape == (ROWS,)


def test_grid_search(rows):
    X, y = rows
    search = GridSearchCV(small(**PLAIN), {"paths": [2, 4], "draws": [10, 20]}, cv=2).fit(X, y)
    assert search.best_params_.keys() == {"paths", "draws"}
    assert search.predict(X).shape == (ROWS,)


def test_clone_is_unfitted_and_alike(fitted):
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "posterior_")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_predict_and_resume_alike(rows, fitted, copied):
    X, _ = rows
    twin = copied(fitted)
    assert np.array_equal(twin.predict(X), fitted.predict(X))
    further, original = twin.resume(25), copy.deepcopy(fitted).resume(25)
    assert np.array_equal(further.predict(X), original.predict(X))


def _predict(model, X):
    return model.predict(X)


def test_other_processes(rows, fitted):
    X, _ = rows
    found = Parallel(n_jobs=2)(delayed(_predict)(fitted, X) for _ in range(2))
    for prediction in found:
        assert np.allclose(prediction, fitted.predict(X), rtol=1e-12)
