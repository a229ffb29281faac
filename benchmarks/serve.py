"""deepnoise serve under load, on the loopback: python benchmarks/serve.py --model MODEL.

Requests of one row arrive by chance (a Poisson process with a seed), whether or not earlier ones
were answered; a latency counts from the moment at which a request was due.  Every answer is
compared with the estimator's own.  MODEL is fitted to the diabetes data with default settings if
there is no such folder.
"""

import argparse
import asyncio
import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from deepnoise import BDeepNoiseRegressor, __version__, load

LEVELS, THRESHOLD = [0.05, 0.5, 0.95], 200.0
SETTLE = 100
PACKAGES = ("jax", "numpy", "starlette", "uvicorn")


@dataclass
class Seen:
    """Seconds and largest difference of each answer, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    differences: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def diabetes() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series, pd.Series]:
    X, y = load_diabetes(return_X_y=True, scaled=False, as_frame=True)
    return train_test_split(X, y, random_state=0)


def body_of(row: dict, interval: float | None) -> bytes:
    asked = {"rows": [row], "quantiles": LEVELS, "above": [THRESHOLD]}
    return json.dumps(asked | ({} if interval is None else {"interval": interval})).encode()


def expected(folder: Path, X: pd.DataFrame, interval: float | None) -> list[np.ndarray]:
    """The estimator's own numbers for every row, in the order of :func:`numbers_in`."""
    model = load(folder)
    density = model.predict_density(X)
    moments = np.stack([density.mean(), np.sqrt(density.var())], axis=1)
    above = density.probability_above_grid([THRESHOLD])
    if interval is not None:
        above = np.column_stack([above, model.predict_above(X, THRESHOLD, interval)[:, 1:]])
    return list(np.concatenate([moments, density.quantile(LEVELS), above], axis=1))


def numbers_in(answer: dict) -> np.ndarray:
    names = ("quantiles", "above", "above_low", "above_high")
    parts = [answer[name][0] for name in names if name in answer]
    return np.concatenate([answer["mean"], answer["sd"], *parts])


class Client:
    """Connections that are kept, and requests over them."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.free = port, []
        self.head = (
            f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        # The server closes what was idle for half a minute, as every client has to expect.
        self.free = [(reader, writer) for reader, writer in self.free if not reader.at_eof()]
        if self.free:
            reader, writer = self.free.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{self.head}{len(body)}\r\n\r\n".encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        found = await reader.readexactly(length)
        self.free.append((reader, writer))
        return int(head.split()[1]), found

    def close(self) -> None:
        for _, writer in self.free:
            writer.close()


async def load_of(
    client: Client, bodies: list[bytes], truth: list[np.ndarray], count: int, rate: float, seed: int
) -> Seen:
    seen = Seen()
    due = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count))
    start = time.perf_counter()

    async def one(n: int) -> None:
        try:
            status, found = await client.ask(bodies[n % len(bodies)])
            seen.seconds.append(time.perf_counter() - start - due[n])
            if status != 200:
                raise ValueError(f"{status} {found[:200]!r}")
            off = np.abs(numbers_in(json.loads(found)) - truth[n % len(bodies)])
            seen.differences.append(float(off.max()))
        except (OSError, ValueError, KeyError, asyncio.IncompleteReadError) as error:
            seen.errors.append(f"request {n}: {type(error).__name__}: {error}")

    tasks = []
    for n in range(count):
        await asyncio.sleep(start + due[n] - time.perf_counter())
        tasks.append(asyncio.create_task(one(n)))
    await asyncio.gather(*tasks)
    return seen


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    folder: Path, X: pd.DataFrame, requests: int, rate: float, interval: float | None, seed: int
) -> dict:
    """Start the server, load it, stop it; what was seen, as a line of the ledger."""
    truth = expected(folder, X, interval)
    bodies = [body_of(row, interval) for row in X.to_dict("records")]
    token = secrets.token_urlsafe(24)
    command = [sys.executable, "-m", "deepnoise", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"DEEPNOISE_TOKEN": token}
    )
    try:
        port = int(server.stdout.readline().rstrip("/\n").rpartition(":")[2])

        async def session() -> tuple[Seen, float, float]:
            client = Client(port, token)
            await load_of(client, bodies, truth, SETTLE, rate, seed + 1)
            before, spent = memory_mb(server.pid), processor_s(server.pid)
            seen = await load_of(client, bodies, truth, requests, rate, seed)
            client.close()
            return seen, before, processor_s(server.pid) - spent

        load_before = os.getloadavg()[0]
        seen, before, spent = asyncio.run(session())
        after = memory_mb(server.pid)
    finally:
        server.terminate()
        status = server.wait(timeout=30)
        server.stdout.close()
    for error in seen.errors[:5]:
        print(error)
    quantiles = np.quantile(seen.seconds, [0.5, 0.95, 0.99, 1.0]) * 1e3
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "requests": requests,
        "rate": rate,
        "interval": interval,
        "seed": seed,
        "errors": len(seen.errors),
        "worst_difference": max(seen.differences),
        **{f"{name}_ms": round(q, 1) for name, q in zip(("p50", "p95", "p99", "max"), quantiles)},
        "server_ms_a_request": round(1e3 * spent / requests, 2),
        "memory_mb": [round(before, 1), round(after, 1)],
        "exit_status": status,
        "load_average": [round(load_before, 2), round(os.getloadavg()[0], 2)],
        "cores": os.cpu_count(),
        "versions": {"deepnoise": __version__, "python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=100.0, help="requests per second")
    parser.add_argument("--interval", type=float, help="ask for credible intervals too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="ledger to which a line is added")
    given = parser.parse_args()
    X_train, X_test, y_train, _ = diabetes()
    folder = given.model or Path(tempfile.mkdtemp()) / "model"
    if not folder.is_dir():
        BDeepNoiseRegressor(random_state=0).fit(X_train, y_train).save(folder)
    line = json.dumps(
        measure(folder, X_test, given.requests, given.rate, given.interval, given.seed)
    )
    print(line)
    if given.out is not None:
        with given.out.open("a") as ledger:
            ledger.write(line + "\n")


if __name__ == "__main__":
    main()
