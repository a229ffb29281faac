"""Normal scores beside the standardised features."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from deepnoise import BDeepNoiseClassifier, DeepEnsembleRegressor, load
from deepnoise.estimators.units import MAX_KNOTS, Inputs, Score, Standardizer

from .toy import PLAIN, Line, small

COLUMN = arrays(float, st.integers(3, 20), elements=st.floats(-1.7e308, 1.7e308))


def skewed(rows=60):
    """y is 10 log a; a is lognormal, b has two values, c is constant."""
    rng = np.random.default_rng(0)
    a = np.exp(2 * rng.normal(size=rows))
    X = pd.DataFrame({"a": a, "b": rng.integers(0, 2, rows), "c": 3.0})
    return X, 10 * np.log(a) + rng.normal(size=rows)


def test_scores_are_normal_quantiles_of_mid_ranks():
    values = np.random.default_rng(0).integers(0, MAX_KNOTS, 50).astype(float)
    found = Score.learn(0, values).apply(values)
    expected = stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values))
    assert np.allclose(found, (expected - expected.mean()) / expected.std())


def test_scores_do_not_see_a_monotone_change_of_the_values():
    values = np.random.default_rng(0).integers(0, MAX_KNOTS, 50).astype(float)
    plain, bent = (Score.learn(0, v).apply(v) for v in (values, np.exp(3 * values)))
    assert np.allclose(plain, bent)


def test_many_values_have_few_knots():
    values = np.random.default_rng(0).gamma(0.5, size=5000)
    score = Score.learn(0, values)
    exact = stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values))
    assert len(score.knots) <= MAX_KNOTS
    assert np.abs(score.apply(values) - exact).max() < 2 * exact.max() / (MAX_KNOTS - 1)


def test_beyond_the_knots_scores_are_level_and_a_gap_has_none():
    score = Score.learn(0, np.array([1.0, 2.0, 4.0]))
    outer = [score.scores[0], score.scores[-1]]
    assert score.apply(np.array([-9.0, 99.0])) == pytest.approx(outer, rel=1e-12)
    assert score.slope(np.array([-9.0, 99.0])).tolist() == [0, 0]
    assert np.isnan(score.apply(np.array([np.nan])))


def test_scores_have_no_kinks_and_slopes_are_their_derivatives():
    values = np.random.default_rng(0).lognormal(size=5000)
    score = Score.learn(0, values)
    inner, step = np.array(score.knots[1:-1]), 1e-6
    before, after = (
        (score.apply(inner + end) - score.apply(inner + end - step)) / step for end in (0, step)
    )
    assert before == pytest.approx(after, rel=1e-4)
    assert score.slope(inner) == pytest.approx(after, rel=1e-4)


@given(COLUMN)
def test_any_column_has_finite_scores(values):
    x = Standardizer.learn(values[:, None]).apply(values)
    if len(np.unique(x)) > 1:
        score = Score.learn(0, x)
        assert np.isfinite(score.apply(x)).all()
        assert np.isfinite(score.slope(x)).all()
    inputs = Inputs.learn(values[:, None], "scores")
    assert np.isfinite(inputs.apply(np.array([[1.7e308], [-1.7e308], [0.0]]))).all()


@pytest.mark.parametrize("spread", [1, 4, 6])
def test_scores_of_heavy_tails_are_their_logarithms(spread):
    logarithm = spread * np.random.default_rng(0).normal(size=5000)
    x = np.exp(logarithm)[:, None]
    score = Inputs.learn(x, "scores").apply(x)[:, 1]
    assert np.corrcoef(score, logarithm)[0, 1] > 0.9


def test_one_value_far_away_does_not_hide_the_others():
    x = np.r_[np.random.default_rng(0).normal(size=200), 1e7][:, None]
    score = Inputs.learn(x, "scores").apply(x)[:200, 1]
    assert np.corrcoef(score, x[:200, 0])[0, 1] > 0.9


def test_skewed_columns_have_a_score_and_others_none():
    X, _ = skewed()
    rng = np.random.default_rng(0)
    X["d"], X["e"], X["f"] = rng.normal(size=60), rng.uniform(size=60), -(X["a"] ** 2)
    X["g"] = np.where(X["b"] == 1, 1 + 2.3e-16, 1)
    X.loc[3, ["a", "d"]] = np.nan
    inputs = Inputs.learn(X.to_numpy(), "scores")
    assert inputs.names(tuple("abcdefg")) == (*"abcdefg", "score of a", "score of f")
    assert inputs.apply(X.to_numpy()).shape == (60, 9)


def test_slopes_at_training_values_are_those_of_the_law():
    found = []
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=500)
        found.append(Score.learn(0, values).slope(values).mean())
    assert np.mean(found) == pytest.approx(1, abs=0.15)
    assert np.max(found) < 1.5


def test_values_that_are_almost_equal_have_no_steep_slope():
    values = np.array([0.3, 0.3 + 6e-17, 0.3 + 1.2e-16, 0.5, 0.9, 1.0])
    assert len(np.unique(values)) == 6
    assert np.abs(Score.learn(0, values).slope(values)).max() < 20


def test_json_round_trip():
    X = skewed()[0].to_numpy()
    inputs = Inputs.learn(X, "scores")
    assert Inputs.from_dict(json.loads(json.dumps(inputs.to_dict()))) == inputs
    assert "scores" not in Inputs.learn(X, True).to_dict(), "files of before have none"


@pytest.mark.parametrize("knots", [(1.0, 0.0), (0.0, 0.0), (0.0,), (), (0.0, np.nan)])
def test_knots_in_disorder_are_refused(knots):
    with pytest.raises(ValueError, match="knots must be two or more"):
        Score(0, knots, (0.0, 1.0)[: max(len(knots), 1)])


@pytest.mark.parametrize("column", [-1, 2])
def test_a_score_of_no_column_is_refused(column):
    with pytest.raises(ValueError, match="columns that exist"):
        Inputs(Standardizer.identity(2), (Score(column, (0.0, 1.0), (0.0, 1.0)),))


def test_a_line_in_scores_follows_a_logarithm():
    X, y = skewed()
    plain, scored = (Line(standardize=units).fit(X, y) for units in (True, "scores"))
    assert plain.score(X, y) < 0.6
    assert scored.score(X, y) > 0.97


@pytest.mark.parametrize("value", ["score", None, 2])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="standardize must be True, False or 'scores'"):
        Line(standardize=value).fit([[1.0]], [1.0])


@pytest.fixture(scope="module")
def fitted():
    """A line in a lognormal feature and a normal one, and rows of the same law."""
    first, second = np.random.default_rng(0).normal(size=(2, 60, 2))
    first[:, 0], second[:, 0] = np.exp(first[:, 0]), np.exp(second[:, 0])
    return (
        small(hidden=(), standardize="scores", **PLAIN).fit(first, 5 * first[:, 0]),
        first,
        second,
    )


def test_influence_is_of_the_feature_with_its_score(fitted):
    model, first, second = fitted
    step = np.array([[0.4, 0]])
    rise = np.abs(model.predict(second + step) - model.predict(second - step)).mean() / 0.8
    for X in (first, second):
        found = model.influence(X)
        assert found.names == ("x0", "x1")
        assert found.predictive[0] == pytest.approx(rise, rel=0.25)


def test_familiarity_is_of_the_features_alone(fitted):
    model, first, second = fitted
    apart = second - first.mean(axis=0)
    distance = np.sum(apart @ np.linalg.inv(np.cov(first.T)) * apart, axis=1)
    assert np.allclose(model.familiarity(second).tail, stats.chi2.sf(distance, 2), atol=0.1)


def test_models_are_saved_and_loaded(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.slow
def test_networks_and_classifiers_take_scores_too(tmp_path):
    X, y = skewed()
    network = DeepEnsembleRegressor(members=2, hidden=(3,), steps=50, standardize="scores")
    network.fit(X, y).save(tmp_path / "net")
    assert np.array_equal(load(tmp_path / "net").predict(X), network.predict(X))
    classes = BDeepNoiseClassifier(
        hidden=(), chains=2, warmup=30, draws=20, standardize="scores", random_state=0
    )
    X.loc[3, "a"] = np.nan
    assert classes.fit(X, y > 0).score(X, y > 0) > 0.9
