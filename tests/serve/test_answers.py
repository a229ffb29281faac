"""What the server answers is what the estimator says, whatever the kind of model."""

import json

import numpy as np
import pandas as pd
import pytest

from deepnoise import (
    BackpropRegressor,
    BDeepNoiseClassifier,
    BDeepNoiseRegressor,
    BDeepNoiseSurvival,
)
from deepnoise.estimators.encode import TableEncoder
from deepnoise.serve.engine import Engine
from deepnoise.serve.request import InvalidError, encode
from deepnoise.serve.server import Limits, make_app

from .asgi import TOKEN, asked, together

TOY = {"hidden": (3,), "chains": 2, "warmup": 20, "draws": 10, "paths": 3, "init": "prior"}
TOY |= {"sampler": "gibbs", "random_state": 0}
LEVELS = [0.1, 0.5, 0.9]
PATIENT = Limits(seconds=600.0)
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=40), "kind": rng.choice(["a", "b", "c"], 40)})
    return X, X["size"] + (X["kind"] == "a") + 0.3 * rng.normal(size=40)


@pytest.fixture(scope="module")
def regressor(table):
    return BDeepNoiseRegressor(**TOY | {"hidden": (3, 2)}).fit(*table)


def records(X):
    return X.astype(object).where(X.notna(), None).to_dict("records")


def app_of(model, outcome="y", **settings):
    return make_app(Engine.of(model, outcome, **settings), TOKEN, (), PATIENT)


def test_numbers(regressor, table):
    X = table[0][:3]
    app, density = app_of(regressor), regressor.predict_density(X)
    asks = {"quantiles": LEVELS, "above": [0.0, 1.0], "grid": [-1.0, 0.0, 1.0], "interval": 0.8}
    found = asked(app, rows=records(X), **asks)
    assert found.status == 200
    json_ = found.json
    np.testing.assert_allclose(json_["quantiles"], density.quantile(LEVELS), **CLOSE)
    np.testing.assert_allclose(json_["mean"], density.mean(), **CLOSE)
    np.testing.assert_allclose(json_["sd"], np.sqrt(density.var()), **CLOSE)
    np.testing.assert_allclose(json_["density"], density.pdf_grid([-1.0, 0.0, 1.0]), **CLOSE)
    above = regressor.predict_above(X, [[0.0, 1.0]], 0.8)
    for place, name in enumerate(("above", "above_low", "above_high")):
        np.testing.assert_allclose(json_[name], above[:, place], **CLOSE)
    assert (json_["levels"], json_["thresholds"], json_["interval"]) == (LEVELS, [0.0, 1.0], 0.8)
    assert json_["outcome"] == "y"
    assert json_["warnings"] == []
    columns = {"columns": ["kind", "size"], "data": X[["kind", "size"]].to_numpy().tolist()}
    assert asked(app, **columns, **asks).json == json_


def test_missing_values_and_levels_that_are_new(regressor, table):
    X = table[0][:2].assign(size=[np.nan, 0.5], kind=["a", "z"])
    found = asked(app_of(regressor), rows=records(X), quantiles=LEVELS, above=[0.5], interval=0.9)
    assert found.json["warnings"] == ['kind: not there when fitting, taken as missing: "z"']
    with pytest.warns(UserWarning, match="'z' in column 'kind'"):
        truth = regressor.predict_quantiles(X, LEVELS)
    np.testing.assert_allclose(found.json["quantiles"], truth, **CLOSE)


def test_sites_are_read_as_by_the_estimator():
    frame = pd.DataFrame({"size": [0.0, 1.0], "site": ["a", "b"]})
    encoder = TableEncoder.learn(frame, "nan", "site")
    later = frame.assign(site=["b", "q"])
    found, warnings = encode(encoder, True, ["size", "site"], later.to_numpy().tolist())
    np.testing.assert_array_equal(found, encoder.encode(later, "nan"))
    assert warnings == []
    with pytest.raises(InvalidError, match="row 0, column site: must name the site; got null"):
        encode(encoder, True, ["size", "site"], [[0.0, None]])


