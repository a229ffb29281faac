"""Numbers and words of the study, on densities made by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from deepnoise import BDeepNoiseRegressor
from deepnoise.studies.neuro import findings
from deepnoise.studies.neuro import fit as neuro_fit
from deepnoise.studies.neuro import tables as neuro_tables
from deepnoise.studies.neuro.fit import OPPONENTS, WITH, WITHOUT, NeuroPlan, Task, fit_splits
from deepnoise.studies.neuro.scores import best_rank_correlation, precision, spearman
from tests.neuro.hand import gaussians, split, table_of


def test_nineteen_subjects_stand_at_the_quantiles():
    y = np.random.default_rng(0).normal(size=119)
    chosen = neuro_tables.chosen_subjects(y)
    assert list(chosen) == list(range(5, 100, 5))
    for level, row in chosen.items():
        nearest = np.sort(y)[round(level / 100 * 118)]
        assert y[row] == nearest
    few = neuro_tables.chosen_subjects(y[:4])
    assert len(few) == len(set(few.values())) == 4


def test_referral_keeps_the_most_certain():
    sd = np.linspace(0.1, 2, 40)
    y = sd * np.where(np.arange(40) % 2, 1, -1)
    fit = split(y, gaussians(np.zeros(40), sd), gaussians(np.zeros(40), sd[::-1]))
    curves = neuro_tables.referral([fit], (WITH, WITHOUT))
    ours = curves[curves["method"] == WITH].set_index("share")
    theirs = curves[curves["method"] == WITHOUT].set_index("share")
    assert ours.loc[50, "rmse"] == pytest.approx(np.sqrt(np.mean(sd[:20] ** 2)))
    assert theirs.loc[50, "rmse"] == pytest.approx(np.sqrt(np.mean(sd[20:] ** 2)))
    assert ours.loc[100, "rmse"] == pytest.approx(theirs.loc[100, "rmse"])
    assert ours.loc[50, "lower"] < ours.loc[50, "rmse"] < ours.loc[50, "upper"]
    assert "can be used" in findings.triage(curves)
    swapped = curves.replace({"method": {WITH: WITHOUT, WITHOUT: WITH}})
    assert "no help" in findings.triage(swapped)


def test_measures_of_truth():
    assert precision(pd.Index(["a", "b", "c"]), {"a", "c"}, 2) == 0.5
    actual = pd.Series([0, 0, 0, 0, 0, 0, 1, 2])
    best = best_rank_correlation(actual)
    assert 0.7 < best < 1
    rng = np.random.default_rng(0)
    assert all(spearman(actual, rng.permutation(8)) <= best + 1e-12 for _ in range(200))


def line(rows=80, noise=0.5):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    return X, X["a"].to_numpy() * 2 + noise * rng.normal(size=rows)


@pytest.mark.parametrize("name", ["ridge", "random forest"])
def test_opponents_have_the_spread_of_residuals_they_have_not_seen(name):
    X, y = line()
    rival = OPPONENTS[name](Task(X[:60], y[:60], X[60:], 0, (3,)))
    residual = y[60:] - rival.density.mean()
    assert np.ptp(rival.density.var()) == 0
    assert 0.5 < np.std(residual) / np.sqrt(rival.density.var()[0]) < 2
    assert np.corrcoef(rival.density.mean(), y[60:])[0, 1] > 0.8
    if name == "ridge":
        assert rival.weights.idxmax() == "a"


def test_bad_plans():
    for settings, message in (
        ({"splits": 0}, "splits must be"),
        ({"test_share": 1.0}, "test_share must be"),
        ({"level": 0}, "level must be"),
        ({"opponents": ("svm",)}, "opponents must be of ridge"),
    ):
        with pytest.raises(ValueError, match=message):
            NeuroPlan(**settings)


class Interrupted(BDeepNoiseRegressor):
    """What Ctrl-C leaves: fewer draws than were asked for."""

    def fit(self, X, y):
        run, plan = SimpleNamespace(n_draws=7), SimpleNamespace(draws=8)
        self.posterior_ = SimpleNamespace(run=run, plan=plan)
        return self


def test_ctrl_c_ends_the_study(monkeypatch):
    monkeypatch.setattr(neuro_fit, "BDeepNoiseRegressor", Interrupted)
    table = table_of(np.random.default_rng(0).normal(size=30))
    with pytest.raises(KeyboardInterrupt):
        next(fit_splits(table, NeuroPlan(), str))


def test_studies_that_cannot_be():
    with pytest.raises(ValueError, match="at least 20 subjects; 5 can be used"):
        next(fit_splits(table_of(np.arange(5.0)), NeuroPlan(), str))
    with pytest.raises(ValueError, match="'g' is the same for every subject"):
        next(fit_splits(table_of(np.ones(30)), NeuroPlan(), str))
