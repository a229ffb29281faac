"""Fits with checkpoints: stopped, killed and started again they give the same model."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from deepnoise.estimators.bdeepnoise import BDeepNoiseRegressor
from deepnoise.estimators.files import load

ROOT = Path(__file__).parents[2]
SETTINGS = {"hidden": (2,), "chains": 2, "warmup": 8, "draws": 6, "init": "prior"}


def rows(seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 2, size=(20, 2))
    return x, 10 + x[:, 0] + rng.normal(size=20)


class Stop(Exception):
    pass


def stop_at(sweeps: int):
    def report(done, _total, _posterior):
        if done >= sweeps:
            raise Stop

    return report


@pytest.mark.parametrize("sweeps", [3, 10])
@pytest.mark.parametrize("seed", [None, 5])
def test_a_stopped_fit_goes_on(tmp_path, sweeps, seed):
    settings = {**SETTINGS, "checkpoint": tmp_path, "random_state": seed}
    with pytest.raises(Stop):
        BDeepNoiseRegressor(**settings, progress=stop_at(sweeps)).fit(*rows())
    model = BDeepNoiseRegressor(**settings).fit(*rows())
    whole = BDeepNoiseRegressor(**SETTINGS, random_state=model.seed_).fit(*rows())
    x = rows(1)[0]
    assert seed in (None, model.seed_)
    assert np.array_equal(model.predict(x), whole.predict(x))
    assert np.array_equal(load(tmp_path).predict(x), whole.predict(x))


def test_a_finished_fit_is_taken_from_the_folder_and_may_go_on(tmp_path):
    settings = {**SETTINGS, "checkpoint": tmp_path, "random_state": 5}
    x = rows(1)[0]
    first = BDeepNoiseRegressor(**settings).fit(*rows())
    calls = []
    again = BDeepNoiseRegressor(**settings, progress=lambda *a: calls.append(a)).fit(*rows())
    assert not calls
    assert np.array_equal(again.predict(x), first.predict(x))
    longer = BDeepNoiseRegressor(**{**settings, "draws": 9}).fit(*rows())
    resumed = first.resume(draws=9)
    assert np.array_equal(longer.predict(x), resumed.predict(x))
    assert load(tmp_path).posterior_.run.n_draws == 9


def test_other_data_and_other_settings_are_refused(tmp_path):
    settings = {**SETTINGS, "checkpoint": tmp_path, "random_state": 5}
    x, y = rows()
    BDeepNoiseRegressor(**settings).fit(x, y)
    with pytest.raises(ValueError, match="the units of X or y differ"):
        BDeepNoiseRegressor(**settings).fit(x, 2 * y)
    with pytest.raises(ValueError, match="the rows of X differ"):
        BDeepNoiseRegressor(**settings).fit(x[:15], y[:15])
    with pytest.raises(ValueError, match="warmup is 8 there and 9 here"):
        BDeepNoiseRegressor(**{**settings, "warmup": 9}).fit(x, y)
    with pytest.raises(ValueError, match="already holds 6 draws per chain, more than 3"):
        BDeepNoiseRegressor(**{**settings, "draws": 3}).fit(x, y)


def test_a_folder_that_cannot_be_written_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot write a model"):
        BDeepNoiseRegressor(**SETTINGS, checkpoint=tmp_path / "file").fit(*rows())


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_fit_goes_on(tmp_path):
    code = f"""
from deepnoise.estimators import files
from deepnoise.estimators.bdeepnoise import BDeepNoiseRegressor
from tests.estimators.test_checkpoint_fit import SETTINGS, rows
files.SECONDS_BETWEEN, files.LARGEST_SHARE = 0.0, 1.0
BDeepNoiseRegressor(**{{**SETTINGS, "draws": 100_000}}, checkpoint={str(tmp_path)!r}).fit(*rows())
"""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("draws-*.safetensors"))) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    held = load(tmp_path).posterior_.run.n_draws
    settings = {**SETTINGS, "draws": held + 5}
    model = BDeepNoiseRegressor(**settings, checkpoint=tmp_path).fit(*rows())
    whole = BDeepNoiseRegressor(**settings, random_state=model.seed_).fit(*rows())
    assert held > 0
    assert np.array_equal(model.predict(rows(1)[0]), whole.predict(rows(1)[0]))
