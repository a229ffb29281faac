"""A study on a real Dask cluster: a scheduler and two workers, one of which is killed midway."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from .toy import uci_folder

distributed = pytest.importorskip("distributed")

SPLITS = 8
SPEC = f"""
study = "uci"
methods = ["bp"]
sets = ["wine"]
splits = {SPLITS}

[settings.bp]
hidden = [20, 20]
steps = 20000
validation = 0.0
"""


@contextmanager
def process(*arguments, log):
    """A process of its own, ended at the end whatever happens."""
    path = os.pathsep.join(sys.path)
    with log.open("w") as file:
        started = subprocess.Popen(
            [sys.executable, "-m", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def wait_for(condition, seconds=240):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"still waiting after {seconds} s")
        time.sleep(0.1)


@pytest.mark.slow
def test_nothing_is_lost_when_a_worker_dies(tmp_path):
    place, ledger = tmp_path / "scheduler.json", tmp_path / "l.jsonl"
    (tmp_path / "own.toml").write_text(SPEC)
    data = uci_folder(tmp_path / "data", splits=SPLITS)
    server = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", place)
    worker = ("dask", "worker", "--scheduler-file", place, "--nthreads", "1", "--no-nanny")
    with process("dask", "scheduler", *server, log=tmp_path / "s.log"):
        wait_for(place.exists)
        address = json.loads(place.read_text())["address"]
        with (
            process(*worker, "--name", "first", log=tmp_path / "w1.log") as first,
            process(*worker, "--name", "second", log=tmp_path / "w2.log"),
            distributed.Client(address, set_as_default=False) as client,
        ):
            client.wait_for_workers(2, timeout=120)
            study = ("deepnoise", "study", "uci", "--spec", tmp_path / "own.toml", "--data", data)
            study += ("--out", ledger, "--scheduler", address)
            with process(*study, log=tmp_path / "study.log") as running:
                wait_for(lambda: running.poll() is not None or len(lines(ledger)) >= 1)
                wait_for(lambda: running.poll() is not None or busy(client, "first"))
                assert len(lines(ledger)) < SPLITS, (tmp_path / "study.log").read_text()
                first.kill()
                assert running.wait(timeout=480) == 0, (tmp_path / "study.log").read_text()
            left = [worker["name"] for worker in client.scheduler_info()["workers"].values()]
    rows = [json.loads(line) for line in lines(ledger)]
    assert left == ["second"]
    assert sorted(row["split"] for row in rows) == list(range(SPLITS))
    assert not [row["error"] for row in rows if "error" in row]


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def busy(client, name):
    """Whether the scheduler has given this worker something that is not done."""
    names = {addr: info["name"] for addr, info in client.scheduler_info()["workers"].items()}
    return any(tasks and names.get(addr) == name for addr, tasks in client.processing().items())
