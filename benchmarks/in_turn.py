"""Cases of a benchmark as processes: traced and compiled side by side, measured one at a time."""

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


def alone() -> None:
    """Wait until no other case measures; this process is then alone until it ends."""
    if LOCK in os.environ:
        file = Path(os.environ[LOCK]).open("w")  # noqa: SIM115
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.append(file)


def run_cases(
    script: str, cases: list[list[str]], seconds: float, processes: int | None = None
) -> list[dict]:
    """The JSON lines that ``script CASE...`` prints, of all cases that end within that time.

    Kernels are not tuned by trial: trials of many processes would disturb each other, and take
    longer than everything else.
    """
    until = time.perf_counter() + seconds
    with tempfile.TemporaryDirectory() as folder:
        flags = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
        env = os.environ | {LOCK: str(Path(folder) / "lock"), "XLA_FLAGS": flags}

        def one(case: list[str]) -> list[dict]:
            command = [sys.executable, script, *case]
            left = max(0.1, until - time.perf_counter())
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

        with ThreadPoolExecutor(processes or os.cpu_count()) as pool:
            return [row for rows in pool.map(one, cases) for row in rows]
