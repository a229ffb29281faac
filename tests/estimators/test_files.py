"""Estimators written to a folder and read back, here and in another process."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import deepnoise
from deepnoise.estimators.bdeepnoise import BDeepNoiseRegressor
from deepnoise.estimators.files import load, save
from deepnoise.inference import storage
from deepnoise.inference.model_folder import ModelFileError
from deepnoise.model.activation import piecewise_linear

pd = pytest.importorskip("pandas")

SOURCE = Path(__file__).parents[2] / "src"
SETTINGS = {
    "hidden": (2,),
    "chains": 2,
    "warmup": 4,
    "draws": 6,
    "init": "prior",
    "sampler": "gibbs",
    "random_state": 5,
    "activation": piecewise_linear((0.1, 0.7), (0.0, 0.0), (0.0,)),
    "prior": dict.fromkeys(("weight", "bias", "preact", "postact"), (2.0, 1.0)),
}


def rows(seed: int = 0):
    """Numbers and a category, and two outcomes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 2, size=(20, 2))
    frame = pd.DataFrame(x, columns=["größe", "b"]).assign(colour=["red", "blue"] * 10)
    return frame, 10 + x @ rng.normal(size=(2, 2))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoint") / "c"


@pytest.fixture(scope="module")
def model(checkpoint):
    return BDeepNoiseRegressor(**SETTINGS, checkpoint=checkpoint).fit(*rows())


@pytest.fixture
def folder(model, tmp_path):
    save(model, tmp_path / "m")
    return tmp_path / "m"


def test_another_process_predicts_the_same(model, folder):
    frame, _ = rows(1)
    code = """
import sys, json, pandas as pd, deepnoise
frame = pd.DataFrame(json.loads(sys.argv[2]))[["colour", "b", "größe"]]
found = []
for lazy in (False, True):
    model = deepnoise.load(sys.argv[1], lazy)
    found += [model.predict(frame), model.predict_quantiles(frame, [0.1, 0.9])]
    found += [model.sample(frame, 3)]
print(json.dumps([part.ravel().tolist() for part in found]))
"""
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    table = json.dumps(frame.to_dict(orient="list"))
    args = [sys.executable, "-c", code, str(folder), table]
    done = subprocess.run(
        args, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    here = [model.predict(frame), model.predict_quantiles(frame, [0.1, 0.9])]
    here += [model.sample(frame, 3)]
    for there, expected in zip(json.loads(done.stdout), here * 2, strict=True):
        assert np.array_equal(there, np.asarray(expected).ravel())


def test_settings_and_attributes_come_back(model, folder):
    back = deepnoise.load(folder)
    assert type(back) is BDeepNoiseRegressor
    assert back.get_params() == {**model.get_params(), "checkpoint": None}
    for name in ("encoder_", "units_", "seed_", "n_features_in_"):
        assert getattr(back, name) == getattr(model, name)
    for name in ("chain_weights_", "feature_names_in_"):
        assert np.array_equal(getattr(back, name), getattr(model, name))
    assert clone(back).get_params() == back.get_params()


def test_settings_without_a_plain_form_are_left_out(model, tmp_path):
    changed = copy.copy(model).set_params(
        random_state=np.random.RandomState(3), progress=print, hidden=[np.int64(2)]
    )
    save(changed, tmp_path)
    back = load(tmp_path)
    assert (back.random_state, back.progress, back.hidden) == (None, None, (2,))


def test_without_column_names_there_are_none(model, tmp_path):
    unnamed = copy.copy(model)
    del unnamed.feature_names_in_
    save(unnamed, tmp_path)
    assert not hasattr(load(tmp_path), "feature_names_in_")


def test_a_checkpoint_is_a_model(model, checkpoint):
    frame, _ = rows(1)
    assert np.array_equal(load(checkpoint).predict(frame), model.predict(frame))


@pytest.mark.parametrize("lazy", [False, True])
def test_resume_after_loading_equals_a_longer_fit(model, folder, lazy):
    frame, _ = rows(2)
    longer = load(folder, lazy).resume(draws=9)
    expected = BDeepNoiseRegressor(**{**SETTINGS, "draws": 9}).fit(*rows())
    assert longer.posterior_.run.n_draws == 9
    assert np.array_equal(longer.predict(frame), expected.predict(frame))
    save(longer, folder)
    assert np.array_equal(load(folder).predict(frame), expected.predict(frame))


def test_an_estimator_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(BDeepNoiseRegressor(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "os.system"}, "unknown estimator"),
        ({"estimator": ["BDeepNoiseRegressor"]}, "no estimator"),
        ({"params": {"hidden": [2], "activation": "relu", "prior": "paper", "new": 1}}, "new"),
        ({"chain_weights": [1.0]}, "chain weights"),
        ({"units": {"x": {"mean": [0], "scale": [1]}, "y": {"mean": [0], "scale": [1]}}}, "units"),
        ({"encoder": {"named": True, "columns": []}}, "encoder, columns"),
        ({"n_features_in": 4}, "columns"),
        ({"units": None}, "no estimator"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(folder, change, message):
    stored = storage.read(folder)
    storage.write(folder, stored.posterior, {**stored.header, **change}, stored.extra)
    with pytest.raises(ModelFileError, match=message):
        load(folder)


def test_rows_that_do_not_fit_are_refused(folder):
    stored = storage.read(folder)
    for wrong in (
        {},
        {"rows": {"x": stored.extra["rows"]["x"]}},
        {"rows": {name: a[:, :1] for name, a in stored.extra["rows"].items()}},
        {"rows": {name: a.astype(float) for name, a in stored.extra["rows"].items()}},
    ):
        storage.write(folder, stored.posterior, stored.header, wrong)
        with pytest.raises(ModelFileError, match="no estimator"):
            load(folder)


def test_a_checkpoint_before_the_first_draw_can_be_loaded_and_resumed(model, folder):
    stored = storage.read(folder)
    whole = stored.posterior
    early = type(whole)(whole.plan, whole.start, type(whole.run)(whole.run.state, whole.run.t))
    storage.write(folder, early, stored.header, stored.extra)
    back = load(folder)
    with pytest.raises(ValueError, match="resume"):
        back.predict(rows()[0])
    assert back.resume(draws=2).posterior_.run.n_draws == 2


@pytest.mark.parametrize(
    ("version", "prior", "sums", "score2"),
    [
        (1, "fixed", [12.850745940580964, 43.34038883447647, 0.059234097876469605], 0.61831969),
        (2, "wide", [-2.1836260287091136, 7.449823599308729, 11.007532790768892], 166.10991),
    ],
)
def test_a_model_of_an_older_format_is_read_and_goes_on(tmp_path, version, prior, sums, score2):
    """Written by the deepnoise of 15 and 19 November 2026, with what is "default" there.

    BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=20, draws=10, random_state=0).fit(x, x**2),
    with x from -1 to 1 in 30 steps.  The numbers were printed by the version that wrote the file.
    """
    x = np.linspace(-1, 1, 30)[:, None]
    model = load(Path(__file__).parent / f"format_{version}")
    assert model.prior == model.posterior_.plan.prior == prior
    draws = model.posterior_.draws
    found = [np.sum(a, dtype=float) for a in (draws.beta[0], draws.gamma[-1], draws.tau2[-1])]
    np.testing.assert_allclose(found, sums, rtol=1e-6)
    log_score2 = model.posterior_.run.state.tuning.log_score2[0, 0]
    assert log_score2 == pytest.approx(np.log(score2), rel=1e-6)
    assert model.resume(12).posterior_.run.n_draws == 12
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(x), model.predict(x))
