"""Scorers in scikit-learn's own hands, on the smallest estimator."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deepnoise import BDeepNoiseClassifier, BDeepNoiseRegressor, BDeepNoiseSurvival, scorer
from deepnoise.prediction import metrics

from .toy import PLAIN, Line, sloped

NAMES = ("nll", "crps", "interval_score")
X, Y = sloped()
FOLDS = KFold(3)


@pytest.mark.parametrize("name", NAMES)
def test_cross_val_score_is_the_loss_of_each_fold(name):
    found = cross_val_score(Line(), X, Y, scoring=scorer(name), cv=FOLDS)
    for score, (seen, held) in zip(found, FOLDS.split(X), strict=True):
        density = clone(Line()).fit(X[seen], Y[seen]).predict_density(X[held])
        assert score == pytest.approx(-getattr(metrics, name)(density, Y[held]))


def test_the_level_of_intervals():
    model = Line().fit(X, Y)
    density = model.predict_density(X)
    found = scorer("interval_score", level=0.5)(model, X, Y)
    assert found == pytest.approx(-metrics.interval_score(density, Y, 0.5))


def test_a_search_picks_the_better_setting():
    ridges = {"ridge": [1e-6, 1e4]}
    search = GridSearchCV(Line(), ridges, scoring=scorer("crps"), cv=FOLDS, n_jobs=1).fit(X, Y)
    assert search.best_params_ == {"ridge": 1e-6}
    assert scorer("crps")(search, X, Y) == scorer("crps")(search.best_estimator_, X, Y)


def test_several_by_name_and_within_a_pipeline():
    piped = make_pipeline(StandardScaler(), Line())
    found = cross_validate(piped, X, Y, scoring={name: scorer(name) for name in NAMES}, cv=FOLDS)
    alone = cross_validate(Line(), X, Y, scoring={name: scorer(name) for name in NAMES}, cv=FOLDS)
    for name in NAMES:
        assert np.allclose(found[f"test_{name}"], alone[f"test_{name}"], rtol=1e-4)


def agreeing_nll(model, X, y):
    """The score, if it is that of the model's own report and other scores are refused."""
    found = scorer("nll")(model, X, y)
    assert found == pytest.approx(-model.score_report(X, y)["nll"])
    with pytest.raises(ValueError, match=r"use scorer\('nll'\)"):
        scorer("crps")(model, X, y)
    return found


@pytest.mark.slow
def test_windows_times_and_classes():
    settings = {"hidden": 2, "chains": 2, "warmup": 5, "draws": 8, "random_state": 0, **PLAIN}
    windows = pd.DataFrame({"lower": Y, "upper": np.where(Y < 150, Y, np.inf)})
    times = np.array(list(zip(Y < 150, Y, strict=True)), dtype=[("event", "?"), ("time", "f8")])
    for model, y in (
        (BDeepNoiseRegressor(**settings), windows),
        (BDeepNoiseSurvival(**settings), times),
        (BDeepNoiseClassifier(**settings), Y > 150),
    ):
        found = cross_val_score(model, X, y, scoring=agreeing_nll, cv=2, error_score="raise")
        assert np.isfinite(found).all()


def test_wrong_names_and_levels():
    with pytest.raises(ValueError, match="name must be one of 'nll', 'crps', 'interval_score'"):
        scorer("neg_nll")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        scorer("interval_score", level=95)
