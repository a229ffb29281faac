"""Effective draws of predictive means a second: ours, numpyro's NUTS and blackjax's HMC.

    python benchmarks/effective_draws.py diabetes boston --folder FOLDER --out effective_draws.jsonl

First splits, those of ``rivals.py``; four chains each, whose tuning is half of their iterations.
Judged is E(y | x, draw) at held-out rows, a function of the draw alone: what a plain network
answers, and for ours the mean over 256 noise paths, the same for all draws.

The networks have the same layers of 20 units and hard tanh, but not the same law.  Theirs, that of
``HMCRegressor``, is y ~ N(network(x), sigma²): no noise within, weights ~ N(0, 1/fan-in), one
learnt sigma.  Ours has noise in every layer, and learns the sizes of noises and weights.

Every fit is run twice in this process and the second is timed, from rows to draws; what the first
took longer is compilation (less, where compiled programs were cached on disk).  NUTS and HMC move
all chains in one program, ours in a thread each: compare processor seconds too.  Leapfrog steps are
those of all chains after tuning; a step of ours also has its share of a Gibbs sweep.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from deepnoise.baselines.registry import make
from deepnoise.inference.diagnostics import diagnose
from deepnoise.prediction.per_draw import PATHS_TO_JUDGE
from rivals import splits, versions
from side_by_side_methods import means_of_draws

NETWORK = {"hidden": (20, 20), "chains": 4}
TOY = {"hidden": (2,), "chains": 2, "warmup": 20, "draws": 20}


@dataclass(frozen=True)
class Sampler:
    """A method of the registry, the package it needs, its settings, and others at toy size."""

    name: str
    package: str
    settings: dict[str, Any]
    toy: dict[str, Any]
    leapfrogs: Callable[[Any], int]


def our_leapfrogs(model: Any) -> int:
    posterior = model.posterior_
    return posterior.steps * model.thin * posterior.run.n_draws * model.chains


def leapfrogs_of_hmc(model: Any) -> int:
    return model.leaps * model.draws * model.chains


def hmc(leaps: int) -> Sampler:
    settings = {"warmup": 400, "draws": 400, "leaps": leaps, "steps": 2000}
    return Sampler("bnn", "blackjax", settings, {"leaps": 3, "steps": 20}, leapfrogs_of_hmc)


OURS = "deepnoise"
LENGTHS = {"warmup": 800, "draws": 400, "thin": 2}
SAMPLERS = {
    OURS: Sampler(
        "bdeepnoise",
        "deepnoise",
        {**LENGTHS, "progress": False},
        {"thin": 1},
        our_leapfrogs,
    ),
    "NUTS (numpyro)": Sampler(
        "numpyro",
        "numpyro",
        {"warmup": 400, "draws": 400, "depth": 7},
        {"depth": 3},
        lambda model: model.leapfrogs_,
    ),
    "HMC (blackjax), 30 steps": hmc(30),
    "HMC (blackjax), 100 steps": hmc(100),
}


def timed_fit(name: str, settings: dict, seed: int, X, y) -> tuple[float, float, Any]:
    """(seconds, processor seconds of all threads, the model)."""
    model = make(name, **settings, random_state=seed)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.perf_counter() - wall, time.process_time() - cpu, model


def agreement(means: np.ndarray) -> dict[str, float]:
    """R-hat and bulk ESS of the means of all rows, (rows, chain, draw)."""
    found = diagnose({f"mean[{n}]": chains for n, chains in enumerate(means)}).rows
    rhat, ess = (np.array([getattr(row, name) for row in found]) for name in ("rhat", "ess_bulk"))
    return {
        "rhat_largest": float(rhat.max()),
        "rhat_median": float(np.median(rhat)),
        "ess_least": float(ess.min()),
        "ess_median": float(np.median(ess)),
    }


def judged(sampler: Sampler, settings: dict, seed: int, X, X_test, y) -> dict[str, Any]:
    """One fit, after one that compiles: how its chains agree, and what they took."""
    load = os.getloadavg()[0]
    first, _, _ = timed_fit(sampler.name, settings, seed, X, y)
    seconds, cpu, model = timed_fit(sampler.name, settings, seed, X, y)
    return {
        "rows": len(X),
        "held_out": len(X_test),
        "settings": settings,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "compilation_seconds": first - seconds,
        "leapfrogs": sampler.leapfrogs(model),
        **agreement(means_of_draws(model, X_test, PATHS_TO_JUDGE)),
        "cores": os.cpu_count(),
        "load_before": load,
    }


def show(rows: list[dict]) -> None:
    heads = "set", "method", "R-hat", "ESS", "s", "processor s", "ESS/s", "ESS/processor s"
    print("\nR-hat is the largest; of ESS and what is made of it, the least row and the median.\n")
    print(f"| {' | '.join(heads)} | ESS/1000 leapfrogs | + compilation s |")
    print("|---" * (len(heads) + 2) + "|")
    for row in rows:
        ess = np.array([row["ess_least"], row["ess_median"]])
        rates = [ess / row[name] for name in ("seconds", "cpu_seconds", "leapfrogs")]
        cells = [row["set"], row["method"], f"{row['rhat_largest']:.3f}", pair(ess, 0)]
        cells += [f"{row[name]:.3g}" for name in ("seconds", "cpu_seconds")]
        cells += [pair(rates[0], 1), pair(rates[1], 1), pair(1000 * rates[2], 2)]
        print(f"| {' | '.join(cells)} | {row['compilation_seconds']:.1f} |")


def pair(values: np.ndarray, digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["diabetes"], help="diabetes, or UCI sets")
    parser.add_argument("--folder", help="where UCI sets lie")
    parser.add_argument("--seed", type=int, default=0)
    for name, usual in LENGTHS.items():
        parser.add_argument(f"--{name}", type=int, default=usual, help=f"of ours: {usual}")
    parser.add_argument("--quick", action="store_true", help="toy sizes")
    parser.add_argument("--out", type=Path, help="JSON lines are added here")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    asked = {name: getattr(given, name) for name in LENGTHS}
    rows = []
    for label, sampler in SAMPLERS.items():
        if find_spec(sampler.package) is None:
            print(f"{label}: skipped, {sampler.package} is not installed", flush=True)
            continue
        settings = NETWORK | sampler.settings | (asked if label == OURS else {})
        settings |= TOY | sampler.toy if given.quick else {}
        for name in given.sets:
            X, X_test, y, _ = next(splits(name, given.folder, 1))
            row = {"set": name, "split": 0, "method": label, "seed": given.seed}
            row |= judged(sampler, settings, given.seed, X, X_test, y)
            rows.append(row | {"versions": versions()})
            print(json.dumps(rows[-1]), flush=True)
            if given.out:
                with given.out.open("a") as ledger:
                    ledger.write(json.dumps(rows[-1]) + "\n")
    show(sorted(rows, key=lambda row: given.sets.index(row["set"])))


if __name__ == "__main__":
    main()
