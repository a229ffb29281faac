"""What more chains and more sweeps buy: scores of the first few chains and of spans of sweeps.

python benchmarks/more_chains.py yacht --data FOLDER --splits 5 --chains 20 --out rows.jsonl

All splits are one program, with the settings of the UCI study but for the number of chains and of
draws; every span has as many sweeps as the study keeps draws of.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

from deepnoise.estimators.bdeepnoise import BDeepNoiseRegressor
from deepnoise.estimators.chains import PREDICTION
from deepnoise.estimators.settings import plan as plan_of
from deepnoise.estimators.units import Units
from deepnoise.inference.runtime import numerics
from deepnoise.prediction.guard import guarded
from deepnoise.prediction.predict import predictive
from deepnoise.studies.batched import METHOD, fit_many
from deepnoise.studies.spec import Case, read_spec
from deepnoise.studies.uci import UciStudy
from deepnoise.studies.work import materialised


def scores(estimator, plan, task, units, draws, part) -> dict[str, float]:
    """Of a part of the draws (chain, draw, ...) of one split, with the guard."""
    draws = jax.tree.map(lambda a: a[part], draws)
    flat = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), draws)
    with numerics():
        key = jax.random.fold_in(jax.random.key(task.case.random_state), PREDICTION)
    density = predictive(key, flat, units.x.apply(task.X_test), plan.h, estimator.paths)
    variances = units.y.apply(task.y[:, None]).var(axis=0)
    return task.judge.of_density(
        materialised(units.y.restore(guarded(density, estimator.guard, variances)))
    )


def rows_of(name: str, study: UciStudy, splits: int, chains: int, spans: int):
    """Mean scores over splits, by number of chains and span of sweeps."""
    tasks = [study.task(Case(METHOD, name, split, 0)) for split in range(splits)]
    estimator = BDeepNoiseRegressor(**tasks[0].settings)
    units = [Units.learn(task.X, task.y[:, None], True) for task in tasks]
    plan = plan_of(estimator.get_params(deep=False), 0, len(tasks[0].X))
    plan = replace(plan, chains=chains, draws=plan.draws * spans)
    x = np.stack([u.x.apply(task.X) for u, task in zip(units, tasks, strict=True)])
    y = np.stack([u.y.apply(task.y[:, None]) for u, task in zip(units, tasks, strict=True)])
    batch = fit_many(plan, x, y, np.array([task.case.random_state for task in tasks]))
    for span in range(spans):
        first, last = (plan.draws // spans * part for part in (span, span + 1))
        for few in sorted({min(few, chains) for few in (1, 5, 10, chains)}):
            parts = [(s, slice(few), slice(first, last)) for s in range(splits)]
            found = [
                scores(estimator, plan, task, u, batch.draws, part)
                for task, u, part in zip(tasks, units, parts, strict=True)
            ]
            sweeps = [plan.warmup + plan.thin * part for part in (first, last)]
            means = {metric: float(np.mean([row[metric] for row in found])) for metric in found[0]}
            yield {"set": name, "splits": splits, "chains": few, "sweeps": sweeps, **means}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set")
    parser.add_argument("--data", type=Path, required=True, help="folder of the UCI sets")
    parser.add_argument("--spec", default="uci", help="a study's spec, or a TOML file")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--spans", type=int, default=4)
    parser.add_argument("--out", type=Path, help="JSON lines are added to it")
    options = parser.parse_args()
    study = UciStudy(read_spec(options.spec).only(sets=(options.set,)), options.data)
    for row in rows_of(options.set, study, options.splits, options.chains, options.spans):
        line = json.dumps(row)
        print(line, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(line + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