def test_a_grid_of_points_reaches_over_all_rows(regressor, table):
    X = table[0][:5]
    found = asked(app_of(regressor), rows=records(X), grid={"points": 7}, quantiles=[], mean=False)
    ends = regressor.predict_quantiles(X, [0.001, 0.999])
    grid = np.linspace(ends[:, 0].min(), ends[:, 1].max(), 7)
    np.testing.assert_allclose(found.json["grid"], grid, **CLOSE)
    truth = regressor.predict_density(X).pdf_grid(grid)
    np.testing.assert_allclose(found.json["density"], truth, **CLOSE)
    assert set(found.json) == {"outcome", "grid", "density", "warnings"}


def test_company_changes_nothing(regressor, table):
    """Requests of different questions, sizes and gaps at once, and each of them alone."""
    X = table[0].assign(size=table[0]["size"].where(table[0].index % 7 > 0))
    rows, asks = records(X), ({"quantiles": LEVELS}, {"above": [0.2]}, {"quantiles": [0.3]})
    questions = [{"rows": rows[n : n + 1 + n % 2] if n else rows, **asks[n % 3]} for n in range(12)]
    questions.append({"rows": [{"size": "x", "kind": "a"}]})
    bodies = [("POST", "/v1/predict", json.dumps(q).encode()) for q in questions]
    app = app_of(regressor)
    crowd = together(app, *bodies)
    assert [a.status for a in crowd] == [200] * 12 + [422]
    for n in (0, 1, 7, 12):
        alone = together(app, bodies[n])[0].json
        for name, values in alone.items():
            if isinstance(values, list) and values and name != "warnings":
                np.testing.assert_allclose(crowd[n].json[name], values, **CLOSE)
            else:
                assert crowd[n].json[name] == values


def test_one_failure_in_a_batch_is_nobody_elses(regressor, table, monkeypatch):
    engine = Engine.of(regressor, "y")
    answer = engine.answer

    def failing(x, question):
        if (x[:, 0] > 50).any():
            raise RuntimeError("secret detail")
        return answer(x, question)

    object.__setattr__(engine, "answer", failing)
    app = make_app(engine, TOKEN, (), PATIENT)
    rows = [{"size": size, "kind": "a"} for size in (1.0, 99.0, 2.0)]
    found = together(
        app, *(("POST", "/v1/predict", json.dumps({"rows": [row]}).encode()) for row in rows)
    )
    assert [answer.status for answer in found] == [200, 500, 200]
    assert found[1].json == {"error": "the server failed to answer"}


def test_thinned(regressor, table):
    X = table[0][:3]
    engine = Engine.of(regressor, "y", draws=5, paths=2)
    found = asked(make_app(engine, TOKEN, (), PATIENT), rows=records(X), quantiles=LEVELS)
    small = regressor.thinned(5, 2)
    np.testing.assert_allclose(found.json["quantiles"], small.predict_quantiles(X, LEVELS), **CLOSE)
    said = engine.facts()["thinned"]
    assert (said["draws"], said["all_draws"], said["paths"], said["all_paths"]) == (5, 10, 2, 3)
    whole = regressor.predict_density(table[0])
    truth = whole.cdf_distance(small.predict_density(table[0])).max()
    np.testing.assert_allclose(said["cost"], truth, rtol=1e-3)


