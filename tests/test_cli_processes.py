"""One fit by several processes from the command line: who writes, and what a death leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from deepnoise import load
from deepnoise.cli.processes import good_number, share_cores, usable_cores
from tests.cli_toy import ROWS, error, fit, run, table
from tests.inference.test_sharding import free_port

ROOT = Path(__file__).parents[1]
WARMUP = 8
SMALL = (
    f"--hidden 3 --chains 1 --warmup {WARMUP} --thin 1 --sampler gibbs --init prior --dtype float64"
)
# Without the column of colours: its two indicators and the bias are collinear, and along such a
# direction the rounding of a sum moves a draw by far more than the rounding.
FIT = [*SMALL.split(), "--target", "y", "--drop", "id,colour"]

MISTAKES = {
    "no coordinator": (["--processes=2"], "--process-id and --coordinator HOST:PORT are needed"),
    "no processes": (["--process-id=1"], "--process-id and --coordinator need --processes"),
    "no port": (
        ["--processes=2", "--process-id=0", "--coordinator=here"],
        "--coordinator must be HOST:PORT; got 'here'",
    ),
    "one too many": (
        ["--processes=2", "--process-id=2", "--coordinator=localhost:1"],
        "--process-id: the last of 2 processes is 1",
    ),
    "none": (["--processes=0"], "'0' is neither a whole number above 0 nor 'auto'"),
    "devices": (["--devices=4000"], "devices=4000, but this process has"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_about_processes(case, tmp_path):
    arguments, message = MISTAKES[case]
    table(ROWS, 0).to_csv(tmp_path / "data.csv", index=False)
    found = error(fit(tmp_path / "data.csv", tmp_path / "model", "--quiet", *arguments), 2)
    assert message in found
    assert not (tmp_path / "model").exists()


def with_sources() -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths}


def start(count: int, *arguments: object) -> list[subprocess.Popen]:
    """A command, run by that many processes."""
    place = f"--coordinator=localhost:{free_port()}"
    together = [
        [f"--processes={count}", f"--process-id={rank}", place] if count > 1 else []
        for rank in range(count)
    ]
    return [
        subprocess.Popen(
            [sys.executable, "-m", "deepnoise", *map(str, arguments), *how],
            env=with_sources(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for how in together
    ]


def test_no_job_to_be_found(tmp_path):
    table(ROWS, 0).to_csv(tmp_path / "data.csv", index=False)
    (process,) = start(
        1, "fit", tmp_path / "data.csv", "--out", tmp_path / "m", *FIT, "--processes=auto"
    )
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "Error: --processes auto found no SLURM or MPI job" in errors


FOUR = {"chains": 4, "memory_limit": None, "cross_fit": None}


@pytest.mark.parametrize(
    ("settings", "cores", "environment", "number"),
    [
        (FOUR, 1, {}, 1),
        (FOUR, 2, {}, 2),
        (FOUR, 3, {}, 2),
        (FOUR, 4, {}, 4),
        (FOUR, 64, {}, 4),
        ({"chains": 1}, 64, {}, 1),
        ({"chains": 5}, 4, {}, 1),
        ({"chains": 6}, 4, {}, 3),
        ({}, 64, {}, 1),
        (FOUR | {"memory_limit": "2GB"}, 4, {}, 1),
        (FOUR | {"cross_fit": 2}, 4, {}, 1),
        (FOUR, 4, {"JAX_NUM_CPU_DEVICES": "2"}, 1),
        (FOUR, 4, {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}, 1),
        (FOUR, 4, {"XLA_FLAGS": "--xla_dump_to=here"}, 4),
        (FOUR, 4, {"JAX_PLATFORMS": "cuda"}, 1),
        (FOUR, 4, {"JAX_PLATFORMS": "cpu"}, 4),
    ],
)
def test_the_cores_that_share_the_chains(settings, cores, environment, number):
    assert good_number(settings, cores, environment) == number


@pytest.fixture
def two_cores(monkeypatch):
    """Two cores, whatever the machine has, and nothing said to JAX about them."""
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES")
    monkeypatch.setattr("deepnoise.cli.processes.usable_cores", lambda: 2)


def test_one_device_where_jax_has_started_with_one(two_cores):
    assert len(jax.local_devices()) == 1
    assert share_cores(FOUR) == 1


@pytest.mark.parametrize(("platform", "number"), [("cpu", 2), ("gpu", 1)])
def test_cores_are_shared_where_there_is_no_gpu(platform, number, two_cores, monkeypatch):
    jax.local_devices()
    found = [SimpleNamespace(platform=platform)] * 2
    monkeypatch.setattr("jax.local_devices", lambda: found)
    assert share_cores(FOUR) == number


SEVERAL = pytest.mark.skipif(usable_cores() < 2, reason="needs two cores")
MORE = [*FIT, "--chains=2"]
# A command as anyone runs it, and then how many devices its process had.
COUNTED = """
import sys, jax
from deepnoise.cli import main
try:
    main(sys.argv[1:])
