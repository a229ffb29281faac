"""Cases of a benchmark as processes: traced and compiled side by side, measured one at a time."""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LOCK = "DEEPNOISE_BENCHMARK_LOCK"
# Processes share the device's memory, the first one too.  blackjax starts JAX when it is imported:
# whoever imports this module does so first.
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
_held = []


def asked(description: str, seconds: float) -> argparse.Namespace:
    """The arguments of a script whose cases are processes, ``seconds`` at most by default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, help="JSON lines are written here")
    parser.add_argument("--quick", action="store_true", help="toy sizes")
    parser.add_argument(
        "--seconds", type=float, default=seconds, help="what is not done then is left"
    )
    parser.add_argument("--case", nargs="+", help="measure one case in this process")
    return parser.parse_args()


def alone() -> None:
    """Wait until all have compiled and no other case measures; alone from then to its end."""
    if LOCK in os.environ:
        Path(f"{os.environ[LOCK]}.{os.getpid()}").touch()
        file = Path(os.environ[LOCK]).open("w")  # noqa: SIM115
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.append(file)


def run_cases(
    script: str, cases: list[list[str]], seconds: float, processes: int | None = None
) -> list[dict]:
    """The JSON lines that ``script CASE...`` prints, of all cases that end within that time.

    Compilers of a GPU try kernels on it: without ``processes``, nothing is measured before all have
    compiled or half of the time is over.
    """
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "lock"
        env = os.environ | {LOCK: str(lock)}

        def one(case: list[str]) -> list[dict]:
            command = [sys.executable, script, *case]
            left = max(0.1, began + seconds - time.perf_counter())
            try:
                done = subprocess.run(command, env=env, capture_output=True, timeout=left)
            except subprocess.TimeoutExpired:
                print(f"{' '.join(case)}: not done in time", file=sys.stderr)
                return []
            if done.returncode:
                lines = done.stderr.decode(errors="replace").splitlines()
                why = [line for line in lines if "Error" in line][-1:]
                print(f"{' '.join(case)}: {''.join(why)[:200]}", file=sys.stderr)
            lines = done.stdout.decode().splitlines()
            return [json.loads(line) for line in lines if line.startswith("{")]

        with lock.open("w") as held, ThreadPoolExecutor(processes or len(cases)) as pool:
            if processes is None:
                fcntl.flock(held, fcntl.LOCK_EX)
            found = [pool.submit(one, case) for case in cases]
            while processes is None and time.perf_counter() < began + seconds / 2:
                ready = len(list(Path(folder).glob("lock.*")))
                if ready + sum(future.done() for future in found) >= len(cases):
                    break
                time.sleep(0.2)
            fcntl.flock(held, fcntl.LOCK_UN)
            return [row for future in found for row in future.result()]
