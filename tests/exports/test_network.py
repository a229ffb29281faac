"""Exported networks have the components of the model, and models without one are refused."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from deepnoise import BackpropRegressor
from deepnoise.estimators.units import Score
from deepnoise.exports import network
from deepnoise.exports.network import mixture, network_of, score_of
from deepnoise.prediction.density.support import Support

from .conftest import shop, skewed

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


def with_outcomes(model):
    made = copy(model)
    made.units_ = replace(model.units_, y=replace(model.units_.y, scale=(1.0, 1.0)))
    return made


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda model: BackpropRegressor(), "got BackpropRegressor"),
        (with_support, "support .counts."),
        (with_outcomes, "2 outcomes"),
    ],
)
def test_models_that_cannot_be_exported(model, change, words):
    with pytest.raises(ValueError, match=words):
        network_of(change(model))


def test_too_large(model, monkeypatch):
    monkeypatch.setattr(network, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="thin it"):
        network_of(model)


def test_what_differs_is_not_written(model):
    made = network_of(model)
    assert network.check_agreement(model, made) is None
    other = replace(made, before=(made.before[0] * (1 + 1e-6), *made.before[1:]))
    with pytest.raises(ValueError, match="would differ"):
        network.check_agreement(model, other)
