"""A step of the sampler on this device against its floor, part by part, and its accuracy.

    python benchmarks/gpu.py --out gpu.jsonl     (on a GPU; two minutes, most of them compilation)
    python benchmarks/gpu.py --quick             (toy sizes, any machine)

The floor is made of rates measured in the same run: bytes through device memory over the bandwidth
of a copy, and flops over the rates of large products at the precisions used.  Needs jax, numpy,
blackjax and optax only.
"""

from in_turn import alone, asked, run_cases

# isort: split
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

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
TAKEN_APART = [(5, 41157), (80, 455)]
SAMPLERS = ("gibbs", "interweaved")


def size_of(chains: int, rows: int) -> Size:
    return Size(chains, rows, (50,) * 4 if rows >= 455 else (8, 8), P)


def step_case(size: Size, sampler: str) -> Iterator[dict]:
    """Milliseconds of a step of all chains, as the package runs them."""
    row = {"chains": size.chains, "rows": size.rows, "sampler": sampler}
    if (least := 4 * 3 * 2 * sum(size.hidden) * size.chains * size.rows) > 100e9:
        yield row | {"skipped": f"needs more than {least / 1e9:.0f} GB"}
        return
    steps = compiled(
        lambda keys, state, data, count: advance(
            kernel_of(sampler), 1, keys, state, jnp.int64(0), count, data
        )[0],
        size,
        sampler,
    )
    alone()
    arguments = jax.jit(partial(gpu_parts.arguments, size, sampler))()
    yield row | {"ms": 1e3 * seconds_a_step(steps, arguments)}


def parts_case(size: Size) -> Iterator[dict]:
    """Milliseconds of each part of an interweaved step."""
    sampler = "interweaved"
    programs = {name: compiled(part, size, sampler) for name, part in gpu_parts.parts().items()}
    alone()
    arguments = *jax.jit(partial(gpu_parts.arguments, size, sampler))(), jnp.int64(1)
    for name, program in programs.items():
        ms = 1e3 * seconds_a_call(program, arguments)
        yield {"chains": size.chains, "rows": size.rows, "part": name, "ms": ms}


def device_case(quick: bool) -> Iterator[dict]:
    """Errors against float64, and what the device can do."""
    alone()
    for what, error, limit in checks(300, 12) if quick else checks(20_000, 50):
        yield {"accuracy": what, "error": error, "limit": limit}
    device = jax.devices()[0].device_kind
    yield {"device": device, "jax": jax.__version__, **rates(quick)}


def compiled(function, size: Size, sampler: str):
    """Compiled for the shapes of its arguments; none of them is made yet."""
    shapes = jax.eval_shape(lambda: gpu_parts.arguments(size, sampler))
    return jax.jit(function).lower(*shapes, jax.ShapeDtypeStruct((), jnp.int64)).compile()


def seconds_a_step(program, arguments) -> float:
    """Least of three runs of as many steps as take about a third of a second, if not more."""

    def run(count):
        began = time.perf_counter()
        jax.block_until_ready(program(*arguments, jnp.int64(count)))
        return (time.perf_counter() - began) / count

    run(1)
    first = run(1)
    count = int(np.clip(0.3 / first, 1, SEGMENT))
    return min(run(count) for _ in range(3 if first < 1 else 1))


def seconds_a_call(program, arguments) -> float:
    """Seconds a call, many in a row without waiting for each."""
    jax.block_until_ready(program(*arguments))

    def run(count):
        began = time.perf_counter()
        for _ in range(count):
            out = program(*arguments)
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
        noises, gradients = 2 * units - size.hidden[-1], kernel.lengths[0] + 1
        single += 3 * forward * gradients + forward * (kernel.tries + 2)
        numbers += gradients * 2 * (noises + units) + (kernel.tries + 2) * 2 * noises
    return {
        "bytes": 4 * numbers * cells / r["bytes"],
        "flops32": single * cells / r["flops32"],
        "flops64": double * cells / r["flops64"],
    }


def with_floor(row: dict, r: dict[str, float]) -> dict:
    """A row of steps with its floor, as a sum, and the ratio to it."""
    if "ms" not in row:
        return row
    least = floor(size_of(row["chains"], row["rows"]), row["sampler"], r)
    total = 1e3 * sum(least.values())
    parts = {f"floor_{name}_ms": 1e3 * part for name, part in least.items()}
    return row | {"floor_ms": total, "ratio": row["ms"] / total, **parts}


def report(rows: list[dict]) -> Iterator[str]:
    """All of it as Markdown."""
    r = next(row for row in rows if "device" in row)
    yield f"jax {r['jax']}, {r['device']}, P = {P}, float32"
    yield (
        f"copy {r['bytes'] / 1e9:.0f} GB/s, products {r['flops32'] / 1e12:.2f} TFLOP/s "
        f"float32 (full precision), {r['flops64'] / 1e12:.2f} float64"
    )
    yield "\n| against float64 | largest error | limit |\n|---|---|---|"
    for row in rows:
        if "accuracy" in row:
            yield f"| {row['accuracy']} | {row['error']:.1e} | {row['limit']:.0e} |"
    yield "\n| chains | N | sampler | ms a step | floor ms | ratio | bytes | flops32 | flops64 |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        if "sampler" in row:
            head = f"| {row['chains']} | {row['rows']} | {row['sampler']} |"
            names = [f"floor_{name}_ms" for name in ("bytes", "flops32", "flops64")]
            if "skipped" in row:
                yield f"{head} {row['skipped']} | | | | | |"
            else:
                cells = " | ".join(f"{row[name]:.3f}" for name in names)
                ratio = f"{row['floor_ms']:.3f} | {row['ratio']:.1f}"
                yield f"{head} {row['ms']:.3f} | {ratio} | {cells} |"
    yield "\n| chains | N | part of an interweaved step | ms |\n|---|---|---|---|"
    for row in rows:
        if "part" in row:
            yield f"| {row['chains']} | {row['rows']} | {row['part']} | {row['ms']:.3f} |"


def case(words: list[str], quick: bool) -> Iterator[dict]:
    if words[0] == "device":
        return device_case(quick)
    size = size_of(int(words[1]), int(words[2]))
    return parts_case(size) if words[0] == "parts" else step_case(size, words[3])


def main() -> int:
    options = asked(__doc__.splitlines()[0], seconds=300)
    if options.case:
        with numerics():
            for row in case(options.case, options.quick):
                print(json.dumps(row), flush=True)
        return 0
    sizes, apart = ([(1, 200)],) * 2 if options.quick else (SIZES, TAKEN_APART)
    cases = [["device"], *(["steps", *map(str, size), k] for size in sizes for k in SAMPLERS)]
    cases[5:5] = [["parts", *map(str, size)] for size in apart]
    quick = ["--quick"] * options.quick
    rows = run_cases(__file__, [[*quick, "--case", *words] for words in cases], options.seconds)
    if not (found := [row for row in rows if "device" in row]):
        sys.exit("the device was not measured: see above")
    rows = [with_floor(row, found[0]) if "sampler" in row else row for row in rows]
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print("\n".join(report(rows)))
    return 0 if all(row["error"] < row["limit"] for row in rows if "accuracy" in row) else 1


if __name__ == "__main__":
    sys.exit(main())