def test_times(table):
    X, y = table
    model = BDeepNoiseSurvival(**TOY).fit(X, (np.exp(y), np.arange(40) % 4 > 0))
    times = [0.5, 2.0]
    asks = {"quantiles": [0.5], "above": times, "grid": times, "interval": 0.9}
    found = asked(app_of(model), rows=records(X[:3]), **asks).json
    np.testing.assert_allclose(np.ravel(found["quantiles"]), model.predict(X[:3]), **CLOSE)
    np.testing.assert_allclose(found["above"], model.predict_survival(X[:3], times), **CLOSE)
    log = model.predict_density(X[:3]).pdf_grid(np.log(times)) / times
    np.testing.assert_allclose(found["density"], log, **CLOSE)
    band = model.predict_above(X[:3], np.log([times]), 0.9)
    np.testing.assert_allclose(found["above_low"], band[:, 1], **CLOSE)
    assert "mean" not in found
    assert asked(app_of(model), rows=records(X[:3]), above=[0.0]).status == 422


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_classes(table, classes):
    X, y = table
    labels = np.array(["low", "middle", "high"])[np.argsort(np.argsort(y)) * classes // 40]
    model = BDeepNoiseClassifier(**TOY).fit(X[["size"]], labels)
    X = X[["size"]]
    found = asked(app_of(model), rows=records(X[:4]), interval=0.9).json
    bands = model.probability_bands(X[:4], 0.9)
    np.testing.assert_allclose(found["probability"], model.predict_proba(X[:4]), **CLOSE)
    np.testing.assert_allclose(found["probability_low"], bands.lower, **CLOSE)
    assert found["classes"] == model.classes_.tolist()
    assert found["likeliest"] == model.predict(X[:4]).tolist()
    refused = asked(app_of(model), rows=records(X[:4]), quantiles=[0.5])
    assert refused.json == {"error": "quantiles: this model predicts classes, which have none"}


def test_several_outcomes_of_a_network_without_draws(table):
    X, y = table
    model = BackpropRegressor(hidden=(3,), steps=20, random_state=0).fit(
        X, np.column_stack([y, -y])
    )
    app, density = app_of(model), model.predict_density(X[:3])
    grid = {"y0": [0.0], "y1": [1.0, 2.0]}
    found = asked(app, rows=records(X[:3]), above={"y1": [0.5]}, grid=grid).json
    first, second = found["outcomes"]
    assert (first["outcome"], second["outcome"]) == ("y0", "y1")
    assert "above" not in first
    truth = density.marginal(1)
    np.testing.assert_allclose(second["above"], truth.probability_above_grid([0.5]), **CLOSE)
    np.testing.assert_allclose(second["density"], truth.pdf_grid([1.0, 2.0]), **CLOSE)
    np.testing.assert_allclose(first["mean"], density.mean()[:, 0], **CLOSE)
    assert asked(app, rows=records(X[:3]), grid={"points": 5}).status == 200
    for wrong in ({"interval": 0.9}, {"above": {"y2": [1.0]}}):
        assert asked(app, rows=records(X[:3]), **wrong).status == 422
    gap = asked(app, rows=[{"size": None, "kind": "a"}])
    assert gap.json["error"] == "row 0, column size: is missing, and this model needs every value"


@pytest.mark.slow
@pytest.mark.parametrize("support", ["positive", "counts"])
def test_outcomes_with_a_support(table, support):
    X, y = table
    values = np.exp(y) if support == "positive" else np.round(np.exp(y))
    model = BDeepNoiseRegressor(**TOY, support=support).fit(X, values)
    asks = {"quantiles": LEVELS, "above": [1.0], "grid": {"points": 5}, "interval": 0.9}
    found = asked(app_of(model), rows=records(X[:2]), **asks).json
    density = model.predict_density(X[:2])
    np.testing.assert_allclose(found["quantiles"], density.quantile(LEVELS), **CLOSE)
    np.testing.assert_allclose(found["mean"], density.mean(), **CLOSE)
    np.testing.assert_allclose(found["density"], density.pdf_grid(found["grid"]), **CLOSE)
    above = model.predict_above(X[:2], [[1.0]], 0.9)
    np.testing.assert_allclose(found["above_high"], above[:, 2], **CLOSE)
