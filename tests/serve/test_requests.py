"""Bad requests: one clear line each, the right status, and the server stays up."""

import json
import logging

import numpy as np
import pandas as pd
import pytest

from deepnoise import BackpropRegressor
from deepnoise.serve.engine import Engine
from deepnoise.serve.request import InvalidError, Question, check_size
from deepnoise.serve.server import Limits, make_app

from .asgi import TOKEN, asked, together

GOOD = {"rows": [{"size": 0.5, "kind": "a"}]}


@pytest.fixture(scope="module")
def app():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=20), "kind": ["a", "b"] * 10})
    model = BackpropRegressor(hidden=(2,), steps=5, random_state=0).fit(X, X["size"])
    return make_app(Engine.of(model, "y"), TOKEN, ("models.example",), Limits(10, 2000, 5.0))


def refusal(answer):
    """Status and line of an answer that is nothing but a line."""
    assert set(answer.json) == {"error"}
    line = answer.json["error"]
    assert "\n" not in line
    assert "Traceback" not in line
    assert TOKEN not in answer.body.decode()
    assert answer.headers["content-type"] == "application/json"
    return answer.status, line


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"rows": [{"size": 0.5}]}, 'columns missing: "kind"'),
        ({"rows": [{"size": 1, "kind": "a", "x": 1}]}, 'columns not of the model: "x"'),
        ({"rows": [{"size": 1, "kind": "a"}, {"size": 1}]}, "rows[1] has other columns"),
        ({"rows": [{"size": "1", "kind": "a"}]}, 'row 0, column size: must be a number; got "1"'),
        ({"rows": [{"size": [1], "kind": "a"}]}, "row 0, column size: must be a number; got [1]"),
        ({"rows": [{"size": 10**400, "kind": "a"}]}, "row 0, column size: must be a finite number"),
        ({"rows": [{"size": 1, "kind": {}}]}, "row 0, column kind: must be a text; got {}"),
        ({"rows": [{"size": 1, "kind": "z"}]}, 'row 0, column kind: "z" was not there when'),
        ({"rows": [{"size": 1, "kind": None}]}, "row 0, column kind: is missing"),
        ({"rows": []}, "rows must be a list of at least one row"),
        ({"rows": {}}, "rows must be a list of at least one row"),
        ({"rows": [1]}, "rows[0] must be an object"),
        ({"rows": GOOD["rows"] * 11}, "rows has 11 rows; send at most 10 at once"),
        ({"columns": ["size", "kind"]}, "columns go with data, not with rows"),
        ({"data": [[1, "a"]]}, "give either rows, a list of objects, or columns and data"),
        ({"rows2": 1}, 'unknown field "rows2"; there are rows, columns'),
        ({"quantiles": [0.5, 1.0]}, "quantiles must be levels between 0 and 1; got 1"),
        ({"quantiles": 0.5}, "quantiles must be a list of numbers; got 0.5"),
        ({"quantiles": [True]}, "quantiles must be a list of numbers; got [true]"),
        ({"quantiles": [0.5] * 101}, "quantiles has 101 values; there may be 100"),
        ({"above": ["a"]}, 'above must be a list of numbers; got ["a"]'),
        ({"above": {"y": [1]}}, 'above must be a list of numbers; got {"y": [1]}'),
        ({"grid": {"points": 1}}, "grid.points must be a whole number from 2 to 1000"),
        ({"grid": {"n": 1}}, "grid must be a list of numbers"),
        ({"interval": 0}, "interval must be a probability between 0 and 1; got 0"),
        ({"interval": 0.9, "above": [1]}, "interval: this model has no posterior draws"),
        ({"mean": 1}, "mean must be true or false; got 1"),
    ],
)
def test_what_cannot_be_answered(app, change, line):
    status, found = refusal(asked(app, **GOOD | change))
    assert status == 422
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 1500, "the body is not JSON"),
        (b"[]", "the body must be a JSON object"),
        (b'{"rows": [{"size": NaN}]}', "NaN is not JSON; write null for a missing value"),
        (b'{"above": [-Infinity]}', "-Infinity is not JSON; write null for a missing value"),
        (b'{"rows": [], "rows": []}', "an object has the same name twice"),
    ],
)
def test_what_is_not_json(app, body, line):
    assert refusal(together(app, ("POST", "/v1/predict", body))[0]) == (400, line)


