"""The adapter of bde: what it asks of the package, and what it makes of the answer."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from deepnoise.baselines import registry
from deepnoise.baselines.peers import BDERegressor

from .methods import line, tiny


class Recorded:
    """In place of the package's regressor: remembers what it was given, answers with draws.

    Draw t of member e has the mean 10 e + t and, before the package's softplus, a spread of e.
    """

    def __init__(self, **given):
        self.given = given

    def fit(self, x, y):
        self.shapes = x.shape, y.shape
        print("a bar of progress", file=sys.stderr)
        return self

    def predict(self, x, raw):
        assert raw
        members, draws = np.meshgrid(np.arange(2.0), np.arange(3.0), indexing="ij")
        each = np.stack([10 * members + draws, members], -1)
        return np.repeat(each[:, :, None], len(x), axis=2)


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setitem(sys.modules, "bde", SimpleNamespace(BdeRegressor=Recorded))
    return BDERegressor(members=2, hidden=(4, 5), draws=3, standardize=False, random_state=7)


def test_what_the_package_is_asked_for(recorded, capsys):
    model = recorded.fit(*line(20)).model_
    expected = {"n_members": 2, "hidden_layers": [4, 5], "n_samples": 6, "n_thinning": 2, "seed": 7}
    expected |= {"epochs": 200, "patience": 10, "warmup_steps": 5000}
    assert model.given == expected
    assert model.shapes == ((20, 2), (20,))
    assert capsys.readouterr().err == ""


def test_every_draw_of_every_member_is_a_component(recorded):
    x, y = line(20)
    weights, means, covs = recorded.fit(x, y).predict_density(x[:4]).components()
    assert np.allclose(weights, 1 / 6)
    assert np.array_equal(means[..., 0], np.tile([0, 1, 2, 10, 11, 12], (4, 1)))
    spread = np.repeat(np.log1p(np.exp([0.0, 1.0])), 3)
    assert np.allclose(np.sqrt(covs[..., 0, 0]), spread, rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["members", "hidden", "epochs", "patience", "warmup", "draws", "thin"]
)
def test_settings_that_make_no_sense_are_named(name):
    with pytest.raises(ValueError, match=name):
        BDERegressor(**{name: 0}).fit(*line(20))


def test_without_the_package_its_install_is_told(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"own, .*pip install sklearn-contrib-bde"):
        registry.make("bde")


def test_moments_are_those_of_the_package():
    pytest.importorskip("bde")
    x, y = line(60)
    model = tiny("bde").fit(x, y)
    own = model.model_.predict(model.units_.x.apply(x), mean_and_std=True)
    density = model._density(model.units_.x.apply(x))
    for ours, theirs in zip((density.mean(), np.sqrt(density.var())), own, strict=True):
        assert np.allclose(ours.ravel(), theirs, rtol=1e-3, atol=1e-4)
