"""Seconds of a sweep in N, P, K, L, Q and chains, on whatever device is here.

``python benchmarks/scaling.py --out runs.jsonl --budget 90`` measures, fits a model and prints
Markdown; with ``--show`` it prints what such a file says.
"""

from in_turn import alone, run_cases

# isort: split
import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from deepnoise.inference.posterior import Plan, chain_priors
from deepnoise.inference.priors import first_scales
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import SEGMENT, advance, chain_keys
from deepnoise.inference.unseen import Data
from deepnoise.model.activation import hard_tanh
from deepnoise.model.network import Theta
from scaling_model import Size, Timing
from scaling_pages import page

SAMPLERS = ("gibbs", "interweaved")
BASES = {
    "small": Size(N=2000, P=10, K=20, L=2, Q=1, C=2),
    "large": Size(N=100_000, P=10, K=50, L=4, Q=1, C=1),
}
# Values of each axis besides the base, what matters most first.
VALUES = {
    "small": {
        "N": (16_000, 500),
        "K": (40, 10),
        "C": (8, 1),
        "L": (4, 1),
        "P": (80,),
        "Q": (8,),
    },
    "large": {
        "N": (1_000_000, 1000, 41_157),
        "K": (100, 25),
        "C": (5, 20),
        "L": (8, 2),
        "P": (400,),
        "Q": (16,),
    },
}
SECONDS_A_CASE = 1.0
CALLS = 5


def cases(sizes: str) -> list[tuple[str, Size]]:
    """Every case: the axes in turn, so that a budget that ends early has something of each.

    The interweaved sampler, which takes long to compile, has one value of most axes.
    """
    base, values = BASES[sizes], VALUES[sizes]
    found = [(sampler, base) for sampler in SAMPLERS]
    for depth in range(max(map(len, values.values()))):
        for axis, some in values.items():
            if depth < len(some):
                size = replace(base, **{axis: some[depth]})
                found += [(s, size) for s in SAMPLERS if s == "gibbs" or axis == "N" or not depth]
    return found


def plan_of(sampler: str, size: Size) -> Plan:
    hidden = (size.K,) * size.L
    return Plan(hidden, hard_tanh, 0, chains=size.C, init="prior", sampler=sampler, warmup=0)


def wave(*shape: int) -> jax.Array:
    """Numbers within (-1, 1) that no sum of rows is zero of, made on the device."""
    flat = jnp.sin(jnp.arange(np.prod(shape, dtype=int), dtype=jnp.float32) * 0.7)
    return flat.reshape(shape)


def problem(sampler: str, size: Size):
    """The arguments of ``advance`` after its static ones, at a state that costs what any costs."""
    plan = plan_of(sampler, size)
    C, widths = size.C, size.widths
    pairs = list(zip(widths[1:], widths[:-1], strict=True))
    theta = Theta(
        tuple(wave(C, b, a) * (2 / a) ** 0.5 for b, a in pairs),
        tuple(wave(C, b) for b in widths[1:]),
        tuple(jnp.full((C, b), 0.01) for b in widths[1:]),
        tuple(jnp.full((C, b), 0.01) for b in widths[1:-1]),
    )
    theta = jax.tree.map(lambda a: a.astype(jnp.float32), theta)
    scales = jax.vmap(lambda one: first_scales(plan.prior, plan.sites, one))(theta)
    x, y = wave(size.N, size.P), wave(size.N, size.Q)
    data = Data(x, y, chain_priors(plan, theta, x, y))
    axes = (0, 0, 0, Data(None, None, 0, None))  # type: ignore[arg-type]
    keys = chain_keys(0, C)
    init = jax.jit(jax.vmap(plan.kernel().init, in_axes=axes))
    return keys, init(keys, theta, scales, data), np.int64(100), np.int64(1), data


def timed(sampler: str, size: Size) -> Timing:
    """One case: compiled beside others, measured alone."""
    with numerics():
        began = time.perf_counter()
        shapes = jax.eval_shape(lambda: problem(sampler, size))
        program = advance.lower(plan_of(sampler, size).kernel(), 1, *shapes).compile()
        compile_seconds = time.perf_counter() - began
        alone()
        seconds = seconds_a_sweep(program, problem(sampler, size))
    return Timing(sampler, size, seconds, compile_seconds, jax.devices()[0].device_kind)


def seconds_a_sweep(program, arguments) -> float:
    """The least of a few calls, each of as many sweeps as fill their share of the time.

    On CPUs, which others may use too, it is time of our threads, not of the clock on the wall.
    """
    keys, state, t, count, data = arguments
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter

    def once(count):
        began = clock()
        jax.block_until_ready(program(1, keys, state, t, np.int64(count), data))
        return clock() - began

    once(1)
    count = int(np.clip(SECONDS_A_CASE / CALLS / once(1), 1, SEGMENT))
    return min(once(count) for _ in range(CALLS)) / count


def measure(sizes: str, budget: float, out: Path) -> None:
    """Write a line for each case; a CPU compiles none while it measures another."""
    wanted = [["--case", sampler, json.dumps(asdict(size))] for sampler, size in cases(sizes)]
    one = 1 if jax.default_backend() == "cpu" else None
    with out.open("a") as file:
        for row in run_cases(__file__, wanted, budget, processes=one):
            file.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="JSON lines, added to")
    parser.add_argument("--sizes", choices=["auto", *BASES], default="auto")
    parser.add_argument("--budget", type=float, default=90, help="about so many seconds")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--case", nargs=2, help="sampler and size: measured in this process")
    given = parser.parse_args()
    if given.case:
        sampler, size = given.case
        print(json.dumps(timed(sampler, Size(**json.loads(size))).to_json()))
        return
    if given.out is None:
        parser.error("--out is needed")
    if not given.show:
        large = jax.default_backend() != "cpu"
        sizes = {"auto": "large" if large else "small"}.get(given.sizes, given.sizes)
        measure(sizes, given.budget, given.out)
    lines = given.out.read_text("utf-8").splitlines()
    print(page([Timing.from_json(json.loads(line)) for line in lines], list(BASES.values())))


if __name__ == "__main__":
    main()
