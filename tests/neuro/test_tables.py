"""Numbers and words of the study, on densities made by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from deepnoise import BDeepNoiseRegressor, GaussianMixture
from deepnoise.studies import neuro_fit, neuro_tables, neuro_words
from deepnoise.studies.neuro_fit import WITH, WITHOUT, NeuroPlan, SplitFit, fit_splits
from deepnoise.studies.neuro_opponents import OPPONENTS, Task
from deepnoise.studies.neuro_truth import best_rank_correlation, precision, spearman
from tests.neuro import toy


def gaussians(mean, sd):
    mean, sd = np.broadcast_arrays(np.asarray(mean, float), np.asarray(sd, float))
    return GaussianMixture.of(mean.reshape(-1, 1, 1), (sd**2).reshape(-1, 1, 1, 1))


def split(y, with_images, without, number=0):
    densities = {WITH: with_images, WITHOUT: without}
    rows = np.arange(len(y))
    return SplitFit(number, rows, rows, np.asarray(y, float), densities, {}, None, None)


def test_nineteen_subjects_stand_at_the_quantiles():
    y = np.random.default_rng(0).normal(size=119)
    chosen = neuro_tables.chosen_subjects(y)
    assert list(chosen) == list(range(5, 100, 5))
    for level, row in chosen.items():
        nearest = np.sort(y)[round(level / 100 * 118)]
        assert y[row] == nearest
    few = neuro_tables.chosen_subjects(y[:4])
    assert len(few) == len(set(few.values())) == 4


def test_intervals_that_widen():
    y = np.zeros(50)
    sd = np.linspace(1, 2, 50)
    fit = split(y, gaussians(y, sd), gaussians(y, 1.5 * sd))
    found = neuro_tables.width_comparison([fit], 0.9, seed=0)
    assert found["ratio"] == pytest.approx(1.5)
    assert found["ratio_lower"] == pytest.approx(found["ratio_upper"])
    assert found["width_with"] == pytest.approx(np.mean(2 * 1.6448536 * sd))
    assert found["share_wider"] == 1
    text = neuro_words.widening(found, 0.9)
    assert "50 % wider" in text
    assert "carry information" in text


@pytest.mark.parametrize(
    ("ends", "said"),
    [((0.9, 1.2), "not clearly wider"), ((0.7, 0.9), "narrower"), ((1.1, 1.3), "wider on average")],
)
def test_words_on_widths_follow_the_interval(ends, said):
    widths = {"ratio": np.mean(ends), "ratio_lower": ends[0], "ratio_upper": ends[1]}
    assert said in neuro_words.widening({**widths, "share_wider": 0.5}, 0.9)


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
    assert "can be used" in neuro_words.triage(curves)
    swapped = curves.replace({"method": {WITH: WITHOUT, WITHOUT: WITH}})
    assert "no help" in neuro_words.triage(swapped)


def test_scores():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    fits = [split(y, gaussians(y, 1), gaussians(np.full(4, 1.5), 2), number=n) for n in range(2)]
    table = neuro_tables.over_splits(neuro_tables.scores(fits, 0.9)).set_index("method")
    assert table.loc[WITH, "rmse"] == 0
    assert table.loc[WITH, "r2"] == 1
    assert table.loc[WITHOUT, "r2"] == pytest.approx(0)
    assert table.loc[WITHOUT, "width_90"] == pytest.approx(2 * 2 * 1.6448536)
    assert table.loc[WITH, "coverage_90"] == 1
    assert table.loc[WITH, "rmse (sd)"] == 0
    assert "100 % of the variance" in neuro_words.accuracy(table.reset_index())


def test_rivals_are_better_or_worse_only_if_the_subjects_say_so():
    y = np.random.default_rng(0).normal(size=60)
    rivals = {
        "near": gaussians(y * 0, 1.001),
        "worse": gaussians(y + 3, 1),
        "better": gaussians(y, 0.1),
    }
    fit = split(y, gaussians(y * 0, 1), gaussians(y, 0.1))
    fit.densities.update(rivals)
    found = neuro_tables.comparison([fit], 0).set_index("method")
    expected = rivals["worse"].crps(y).mean() - fit.densities[WITH].crps(y).mean()
    assert found.loc["worse", "gap"] == pytest.approx(expected)
    assert found.loc["near", "lower"] < 0 < found.loc["near", "upper"]
    text = neuro_words.rivalry(found.reset_index())
    assert "clearly better than those of worse; they cannot be told from those of near" in text
    assert f"clearly worse than those of {WITHOUT} and better." in text


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


def table_of(count, outcome):
    from deepnoise.datasets.neuro import NeuroTable

    index = [f"s{n}" for n in range(count)]
    imaging = pd.DataFrame(np.ones((count, 8)), index=index, columns=toy.NAMES)
    covariates = pd.DataFrame({"age": np.arange(count, dtype=float)}, index=index)
    return NeuroTable(imaging, covariates, pd.Series(outcome, index, name="g"), toy.atlas())


class Interrupted(BDeepNoiseRegressor):
    """What Ctrl-C leaves: fewer draws than were asked for."""

    def fit(self, X, y):
        self.posterior_ = SimpleNamespace(run=SimpleNamespace(n_draws=self.draws - 1))
        return self


def test_ctrl_c_ends_the_study(monkeypatch):
    monkeypatch.setattr(neuro_fit, "BDeepNoiseRegressor", Interrupted)
    table = table_of(30, np.random.default_rng(0).normal(size=30))
    with pytest.raises(KeyboardInterrupt):
        next(fit_splits(table, NeuroPlan(), str))


def test_studies_that_cannot_be():
    with pytest.raises(ValueError, match="at least 20 subjects; 5 can be used"):
        next(fit_splits(table_of(5, np.arange(5.0)), NeuroPlan(), str))
    with pytest.raises(ValueError, match="'g' is the same for every subject"):
        next(fit_splits(table_of(30, 1.0), NeuroPlan(), str))
