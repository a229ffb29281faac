"""Several devices and several processes make the draws of one."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deepnoise import BDeepNoiseRegressor, load
from deepnoise.inference.sharding import Layout, chosen

ROOT = Path(__file__).parents[2]
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def spread(*arguments: object, devices: int = 4, script: str = "spread") -> subprocess.Popen:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {k: v for k, v in os.environ.items() if k != "JAX_NUM_CPU_DEVICES"}
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.inference.{script}", *map(str, arguments)],
        env={**environment, "PYTHONPATH": paths, "XLA_FLAGS": flags},
        stdout=subprocess.PIPE,
        text=True,
    )


def answers(process: subprocess.Popen) -> list[dict]:
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0
    # Libraries may have said something of their own.
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def assert_same_draws(found: dict) -> None:
    sampler, dtype, *_ = found["case"].split("-")
    assert found["start"] == 0
    assert max(found["steps"]) < TOLERANCE[dtype]
    # Rounding differences grow while the Hamiltonian move is tuned: only the paper's sampler is
    # held to the whole run.
    if sampler == "gibbs":
        assert max(found["whole"]) < TOLERANCE[dtype]


def test_four_devices_draw_what_one_draws():
    (found,) = answers(spread("gibbs-float64"))
    assert_same_draws(found)


@pytest.mark.slow
def test_four_devices_draw_what_one_draws_by_either_sampler():
    cases = ("gibbs-float32", "interweaved-float32", "interweaved-float64", "gibbs-float64-gaps")
    for found in answers(spread(*cases)):
        assert_same_draws(found)


@pytest.mark.slow
def test_only_sums_over_rows_travel():
    for found in answers(spread("exchanges-gibbs", "exchanges-interweaved")):
        assert found["counted"] in (found["derived"], found["derived"] - found["constant"])


@pytest.mark.slow
def test_two_processes_draw_what_one_draws():
    place, cases = f"localhost:{free_port()}", ("gibbs-float32", "interweaved-float64")
    how = {"devices": 1, "script": "spread_processes"}
    leader, follower = (spread(place, rank, *cases, **how) for rank in (0, 1))
    found = answers(leader)
    answers(follower)
    assert len(found) == len(cases)
    for case in found:
        assert_same_draws(case)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def test_one_device_needs_no_mesh():
    assert Layout.over(1, 4, 100).mesh is None


def test_more_devices_than_there_are():
    with pytest.raises(ValueError, match="devices=4000, but this process has"):
        chosen(4000)


@pytest.mark.parametrize("devices", [0, -1, 1.5, "some", None, True])
def test_devices_must_be_a_number_or_all(devices):
    model = BDeepNoiseRegressor(devices=devices)
    with pytest.raises(ValueError, match="devices must be"):
        model.fit(np.zeros((4, 1)), np.arange(4.0))


def test_a_model_does_not_remember_its_devices(tmp_path):
    tiny = {"hidden": (2,), "chains": 1, "warmup": 2, "draws": 2, "init": "prior", "paths": 1}
    model = BDeepNoiseRegressor(**tiny, sampler="gibbs", devices="all", random_state=0)
    model.fit(np.linspace(0, 1, 8)[:, None], np.linspace(0, 1, 8)).save(tmp_path / "m")
    assert load(tmp_path / "m").devices == 1
