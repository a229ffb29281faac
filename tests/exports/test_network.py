"""Exported networks have the components of the model; jax.export and ONNX files answer the same."""

import json
from copy import copy
from dataclasses import replace

import jax
import numpy as np
import pytest

from deepnoise import BackpropRegressor
from deepnoise.estimators.scores import Score
from deepnoise.exports import agreement, network, to_jax
from deepnoise.exports.forward import mixture, score_of
from deepnoise.exports.network import network_of
from deepnoise.prediction.support import Support
from tests.estimators.toy import small

from .conftest import shop, skewed

LEVELS = (0.05, 0.5, 0.95)
# float32 keeps seven digits, of which a network with two layers loses one.
CLOSE = {"float64": 1e-9, "float32": 1e-5}


def rows_of(model):
    X = shop()[0] if model.encoder_.named else skewed()[0]
    return X, model.encoder_.encode(X)


def check(found, model, X, tolerance):
    """Outputs of an export, as a dict of arrays, against the model's own density."""
    density = model.predict_density(X)
    weights, means, covs = density.components()
    sds = np.sqrt(covs[..., 0, 0])
    found = {name: np.asarray(value, float) for name, value in found.items()}
    assert np.abs(found["weights"] - weights).max() < tolerance
    assert np.abs(found["means"] - means[..., 0]).max() < tolerance * np.abs(means).max()
    assert np.abs(found["sds"] / sds - 1).max() < tolerance
    assert np.abs(found["mean"] / density.mean() - 1).max() < tolerance
    assert np.abs(found["sd"] / np.sqrt(density.var()) - 1).max() < tolerance
    y = density.mean() + np.sqrt(density.var())
    z = (y[:, None] - found["means"]) / found["sds"]
    pdf = np.sum(found["weights"] * np.exp(-z * z / 2) / found["sds"] / np.sqrt(2 * np.pi), axis=1)
    assert np.abs(pdf / density.pdf(y) - 1).max() < 10 * tolerance
    return density


@pytest.mark.parametrize("which", ["model", "deep"])
def test_numpy_has_the_model_s_components(which, request):
    model = request.getfixturevalue(which)
    X, rows = rows_of(model)
    check(mixture(network_of(model), rows, np)._asdict(), model, X, 1e-12)


def test_the_deep_toy_has_what_it_should(deep):
    made = network_of(deep)
    assert made.inputs.scores
    assert made.stretch != 1
    assert made.guard is None
    assert made.h.J > 3
    assert len(made.after) == 1


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("which", ["model", "deep"])
def test_jax_export_agrees(which, dtype, request, tmp_path):
    model = request.getfixturevalue(which)
    X, rows = rows_of(model)
    to_jax(model, tmp_path / "m.jax", LEVELS, dtype)
    program = jax.export.deserialize(bytearray((tmp_path / "m.jax").read_bytes()))
    with jax.enable_x64(dtype == "float64"):
        found = program.call(rows.astype(dtype))
        alone = program.call(rows[:1].astype(dtype))
    density = check({k: v for k, v in found.items() if k != "quantiles"}, model, X, CLOSE[dtype])
    quantiles = np.asarray(found["quantiles"], float)
    assert np.abs(quantiles / density.quantile(LEVELS) - 1).max() < CLOSE[dtype]
    assert np.allclose(alone["quantiles"], quantiles[:1], rtol=CLOSE[dtype])
    header = json.loads((tmp_path / "m.jax.json").read_text())
    assert header["features"] == list(model.encoder_.feature_names)
    assert header["dtype"] == dtype
    assert header["outputs"]["means"] == ["rows", found["means"].shape[1]]
    assert header["components"] == density.n_components


def test_a_gap_gives_nan_in_its_row_only(model, tmp_path):
    rows = rows_of(model)[1].copy()
    rows[2, 1] = np.nan
    found = mixture(network_of(model), rows, np)
    assert np.isnan(found.mean).tolist() == [n == 2 for n in range(len(rows))]


def test_scores_are_the_same_curve():
    score = Score.learn(0, np.exp(np.random.default_rng(0).normal(size=200)))
    t = np.linspace(-1, 20, 999)[:, None]
    assert np.abs(score_of(score, t, np) - score.apply(t)).max() < 1e-12


def with_support(model):
    made = copy(model)
    made.support_ = Support("counts", 0.0)
    return made


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda model: BackpropRegressor(), "got BackpropRegressor"),
        (with_support, "support .counts."),
        (lambda model: small().fit(shop()[0], np.stack([shop()[1]] * 2, 1)), "2 outcomes"),
    ],
)
def test_models_that_cannot_be_exported(model, change, words, tmp_path):
    if "outcomes" in words:
        made = copy(model)
        made.units_ = replace(model.units_, y=replace(model.units_.y, scale=(1.0, 1.0)))
    else:
        made = change(model)
    with pytest.raises(ValueError, match=words):
        to_jax(made, tmp_path / "m.jax")
    assert not list(tmp_path.iterdir())


def test_too_large(model, monkeypatch):
    monkeypatch.setattr(network, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="thin it"):
        network_of(model)


def test_what_differs_is_not_written(model, monkeypatch, tmp_path):
    made = network_of(model)
    assert agreement.check_agreement(model, made) is None
    other = replace(made, before=(made.before[0] * (1 + 1e-6), *made.before[1:]))
    with pytest.raises(ValueError, match="would differ"):
        agreement.check_agreement(model, other)


@pytest.mark.parametrize("settings", [{"levels": [0.0]}, {"levels": [[0.5]]}, {"dtype": "half"}])
def test_bad_settings(model, settings, tmp_path):
    with pytest.raises(ValueError, match=next(iter(settings))):
        to_jax(model, tmp_path / "m.jax", **settings)
