"""A column of sites: how it is read, a site not seen in training, and one adapted to later."""

import warnings

import numpy as np
import pytest

import deepnoise
from deepnoise import BDeepNoiseRegressor
from deepnoise.estimators.encode import TableEncoder
from deepnoise.estimators.units import Units
from deepnoise.inference.storage import plan_from_json, plan_to_json

from .toy import small

pd = pytest.importorskip("pandas")

SETTINGS = {"sites": "site", "sampler": "gibbs", "warmup": 300, "thin": 2, "draws": 60}


def table(sites="abcdef", rows=6, seed=0):
    rng = np.random.default_rng(seed)
    names = np.repeat(list(sites), rows)
    X = pd.DataFrame({"size": rng.normal(size=len(names)), "site": names})
    levels = {name: 3.0 * (place % 2) for place, name in enumerate("abcdefgh")}
    return X, X["size"] + X["site"].map(levels) + 0.3 * rng.normal(size=len(names))


@pytest.fixture(scope="module")
def model():
    return small(**SETTINGS, hidden=()).fit(*table())


@pytest.fixture(scope="module")
def new():
    return pd.DataFrame({"size": [0.0, 0.0, 0.0], "site": ["a", "b", "h"]})


def test_one_column_a_site_and_one_for_others():
    encoder = TableEncoder.learn(table("ba", 1)[0], "nan", "site")
    assert encoder.feature_names == ("size", "site=a", "site=b", "site=(new)")
    assert (encoder.sites, encoder.new_site) == ((1, 4), 3)
    found = encoder.encode(pd.DataFrame({"size": [1.0, 2.0], "site": ["b", "q"]}), "nan")
    np.testing.assert_array_equal(found, [[1, 0, 1, 0], [2, 0, 0, 1]])
    assert TableEncoder.from_dict(encoder.to_dict()) == encoder
    assert TableEncoder.from_dict(TableEncoder.learn(table()[0]).to_dict()).sites is None


def test_sites_by_number_in_an_array():
    encoder = TableEncoder.learn(np.array([[1.0, 0.5], [2.0, 0.5], [1.0, 0.7]]), "nan", 0)
    assert encoder.feature_names == ("x0=1", "x0=2", "x0=(new)", "x1")
    np.testing.assert_array_equal(encoder.encode(np.array([[3.0, 0.1]])), [[0, 0, 1, 0.1]])


@pytest.mark.parametrize("standardize", [True, "scores", False])
def test_columns_of_sites_stay_zeros_and_ones(standardize):
    rng = np.random.default_rng(0)
    x = np.c_[5 + rng.exponential(size=20), np.eye(5)[rng.integers(0, 4, 20)]]
    units = Units.learn(x, rng.normal(size=(20, 1)), standardize, (1, 6))
    np.testing.assert_array_equal(units.x.apply(x)[:, 1:6], x[:, 1:])
    assert all(score.column == 0 for score in units.x.scores)
    assert standardize is False or units.x.scale[0] != 1


def test_an_unseen_site_is_as_wide_as_sites_differ(model, new):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        density = model.predict_density(new)
    low, high, other = density.mean()
    sd = np.sqrt(density.var())
    assert low < other < high
    assert high - low > 2
    assert sd[2] > 2 * sd[:2].max()
    width = np.diff(model.predict_above(new, 1.5)[:, 1:])[:, 0]
    assert width[2] > width[:2].max()


def test_an_unseen_site_with_a_gap(model):
    X = pd.DataFrame({"size": [np.nan, 0.0], "site": ["h", "h"]})
    gap, whole = model.predict_density(X).var()
    assert whole < gap < 3 * whole
    known = pd.DataFrame({"size": [0.0], "site": ["a"]})
    assert model.familiarity(X).tail.min() > 0.01 * model.familiarity(known).tail[0]


def test_saved_resumed_and_read_back(model, new, tmp_path):
    model.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.resume(70).posterior_.run.n_draws == 70
    plan = model.posterior_.plan
    assert plan_from_json(plan_to_json(plan)) == plan
    assert (
        plan_from_json({k: v for k, v in plan_to_json(plan).items() if k != "sites"}).sites is None
    )


def test_adapted_to_a_later_site(model, new, tmp_path):
    X, y = table("h", 12, seed=1)
    adapted = model.adapt(X, y, sweeps=20)
    before, after = model.predict_density(new), adapted.predict_density(new)
    np.testing.assert_array_equal(after.mean()[:2], before.mean()[:2])
    assert abs(after.mean()[2] - 3.0) < 0.5
    assert after.var()[2] < before.var()[2] / 2
    adapted.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(new), adapted.predict(new))
    np.testing.assert_array_equal(model.predict(new), before.mean())
    # No training row is of the later site, so its column says nothing of a missing size.
    precision, later = np.array(loaded.predictive_.input_laws.precision), loaded.encoder_.later_site
    assert not np.delete(precision[:, later], later, axis=1).any()
    with pytest.raises(ValueError, match="adapted to 'h' alone"):
        loaded.predict(new.assign(site="q"))
    with pytest.raises(ValueError, match="cannot be resumed"):
        loaded.resume(100)
    with pytest.raises(ValueError, match="not adapted since"):
        loaded.adapt(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"site": "a"}, "'a' was there when fitting"),
        ({"site": list("ggghhh")}, "rows of one site; got g, h"),
        ({"size": np.nan}, "without missing values"),
    ],
)
def test_rows_that_cannot_be_adapted_to(model, change, message):
    X, y = table("g")
    with pytest.raises(ValueError, match=message):
        model.adapt(X.assign(**change), y)


def test_a_model_without_sites_cannot_be_adapted(model):
    X, y = table("g")
    plain = small(warmup=2, draws=2, sampler="gibbs", hidden=()).fit(*table())
    with pytest.raises(ValueError, match="fitted with sites="):
        plain.adapt(X, y)
    with pytest.raises(ValueError, match="exact outcomes"):
        model.adapt(X, np.where(np.arange(6) == 2, np.nan, y))


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        ({}, {"sites": "centre"}, "sites must be a column of X.*'centre'"),
        ({}, {"sites": 7}, "sites must be a column from 0 to 1; got 7"),
        ({}, {"sites": True}, "sites must be a column of X"),
        ({"site": "a"}, {}, "one site, 'a'"),
        ({"site": ["a", None, "b"] * 12}, {}, "row 1: the site is missing"),
        ({"site": [0.5, 1.0, 2.0] * 12}, {}, "row 0 holds 0.5, but sites are text"),
        ({"site": ["a", "(new)", "b"] * 12}, {}, "may be called"),
        ({}, {"prior": "paper"}, "sites needs prior='default' or 'wide'"),
        ({}, {"prior": "fixed"}, "sites needs prior='default' or 'wide'"),
    ],
)
def test_bad_input_is_one_clear_line(change, settings, message):
    X, y = table()
    model = BDeepNoiseRegressor(**{"sites": "site", **settings})
    with pytest.raises(ValueError, match=message) as error:
        model.fit(X.assign(**change), y)
    assert "\n" not in str(error.value)


def test_bad_sites_at_prediction(model):
    with pytest.raises(ValueError, match="the site is missing"):
        model.predict(pd.DataFrame({"size": [0.0], "site": [None]}))
    with pytest.raises(ValueError, match="must be a pandas or polars frame"):
        model.predict(np.zeros((1, 2)))
