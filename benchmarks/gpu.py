"""A step of the sampler on this device against its floor, part by part, and its accuracy.

    python benchmarks/gpu.py --out gpu.jsonl     (on a GPU; about 100 s, most of it compilation)
    python benchmarks/gpu.py --quick             (toy sizes, any machine)

The floor is made of rates measured in the same run: bytes through device memory over the bandwidth
of a copy, and flops over the rates of large products at the precisions used.  Needs jax, numpy,
blackjax and optax only.
"""

import argparse
import json
import sys
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gpu_parts
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import SEGMENT, advance
from gpu_parts import Size, kernel_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.accuracy import checks

P = 13
# The order in which they matter, should time run out.
SIZES = [(5, 41157), (80, 455), (5, 1_000_000), (1, 41157), (5, 455), (1, 455), (1, 1_000_000)]
SIZES += [(80, 41157), (80, 1_000_000)]
TAKEN_APART = [(80, 455), (5, 41157)]
SAMPLERS = ("gibbs", "interweaved")
# Compiled in threads of their own, as much as fits in this time; the rest is skipped.
COMPILE_SECONDS, ALL_SECONDS, THREADS = 65.0, 105.0, 14


@dataclass(frozen=True)
class Program:
    """A compiled function of (keys, state, data), and what it needs of device memory."""

    run: Any
    bytes: int


def compiled(function, size: Size, sampler: str) -> Program:
    """Compiled for the shapes of its arguments; none of them is made yet."""
    if (least := 4 * 3 * 2 * sum(size.hidden) * size.chains * size.rows) > memory_limit():
        return Program(None, least)
    with numerics():
        count = jax.ShapeDtypeStruct((), jnp.int64)
        shapes = jax.eval_shape(lambda: gpu_parts.arguments(size, sampler))
        run = jax.jit(function).lower(*shapes, count).compile()
        memory = run.memory_analysis()
    maker(size, sampler)
    sizes = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    return Program(run, sum(getattr(memory, part, 0) for part in sizes))


def segment(sampler: str):
    """``count`` steps of every chain as the package runs them."""

    def steps(keys, state, data, count):
        return advance(kernel_of(sampler), 1, keys, state, jnp.int64(0), count, data)[0]

    return steps


def seconds_a_step(program: Program, arguments) -> float:
    """Least of three runs of as many steps as take about a third of a second, if not more."""

    def run(count):
        began = time.perf_counter()
        jax.block_until_ready(program.run(*arguments, jnp.int64(count)))
        return (time.perf_counter() - began) / count

    run(1)
    first = run(1)
    count = int(np.clip(0.3 / first, 1, SEGMENT))
    return min(run(count) for _ in range(3 if first < 1 else 1))


def seconds_a_call(program: Program, arguments) -> float:
    """Seconds a call, many in a row without waiting for each."""
    arguments = *arguments, jnp.int64(1)
    jax.block_until_ready(program.run(*arguments))

    def run(count):
        began = time.perf_counter()
        for _ in range(count):
            out = program.run(*arguments)
        jax.block_until_ready(out)
        return (time.perf_counter() - began) / count

    return min(run(int(np.clip(0.1 / run(2), 2, 50))) for _ in range(3))