finally:
    print(jax.local_device_count(), file=sys.stderr)
"""


def on_all_cores(*arguments: object) -> None:
    """A command that JAX was told nothing for, on as many devices as two chains can have."""
    untold = with_sources()
    untold.pop("JAX_NUM_CPU_DEVICES")
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *map(str, arguments)],
        env=untold,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "2"


@SEVERAL
def test_all_cores_draw_what_one_draws_and_either_goes_on(tmp_path):
    data, several, one = (tmp_path / name for name in ("d.csv", "several", "one"))
    table(ROWS, 0).to_csv(data, index=False)
    on_all_cores("fit", data, "--out", several, *MORE, "--draws=4")
    for arguments in (
        ["fit", data, "--out", one, *MORE, "--draws=8", "--devices=1"],
        ["resume", several, "--draws=8", "--devices=1"],
    ):
        assert run(*arguments).exit_code == 0
    assert_close(several, one)


@pytest.mark.slow
@SEVERAL
def test_all_cores_go_on_bit_for_bit(tmp_path):
    data, whole, again, told, one = (
        tmp_path / name for name in ("d.csv", "whole", "again", "told", "one")
    )
    table(ROWS, 0).to_csv(data, index=False)
    on_all_cores("fit", data, "--out", whole, *MORE, "--draws=8")
    on_all_cores("fit", data, "--out", again, *MORE, "--draws=4")
    on_all_cores("resume", again, "--draws=8")
    on_all_cores("fit", data, "--out", told, *MORE, "--draws=8", "--devices=2")
    for folder in (again, told):
        for after, before in zip(draws(folder), draws(whole), strict=True):
            np.testing.assert_array_equal(after, before)
    assert run("fit", data, "--out", one, *MORE, "--draws=4", "--devices=1").exit_code == 0
    on_all_cores("resume", one, "--draws=8")
    assert_close(one, whole)


def assert_close(folder: Path, other: Path) -> None:
    for ours, theirs in zip(draws(folder), draws(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def finish(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors


def sweeps(folder: Path) -> int:
    header = folder / "header.json"
    return json.loads(header.read_text("utf-8"))["sweeps"] if header.exists() else 0


def draws(folder: Path):
    return jax.tree.leaves(load(folder).posterior_.run.draws)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_process_dies_and_the_fit_goes_on_with_the_same_draws(tmp_path):
    data, model, other, whole = (tmp_path / name for name in ("d.csv", "m", "other", "whole"))
    table(ROWS + 1, 0).to_csv(data, index=False)
    leader, follower = start(2, "fit", data, "--out", model, *FIT, "--draws=1000000")
    until = time.monotonic() + 400
    while sweeps(model) < 20 and time.monotonic() < until:
        time.sleep(0.1)
    assert sweeps(model) >= 20
    follower.send_signal(signal.SIGKILL)
    follower.communicate()
    output, errors = leader.communicate(timeout=100)
    assert leader.returncode == 1
    assert output == ""
    assert "Error: another process of this fit has stopped" in errors
    assert f"deepnoise resume {model}" in errors
    assert "Traceback" not in errors
    kept = sweeps(model)
    shutil.copytree(model, other)
    wanted = f"--draws={kept + 10}"
    finish(start(2, "resume", model, wanted))
    finish(start(2, "fit", data, "--out", whole, *FIT, wanted))
    finish(start(1, "resume", other, wanted))
    unbroken = draws(whole)
    for after, before in zip(draws(model), unbroken, strict=True):
        np.testing.assert_array_equal(after, before)
    # Another number of processes adds in another order: the draw after the same state is the same
    # to rounding, those after it follow other roundings.
    first = kept - WARMUP
    for after, before in zip(draws(other), unbroken, strict=True):
        assert after.shape == before.shape
        np.testing.assert_array_equal(after[:, :first], before[:, :first])
        scale = np.max(np.abs(before))
        np.testing.assert_allclose(after[:, first], before[:, first], rtol=0, atol=1e-12 * scale)
