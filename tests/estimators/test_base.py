"""The template that every method shares, on a model that fits in microseconds."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from deepnoise.estimators.base import draw_seed

from .toy import Line

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([Line()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=30), "b": rng.choice(["u", "v"], 30)})
    return X, 3 + 2 * X["a"] + 5 * (X["b"] == "v") + rng.normal(size=30)


def test_results_and_their_shapes(table):
    X, y = table
    model = Line().fit(X, y)
    density = model.predict_density(X)
    assert np.array_equal(model.predict(X), density.mean())
    assert model.predict_interval(X, 0.9).shape == (30, 2)
    assert model.predict_quantiles(X, [0.1, 0.5, 0.9]).shape == (30, 3)
    assert model.predict_quantiles(X, 0.5).shape == (30,)
    assert np.allclose(density.probability_above(density.mean()), 0.5)
    assert model.sample(X, 4).shape == (30, 4)
    assert model.score(X, y) > 0.8
    for result in (model.predict(X), model.predict_interval(X), model.sample(X)):
        assert result.dtype == np.float64
        assert isinstance(result, np.ndarray)


def test_several_outcomes(table):
    X, y = table
    y = np.c_[y, 100 - y]
    model = Line().fit(X, y)
    assert model.predict(X).shape == (30, 2)
    assert model.predict_interval(X).shape == (30, 2, 2)
    assert model.sample(X, 3).shape == (30, 3, 2)
    assert model.score(X, y) > 0.8


def test_a_column_is_one_outcome(table):
    X, y = table
    assert np.array_equal(Line().fit(X, y).predict(X), Line().fit(X, y.to_frame()).predict(X))


def test_score_report(table):
    X, y = table
    report = Line().fit(X, y).score_report(X, y)
    assert list(report) == [
        "rmse",
        "nll",
        "crps",
        "coverage_50",
        "coverage_80",
        "coverage_90",
        "coverage_95",
    ]
    assert 0.2 < report["coverage_50"] < 0.8 <= report["coverage_95"] <= 1
    assert report["crps"] < report["rmse"]


def test_units_of_y_do_not_matter(table):
    X, y = table
    density, scaled = Line().fit(X, y), Line().fit(X, 1e9 * y - 7)
    assert np.allclose(1e9 * density.predict(X) - 7, scaled.predict(X))


def test_columns_by_name_in_any_kind_of_frame(table):
    X, y = table
    model = Line().fit(X, y)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.n_features_in_ == 2
    expected = model.predict(X)
    assert np.array_equal(model.predict(X[["b", "a"]]), expected)
    polars = pl.DataFrame({name: X[name].to_list() for name in X})
    assert np.array_equal(model.predict(polars), expected)
    assert np.array_equal(Line().fit(polars, pl.Series(y.to_list())).predict(polars), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.assign(c=0), "not seen when fitting: 'c'"),
        (lambda X: X[["a"]], "missing: 'b'"),
        (lambda X: X.assign(b="w"), "column 'b', row 0 holds 'w'"),
        (
            lambda X: X.assign(a=np.nan),
            "column 'a', row 0 is NaN: missing values are not supported",
        ),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X.to_numpy(), "must be a pandas or polars frame"),
    ],
)
def test_bad_tables_at_prediction(table, change, message):
    X, y = table
    model = Line().fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(change(X))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (pd.DataFrame({"a": [1.0, np.nan]}), [1, 2], "column 'a', row 1 is NaN"),
        (np.array([[1.0], [np.inf]]), [1, 2], "column 'x0', row 1 is infinite"),
        (np.array([[1.0], [np.nan]]), [1, 2], "column 'x0', row 1 is NaN"),
        (np.zeros((2, 1)), [1, np.nan], "y contains NaN"),
        (np.zeros((2, 1)), [1, 2, 3], "inconsistent numbers of samples"),
        (pd.DataFrame({"a": [1.0, 2.0]}), [1, 2, 3], "inconsistent numbers of samples"),
        (np.zeros((2, 1)), None, "requires y"),
        (pd.DataFrame({"a": [1.0, 2.0]}), None, "requires y"),
        (np.zeros((0, 1)), [], "0 sample"),
        (np.zeros((2, 0)), [1, 2], "0 feature"),
        (pd.DataFrame(index=[0, 1]), [1, 2], "0 feature"),
        (np.array([["1", "b"]]), [1], "not compatible with arrays of bytes/strings"),
        (np.zeros((2, 1)), ["a", "b"], "could not convert string|numeric"),
        (np.zeros((2, 1)), np.zeros((2, 0)), "0 feature|no columns"),
        (np.zeros((2, 1)), [1e200, 2e200], "change the unit of y"),
    ],
)
def test_bad_training_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        Line().fit(X, y)


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match="ridge must be positive"):
        Line(ridge=0).fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="standardize must be True, False or"):
        Line(standardize="yes").fit([[1.0]], [1.0])


def test_a_failed_fit_leaves_nothing_fitted(table, monkeypatch):
    X, y = table
    model = Line().fit(X, y)

    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(model, "_fit", fail)
    with pytest.raises(RuntimeError):
        model.fit(X, y)
    for method in (model.predict, model.predict_density, model.sample):
        with pytest.raises(NotFittedError):
            method(X)


def test_seeds():
    assert draw_seed(7) == draw_seed(np.int64(7)) == 7
    assert draw_seed(np.random.RandomState(3)) == draw_seed(np.random.RandomState(3))
    assert draw_seed(None) != draw_seed(None)
    with pytest.raises(ValueError, match="random_state"):
        draw_seed(-1)
    with pytest.raises(ValueError, match="seed"):
        draw_seed("seven")


def test_samples_repeat_unless_asked(table):
    X, y = table
    model = Line(random_state=0).fit(X, y)
    assert model.seed_ == 0
    assert np.array_equal(model.sample(X, 2), model.sample(X, 2))
    assert not np.array_equal(model.sample(X, 2), model.sample(X, 2, random_state=1))


def test_standardize_false_fits_in_the_users_units(table):
    X, y = table
    plain = Line(standardize=False, ridge=1e-9).fit(X, y)
    assert plain.units_.y.scale == (1.0,)
    assert np.allclose(plain.predict(X), Line(ridge=1e-9).fit(X, y).predict(X), rtol=1e-4)


def test_weights_are_numbers_of_equal_rows(table):
    X, y = table
    weights = np.arange(30) % 4
    rows = np.repeat(np.arange(30), weights)
    weighted = Line().fit(X, y, sample_weight=weights)
    repeated = Line().fit(X.iloc[rows], y.iloc[rows])
    assert weighted.units_ == repeated.units_
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    assert np.array_equal(Line().fit(X, y, np.ones(30)).predict(X), Line().fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(30, 0.5), "sample_weight must be whole numbers: .* got 0.5"),
        (np.full(30, -1.0), "sample_weight must be whole numbers: .* got -1.0"),
        (np.full(30, np.nan), "NaN"),
        (np.ones(29), r"one value per row, \(30,\); got \(29,\)"),
        (np.zeros(30), "got zeros only"),
    ],
)
def test_bad_weights_are_named(table, weights, message):
    with pytest.raises(ValueError, match=message):
        Line().fit(*table, sample_weight=weights)