def rates(quick: bool) -> dict[str, float]:
    """Bytes a second of a copy, flops a second of large products in float32 and float64."""
    side, numbers = (1000, 2**22) if quick else (8192, 2**28)

    def best(f, a):
        jax.block_until_ready(f(a))
        times = []
        for _ in range(3):
            began = time.perf_counter()
            out = [f(a) for _ in range(4)]
            jax.block_until_ready(out)
            times.append((time.perf_counter() - began) / 4)
            del out
        return min(times)

    square = jnp.ones((side, side), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    flat = jnp.ones(numbers, jnp.float32)
    return {
        "bytes": 8 * numbers / best(jax.jit(lambda a: a + 1), flat),
        "flops32": 2 * side**3 / best(product, square),
        "flops64": 2 * side**3 / best(product, square.astype(float)),
    }


def floor(size: Size, sampler: str, r: dict[str, float]) -> dict[str, float]:
    """Least seconds for the bytes and for the flops of a step of all chains.

    Each block of the sweep reads what it conditions on and writes what it draws, once: u, v for the
    variances; u, then v; v, then u; u, v for the weights.  A gradient of the move reads the noises
    forward and backward and keeps v between; a path of the refresh is written and read once.
    """
    widths = (P, *size.hidden, 1)
    cells = size.chains * size.rows
    units = sum(size.hidden)
    forward = sum(2 * a * b for a, b in pairwise(widths))
    single = forward + sum(3 * 2 * a * b for a, b in pairwise(widths[1:]))
    double = sum((a + 1) * (a + 1 + 2 * b) for a, b in pairwise(widths))
    numbers = 8 * units + 2 * P
    if sampler == "interweaved":
        kernel = kernel_of(sampler)
        noises, gradients = 2 * units - size.hidden[-1], kernel.leapfrogs + 1
        single += 3 * forward * gradients + forward * (kernel.tries + 2)
        numbers += gradients * 2 * (noises + units) + (kernel.tries + 2) * 2 * noises
    return {
        "bytes": 4 * numbers * cells / r["bytes"],
        "flops32": single * cells / r["flops32"],
        "flops64": double * cells / r["flops64"],
    }


def report_accuracy(quick: bool, write) -> bool:
    show("\n| against float64 | largest error | limit |\n|---|---|---|")
    found = checks(300, 12) if quick else checks(20_000, 50)
    for what, error, limit in found:
        show(f"| {what} | {error:.1e} | {limit:.0e} |")
        write({"accuracy": what, "error": error, "limit": limit})
    return all(error < limit for _, error, limit in found)


@cache
def maker(size: Size, sampler: str):
    """The compiled program that makes keys, state and data."""
    with numerics():
        return jax.jit(partial(gpu_parts.arguments, size, sampler)).lower().compile()


def show(line: str) -> None:
    print(line, flush=True)


def memory_limit() -> float:
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit", np.inf)


def result(future: Future, deadline: float) -> tuple[Program | None, str]:
    """A program, or why there is none."""
    try:
        program = future.result(timeout=max(0.1, deadline - time.perf_counter()))
    except (TimeoutError, CancelledError):
        return None, "not compiled in time"
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
    room = memory_limit()
    if program.bytes > 0.95 * room:
        return None, f"needs {program.bytes / 2**30:.0f} GiB of {room / 2**30:.0f}"
    return program, ""


def ready(future: Future, deadlines: tuple[float, float]) -> tuple[Program | None, str]:
    program, why = result(future, deadlines[0])
    return (None, "out of time") if time.perf_counter() > deadlines[1] else (program, why)


def report_steps(futures, r, deadlines, write) -> None:
    show("\n| chains | N | sampler | ms a step | floor ms | ratio | bytes | flops32 | flops64 |")
    show("|---|---|---|---|---|---|---|---|---|")
    for (size, sampler), future in futures.items():
        program, why = ready(future, deadlines)
        head = f"| {size.chains} | {size.rows} | {sampler} |"
        row = {"chains": size.chains, "rows": size.rows, "sampler": sampler}
        if program is None:
            show(f"{head} skipped: {why} | | | | | |")
            write(row | {"skipped": why})
            continue
        least = floor(size, sampler, r)
        try:
            seconds = seconds_a_step(program, maker(size, sampler)())
        except jax.errors.JaxRuntimeError as error:
            show(f"{head} failed: {str(error).splitlines()[0][:80]} | | | | | |")
            continue
        total = sum(least.values())
        cells = " | ".join(f"{1e3 * part:.3f}" for part in least.values())
        show(f"{head} {1e3 * seconds:.3f} | {1e3 * total:.3f} | {seconds / total:.1f} | {cells} |")
        write(row | {"ms": 1e3 * seconds, "floor_ms": 1e3 * total, "ratio": seconds / total})


def report_parts(futures, deadlines, write) -> None:
    show("\n| chains | N | part of an interweaved step | ms |\n|---|---|---|---|")
    for (size, part), future in futures.items():
        program, why = ready(future, deadlines)
        row = {"chains": size.chains, "rows": size.rows, "part": part}
        if program is None:
            show(f"| {size.chains} | {size.rows} | {part} | skipped: {why} |")
            write(row | {"skipped": why})
            continue
        ms = 1e3 * seconds_a_call(program, maker(size, "interweaved")())
        show(f"| {size.chains} | {size.rows} | {part} | {ms:.3f} |")
        write(row | {"ms": ms})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON lines are written here")
    parser.add_argument("--quick", action="store_true", help="toy sizes")
    options = parser.parse_args()
    began = time.perf_counter()
    hidden = (8, 8) if options.quick else (50, 50, 50, 50)
    sizes = [Size(*pair, hidden, P) for pair in ([(1, 200), (2, 64)] if options.quick else SIZES)]
    apart = sizes[:1] if options.quick else [Size(*pair, hidden, P) for pair in TAKEN_APART]
    lines: list[str] = []

    def write(row: dict) -> None:
        lines.append(json.dumps(row))
        if options.out:
            options.out.write_text("\n".join(lines) + "\n")

    device = jax.devices()[0]
    show(f"jax {jax.__version__}, {device.device_kind}, hidden {hidden}, P = {P}, float32")
    with ThreadPoolExecutor(2 if options.quick else THREADS) as pool:
        steps = {
            (s, k): pool.submit(compiled, segment(k), s, k) for s in sizes[:2] for k in SAMPLERS
        }
        parts = {
            (s, name): pool.submit(compiled, part, s, "interweaved")
            for s in apart
            for name, part in gpu_parts.parts().items()
        }
        steps |= {
            (s, k): pool.submit(compiled, segment(k), s, k) for s in sizes[2:] for k in SAMPLERS
        }
        slack = 10 if options.quick else 1
        deadlines = began + slack * COMPILE_SECONDS, began + slack * ALL_SECONDS
        with numerics():
            accurate = report_accuracy(options.quick, write)
            for future in [*steps.values(), *parts.values()]:
                result(future, deadlines[0])
            pool.shutdown(wait=False, cancel_futures=True)
            show(f"\ncompiled in {time.perf_counter() - began:.0f} s")
            r = rates(options.quick)
            write({"device": device.device_kind, "jax": jax.__version__, **r})
            show(
                f"copy {r['bytes'] / 1e9:.0f} GB/s, products {r['flops32'] / 1e12:.2f} TFLOP/s "
                f"float32 (full precision), {r['flops64'] / 1e12:.2f} float64"
            )
            report_steps(steps, r, deadlines, write)
            report_parts(parts, deadlines, write)
    show(f"\n{time.perf_counter() - began:.0f} s in all; accurate: {accurate}")
    return 0 if accurate else 1


if __name__ == "__main__":
    sys.exit(main())
