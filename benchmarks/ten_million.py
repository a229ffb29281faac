"""10,000,000 rows of 10 columns sampled at fixed memory: `python benchmarks/ten_million.py`.

Rows lie in a file; latents stream from disk under ``memory_limit``.  Each number of rows runs in a
process of its own, so that its peak of memory is its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import jax
import numpy as np

from deepnoise.estimators.settings import memory
from deepnoise.inference.posterior import Plan, draw_more
from deepnoise.inference.streaming import OnDisk
from deepnoise.inference.warmstart import WarmStart
from deepnoise.model.activation import hard_tanh

COLUMNS, HIDDEN = 10, (20, 20)


def write_rows(folder: Path, rows: int) -> None:
    """x and y = tanh(x_0) x_1 + noise that grows with |x_2|, in float32, a part at a time."""
    rng = np.random.default_rng(0)
    with (folder / "x").open("wb") as x_file, (folder / "y").open("wb") as y_file:
        for first in range(0, rows, 2**17):
            x = rng.normal(size=(min(2**17, rows - first), COLUMNS)).astype(np.float32)
            noise = 0.1 * (1 + np.abs(x[:, 2])) * rng.normal(size=len(x))
            x_file.write(x.data)
            y_file.write((np.tanh(x[:, 0]) * x[:, 1] + noise).astype(np.float32).data)


def memory_now(what: str) -> int:
    """Bytes of this process: "RssAnon" is its own, "VmHWM" the peak with pages of mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return 1024 * int(line.split()[1])
    raise LookupError(what)


class Watch(threading.Thread):
    """The largest anonymous memory seen, looked at ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.going = 0, True

    def run(self):
        while self.going:
            self.peak = max(self.peak, memory_now("RssAnon"))
            time.sleep(0.1)


def sample(rows: int, limit: str, sweeps: int) -> dict:
    """One chain of so many sweeps, from a short gradient fit on."""
    plan = Plan(
        HIDDEN,
        hard_tanh,
        seed=0,
        chains=1,
        warmup=sweeps - 1,
        draws=1,
        sampler="gibbs",
        warmstart=WarmStart(steps=1000, batch=256),
    )
    times = [time.perf_counter()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, rows)
        x = np.memmap(folder / "x", np.float32, "r", shape=(rows, COLUMNS))
        y = np.memmap(folder / "y", np.float32, "r", shape=(rows, 1))
        before, watch = memory_now("RssAnon"), Watch()
        watch.start()
        times.append(time.perf_counter())
        with closing(OnDisk(plan, x, y, memory("limit", limit), folder)) as backend:
            seen = lambda _: times.append(time.perf_counter())  # noqa: E731
            posterior = draw_more(backend.begin(), backend, plan.draws, seen)
        watch.going = False
    steps = np.diff(times)[2:]
    noise = float(np.sqrt(posterior.draws.tau2[-1].mean()))
    return {
        "rows": rows,
        "sweeps": sweeps,
        "start_seconds": float(np.diff(times)[1]),
        "sweep_seconds": float(np.median(steps)),
        "latents_gb": 2 * 4 * rows * sum(HIDDEN) / 1e9,
        "before_gb": before / 1e9,
        "peak_gb": watch.peak / 1e9,
        "mapped_too_gb": memory_now("VmHWM") / 1e9,
        "last_noise": noise,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(sample(options.rows[0], options.limit, options.sweeps)))
        return
    print(f"jax {jax.__version__}, {COLUMNS} columns, hidden {HIDDEN}, limit {options.limit}\n")
    print(
        "| rows | sweeps | seconds a sweep | start, first sweep and compilation s | latents GB |",
        end="",
    )
    print(
        " own memory before GB | own memory, peak GB | with mapped pages GB |\n" + "|---" * 8 + "|"
    )
    for rows in options.rows:
        command = [sys.executable, __file__, "--one", "--rows", str(rows), "--limit", options.limit]
        command += ["--sweeps", str(options.sweeps)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        cells = [f"{found['rows']:,}", str(found["sweeps"])]
        names = ("sweep_seconds", "start_seconds", "latents_gb")
        cells += [f"{found[name]:.1f}" for name in names]
        cells += [f"{found[name]:.2f}" for name in ("before_gb", "peak_gb", "mapped_too_gb")]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