def test_data_with_columns(app):
    for data, columns in (([[1]], ["size", "kind"]), ([1], ["size"]), ([[1, 2]], ["size", "size"])):
        assert refusal(asked(app, data=data, columns=columns))[0] == 422
    assert refusal(asked(app, data=[[1]], columns=[1]))[0] == 422
    assert refusal(asked(app, data=[[1]]))[0] == 422


def test_who_may_ask(app):
    body = json.dumps(GOOD).encode()
    ask = ("POST", "/v1/predict", body)
    found = together(
        app,
        (*ask, {}, None),
        (*ask, {}, "wrong"),
        (*ask, {"authorization": f"Basic {TOKEN}"}),
        (*ask, {"authorization": "Bearer é"}),
        ("GET", "/v1/model", b"", {}, None),
        ("GET", "/nothing", b"", {}, None),
    )
    assert [refusal(answer)[0] for answer in found] == [401] * 6
    assert refusal(found[0])[1] == "Authorization: a token is needed"
    assert refusal(found[1])[1] == "Authorization: wrong token"
    assert found[0].headers["www-authenticate"] == "Bearer"
    hosts = ("evil.example", "", "localhost.evil.example:80", "models.example", "127.0.0.1:99")
    found = together(app, *(("GET", "/healthz", b"", {"host": host}, None) for host in hosts))
    assert [answer.status for answer in found] == [400, 400, 400, 200, 200]


def test_addresses_methods_and_bodies(app):
    found = together(
        app,
        ("GET", "/nothing"),
        ("GET", "/v1/predict"),
        ("DELETE", "/v1/model"),
        ("POST", "/v1/predict", b"{}", {"content-type": "text/csv"}),
        ("POST", "/v1/predict", b"{}", {"content-encoding": "gzip"}),
        ("POST", "/v1/predict", b"{}", {"content-length": "2001"}),
        ("POST", "/v1/predict", b" " * 2001),
    )
    assert [refusal(a)[0] for a in found] == [404, 405, 405, 415, 415, 413, 413]
    assert found[1].headers["allow"] == "POST"
    assert asked(app, **GOOD).status == 200


def test_long_answers_are_refused():
    check_size(Question(points=95), rows=1000, outcomes=1)
    with pytest.raises(InvalidError, match="the answer would hold 102,000 numbers, more than 100,"):
        check_size(Question(points=100), rows=1000, outcomes=1)
    with pytest.raises(InvalidError, match="302,000 numbers"):
        check_size(Question(above=((0.0,) * 100,)), rows=1000, outcomes=1)


def test_failures_are_silent_and_short(app, monkeypatch, caplog):
    monkeypatch.setattr(json, "loads", lambda *a, **k: 1 / 0)
    with caplog.at_level(logging.INFO):
        answer = together(app, ("POST", "/v1/predict", b"{}"))[0]
    monkeypatch.undo()
    assert refusal(answer) == (500, "the server failed to answer")
    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" not in caplog.text
    assert TOKEN not in caplog.text
    assert asked(app, **GOOD).status == 200


def test_what_it_says_of_itself(app):
    page, script, model, described, health = together(
        app,
        ("GET", "/", b"", {}, None),
        ("GET", "/page.js", b"", {}, None),
        ("GET", "/v1/model"),
        ("GET", "/openapi.json"),
        ("GET", "/healthz", b"", {}, None),
    )
    assert page.headers["content-type"].startswith("text/html")
    for text in (page.body.decode(), script.body.decode()):
        assert "https:" not in text
        assert "size" not in text.replace("box-sizing", "")
    assert model.json["columns"][1] == {"name": "kind", "type": "category", "levels": ["a", "b"]}
    assert model.json["convergence"] is None
    assert model.json["versions"].keys() >= {"deepnoise", "jax", "uvicorn"}
    assert health.json == {"status": "ok"}
    assert described.json["openapi"] == "3.1.0"
    assert described.json["paths"].keys() == {
        "/v1/predict",
        "/v1/model",
        "/openapi.json",
        "/healthz",
    }
    row = described.json["components"]["schemas"]["Row"]
    assert row["properties"]["size"] == {"type": ["number", "boolean"]}
    answer = described.json["components"]["schemas"]["Answer"]["properties"]
    asks = {"above": [0.0], "grid": {"points": 3}}
    assert asked(app, **GOOD, **asks).json.keys() <= answer.keys()
