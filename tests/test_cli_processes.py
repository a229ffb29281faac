"""One fit by several processes from the command line: who writes, and what a death leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from deepnoise import load
from tests.cli_toy import ROWS, error, fit, table
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


MORE = [*FIT, "--chains=3", "--draws=4"]


@pytest.mark.slow
def test_the_number_of_cores_changes_no_bit(tmp_path):
    data = tmp_path / "d.csv"
    table(ROWS, 0).to_csv(data, index=False)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, cores in zip(folders, "12", strict=True):
        done = subprocess.run(
            [sys.executable, "-m", "deepnoise", "fit", data, "--out", folder, *MORE],
            env=with_sources() | {"OMP_NUM_THREADS": cores},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    for one, two in zip(*map(draws, folders), strict=True):
        np.testing.assert_array_equal(one, two)


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
