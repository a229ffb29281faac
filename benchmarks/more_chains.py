"""What more chains and more sweeps buy: scores of groups of chains, by span of sweeps.

python benchmarks/more_chains.py yacht --data FOLDER --splits 5 --chains 20 --until 2000,3000,4000

The splits are one program, with the settings of the UCI study but for the number of chains; spans
begin where the warm-up ends.  Of a number of chains, two groups are judged where there are two.
"""

import argparse
import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import jax
import numpy as np

from deepnoise.studies.batched import Together, fit_many
from deepnoise.studies.paper import UciStudy
from deepnoise.studies.runner import OURS
from deepnoise.studies.spec import Case, read_spec

GROUPS = (1, 5, 10)


def score(fits: Together, s: int, draws) -> dict[str, float | None]:
    """Of draws (chain, draw, ...) of split s, with the guard."""
    flat = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), draws)
    density = fits.predicted(s, flat, fits.estimator.paths)
    return fits.score(s, fits.guarded(s, density))


def rows_of(name: str, study: UciStudy, splits: int, chains: int, until: list[int]):
    """Mean scores over splits, by span of sweeps and number of chains."""
    tasks = [study.task(Case(OURS, name, split, 0)) for split in range(splits)]
    fits = Together.of([task for task in tasks if task.X.shape == tasks[0].X.shape])
    plan = fits.plan
    last = (until[-1] - plan.warmup) // plan.thin
    batch = fit_many(replace(plan, chains=chains, draws=last), fits.x, fits.seen, fits.seeds)
    for begin, end in pairwise([plan.warmup, *until]):
        draws = slice(*((t - plan.warmup) // plan.thin for t in (begin, end)))
        for size in sorted({min(size, chains) for size in (*GROUPS, chains)}):
            firsts = range(0, chains - size + 1, size)[:2]
            parts = [
                (s, slice(first, first + size), draws)
                for s in range(len(fits.tasks))
                for first in firsts
            ]
            found = [
                score(fits, part[0], jax.tree.map(lambda a, part=part: a[part], batch.draws))
                for part in parts
            ]
            means = {metric: float(np.mean([row[metric] for row in found])) for metric in found[0]}
            row = {"set": name, "splits": len(fits.tasks), "chains": size, "groups": len(firsts)}
            yield row | {"sweeps": [begin, end], **means}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set")
    parser.add_argument("--data", type=Path, required=True, help="folder of the UCI sets")
    parser.add_argument("--spec", default="uci", help="a study's spec, or a TOML file")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--until", default="2000,3000,4000", help="ends of the spans, in sweeps")
    options = parser.parse_args()
    study = UciStudy(read_spec(options.spec).only(sets=(options.set,)), options.data)
    until = [int(end) for end in options.until.split(",")]
    for row in rows_of(options.set, study, options.splits, options.chains, until):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
