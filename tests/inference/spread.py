"""Run in processes of their own, by test_sharding: fits on several devices beside fits on one.

``python -m tests.inference.spread CASE...`` prints a JSON line for each case.
"""

import json
import sys
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from deepnoise.inference import posterior as chains
from deepnoise.inference.posterior import Plan, Posterior
from deepnoise.model.activation import hard_tanh
from deepnoise.model.outcome import Window

ROWS = 61
MORE = 16


def plan_of(sampler: str, dtype: str) -> Plan:
    small = replace(Plan((3,), hard_tanh, 5).warmstart, steps=100)
    return Plan(
        (3,),
        hard_tanh,
        5,
        chains=2,
        warmup=20,
        draws=8,
        sampler=sampler,
        dtype=dtype,
        warmstart=small,
    )


def rows(gaps: bool = False):
    """61 rows, which neither 2 nor 4 devices share evenly; with gaps, of x and in y."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(ROWS, 3))
    y = np.tanh(x[:, :1]) + 0.1 * rng.normal(size=(ROWS, 1))
    if not gaps:
        return x, y
    x[::7, 1] = np.nan
    return x, Window(y, np.where(np.arange(ROWS)[:, None] % 5, y, np.inf))


def apart(a, b) -> float:
    """The largest difference, of each array in units of its largest entry."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    scaled = [(np.max(np.abs(p - q)), np.max(np.abs(q))) for p, q in pairs]
    return max(float(gap / size) if size else float(gap) for gap, size in scaled)


def draw(posterior: Posterior, d: int):
    return jax.tree.map(lambda a: a[:, d], (posterior.run.draws, posterior.run.beside))


def compare(sampler: str, dtype: str, gaps: bool, devices: int | str) -> dict[str, Any]:
    """How far draws are from those of one device.

    ``start`` is where the chains begin; ``whole`` the run from there, draw by draw; ``resumed``
    what follows, both continued from the last state of one device.
    """
    plan, (x, y) = plan_of(sampler, dtype), rows(gaps)
    one = chains.fit(plan, x, y)
    several = chains.fit(plan, x, y, devices=devices)
    first = replace(one, run=one.run.whole())
    more = plan.draws + MORE
    here, there = (chains.resume(first, x, y, more, devices=d) for d in (1, devices))
    return {
        "start": apart(several.start, one.start),
        "whole": [apart(draw(several, d), draw(one, d)) for d in range(plan.draws)],
        "resumed": [apart(draw(there, d), draw(here, d)) for d in range(plan.draws, more)],
    }


def main(cases: list[str], devices: int | str) -> None:
    for case in cases:
        sampler, dtype, *gaps = case.split("-")
        found = compare(sampler, dtype, bool(gaps), devices)
        if jax.process_index() == 0:
            print(json.dumps({"case": case, **found}), flush=True)


if __name__ == "__main__":
    if sys.argv[1].startswith("localhost:"):
        jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]), heartbeat_timeout_seconds=20)
        main(sys.argv[3:], "all")
    else:
        main(sys.argv[1:], 4)
