"""SHAP values add up, follow a known law, and take text and gaps; skipped without shap."""

import sys

import numpy as np
import pytest

from deepnoise import shap_values

from .toy import Line

pd = pytest.importorskip("pandas")


def line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Line().fit(X, 2 * X[:, 0] - X[:, 1]), X


@pytest.mark.filterwarnings("ignore")
def test_values_of_a_line_are_known():
    pytest.importorskip("shap")
    model, X = line()
    found = shap_values(model, X[:4], X[20:50])
    expected = (X[:4] - X[20:50].mean(axis=0)) * [2, -1, 0]
    np.testing.assert_allclose(found.values, expected, atol=1e-4)
    whole = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(whole, model.predict(X[:4]), atol=1e-8)
    for of, says in ((0.9, model.predict_quantiles(X[:4], 0.9)), ("sd", 0 * X[:4, 0])):
        values = shap_values(model, X[:4], X[20:40], of=of)
        sd = 0.0 if of != "sd" else model.predict_density(X[:4]).var() ** 0.5
        whole = values.base_values + values.values.sum(axis=1)
        np.testing.assert_allclose(whole, says + sd, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_text_is_exchanged_as_it_stands():
    pytest.importorskip("shap")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.normal(size=60), "colour": np.where(rng.random(60) < 0.5, "r", "b")}
    )
    model = Line().fit(X, X["size"] + 3.0 * (X["colour"] == "r"))
    found = shap_values(model, X[:5], X[20:50])
    share = (X["colour"][20:50] == "r").mean()
    expected = 3.0 * ((X["colour"][:5] == "r") - share)
    np.testing.assert_allclose(found.values[:, 1], expected, atol=1e-3)
    assert list(found.feature_names) == ["size", "colour"]
    assert found.data[0, 1] in ("r", "b")


def test_bad_input(monkeypatch):
    model, X = line()
    with pytest.raises(ValueError, match="of must be"):
        shap_values(model, X, X, of="median")
    with pytest.raises(ValueError, match="permutations must be"):
        shap_values(model, X, X, permutations=0)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"pip install 'deepnoise\[shap\]'"):
        shap_values(model, X, X)
