"""Run in processes of their own, by test_sharding: fits on several devices beside fits on one.

``python -m tests.inference.spread CASE...`` prints a JSON line for each case.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from deepnoise.inference.in_memory import InMemory
from deepnoise.inference.kernels import InterweavedKernel
from deepnoise.inference.posterior import Plan, Posterior
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import advance
from deepnoise.inference.sharding import Layout
from deepnoise.model.activation import hard_tanh
from deepnoise.model.outcome import Window

from .fits import fit, resume

HIDDEN = (3,)
STEPS = 4


def plan_of(sampler: str, dtype: str) -> Plan:
    plan = Plan(HIDDEN, hard_tanh, 5, sampler=sampler, dtype=dtype, chains=2, warmup=20, draws=8)
    return replace(plan, warmstart=replace(plan.warmstart, steps=100))


def rows(count: int, gaps: bool = False):
    """With gaps, of x and in y."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(count, 3))
    y = np.tanh(x[:, :1]) + 0.1 * rng.normal(size=(count, 1))
    if not gaps:
        return x, y
    x[::7, 1] = np.nan
    return x, Window(y, np.where(np.arange(count)[:, None] % 5, y, np.inf))


def apart(a, b) -> float:
    """The largest difference, of each array in units of its largest entry."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    scaled = [(np.max(np.abs(p - q)), np.max(np.abs(q))) for p, q in pairs]
    return max(float(gap / size) if size else float(gap) for gap, size in scaled)


def draw(posterior: Posterior, d: int):
    return jax.tree.map(lambda a: a[:, d], (posterior.run.draws, posterior.run.beside))


def compare(sampler: str, dtype: str, gaps: bool, devices: int | str) -> dict[str, Any]:
    """How far draws are from those of one device.

    ``start`` is where the chains begin; ``whole`` the run from there, draw by draw; ``steps`` each
    next draw after the same state.
    """
    # Neither 2 nor 4 devices share 61 rows evenly.
    plan, (x, y) = plan_of(sampler, dtype), rows(61, gaps)
    # Two chains on four devices are a mesh of 2 x 2, one chain on two processes splits its rows.
    plan = replace(plan, chains=1 if devices == "all" else 2)
    one = fit(plan, x, y)
    several = fit(plan, x, y, devices=devices)
    found = {
        "start": apart(several.start, one.start),
        "whole": [apart(draw(several, d), draw(one, d)) for d in range(plan.draws)],
    }
    steps = []
    for more in range(plan.draws + 1, plan.draws + 1 + STEPS):
        one = replace(one, run=one.run.whole())
        there = resume(one, x, y, more, devices=devices)
        one = resume(one, x, y, more)
        steps.append(apart(draw(there, -1), draw(one, -1)))
    return {**found, "steps": steps}


def exchanges(sampler: str) -> dict[str, int]:
    """Bytes that the devices of a chain add up in a sweep: as counted, and as derived.

    ``constant`` is the part that the compiler may take out of the loop.
    """
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from communication import exchanged
    from scaling_model import CONSTANT, LEAPFROGS, Size, bytes_a_sweep

    plan, (x, y) = replace(plan_of(sampler, "float32"), init="prior", chains=1), rows(4001)
    layout = Layout.over(4, plan.chains, len(x))
    with numerics():
        backend = InMemory(plan, x, y, devices=4)
        state = backend.begin().run.state
        now = backend.keys, state, np.int64(0), np.int64(1), backend.data
        # Of loops that choose their length the program does not say how often they turn.
        kernel = plan.kernel()
        if isinstance(kernel, InterweavedKernel):
            kernel = replace(kernel, lengths=(LEAPFROGS,))
        hlo = advance.lower(kernel, 1, *now, layout).compile().as_text()
    derived = bytes_a_sweep(Size(N=len(x), P=3, K=HIDDEN[0], L=len(HIDDEN), R=4), sampler)
    return {
        "counted": sum(bytes_ * times for _, _, bytes_, times in exchanged(hlo)),
        "derived": sum(derived.values()),
        "constant": derived[CONSTANT],
    }


def main(cases: list[str], devices: int | str) -> None:
    for case in cases:
        first, *rest = case.split("-")
        if first == "exchanges":
            found: dict[str, Any] = exchanges(*rest)
        else:
            found = compare(first, rest[0], "gaps" in rest, devices)
        if jax.process_index() == 0:
            print(json.dumps({"case": case, **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:], 4)
