"""Predictive quality on the fixed UCI splits and on the paper's synthetic laws, one program a set.

python benchmarks/quality.py uci --data FOLDER --sets yacht,energy --splits 20 --out results.jsonl
python benchmarks/quality.py synthetic --rows 1000,2000,4000 --replicates 20 --out results.jsonl
python benchmarks/quality.py table --out results.jsonl

One JSON line for each fit: the warm-start ensemble and the posterior of the same chains side by
side, in units of y.  The settings are the same for every set; nothing is tuned on test rows.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import numpy as np

from deepnoise.datasets import synthetic
from deepnoise.datasets.uci import load_uci
from deepnoise.inference.diagnostics import diagnose
from deepnoise.inference.posterior import Plan
from deepnoise.inference.warmstart import WarmStart
from deepnoise.model.activation import hard_tanh
from deepnoise.prediction import metrics
from deepnoise.prediction.mixture import GaussianMixture
from deepnoise.prediction.predict import predictive
from deepnoise.studies.batched import Batch, fit_many

PATHS = 10
LEVELS = (np.arange(100) + 0.5) / 100


def standardised(train: np.ndarray, other: np.ndarray):
    """Both in units of the training part, with its mean and sd (1 where constant)."""
    mean, scale = train.mean(0), train.std(0)
    scale = np.where(scale < 1e-12, 1.0, scale)
    return (train - mean) / scale, (other - mean) / scale, mean, scale


def densities(batch: Batch, s: int, x, mean, scale) -> dict[str, GaussianMixture]:
    """Predictive of fit s from its posterior draws, and from its starts alone, in units of y."""
    flat = jax.tree.map(lambda a: a[s].reshape(-1, *a.shape[3:]), batch.draws)
    start = jax.tree.map(lambda a: a[s], batch.start.theta)
    many = PATHS * flat.gamma[0].shape[0] // start.gamma[0].shape[0]
    key = jax.random.key(s)
    made = {
        "posterior": predictive(key, flat, x, hard_tanh, PATHS),
        "start": predictive(key, start, x, hard_tanh, min(many, 1000)),
    }
    return {name: materialised(density.affine(scale, mean)) for name, density in made.items()}


def materialised(density: GaussianMixture) -> GaussianMixture:
    weights, means, covs = density.components()
    return GaussianMixture.of(means, covs, weights)


def scores(density: GaussianMixture, y) -> dict[str, float]:
    return {
        "rmse": metrics.rmse(density, y),
        "nll": metrics.nll(density, y),
        "crps": metrics.crps(density, y),
        "coverage95": metrics.coverage(density, y, 0.95),
        "wepi95": metrics.wepi(density, y),
    }


def chain_agreement(batch: Batch, s: int, x) -> dict[str, float]:
    """R-hat and ESS of the predictive mean at ten test rows."""
    draws = jax.tree.map(lambda a: a[s], batch.draws)
    chains, kept = draws.gamma[0].shape[:2]
    flat = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), draws)
    means = predictive(jax.random.key(0), flat, x[:10], hard_tanh, PATHS).components().means
    values = means.reshape(len(x[:10]), chains, kept, PATHS).mean(-1)
    found = diagnose({f"mean{i}": v for i, v in enumerate(values)})
    return {"max_rhat": found.max_rhat, "min_ess": found.min_ess}


def uci(args, plan_of) -> None:
    for name in args.sets.split(","):
        data = load_uci(name, args.data)
        splits = [data.split(k) for k in range(min(args.splits, len(data.test_rows)))]
        rows = min(len(train) for train, _ in splits)
        xs = [standardised(data.X[a[:rows]], data.X[b]) for a, b in splits]
        ys = [standardised(data.y[a[:rows], None], data.y[b, None]) for a, b in splits]
        batch, seconds = timed_fit(plan_of(rows), xs, ys)
        for s, ((_, test), x, y) in enumerate(zip(splits, xs, ys, strict=True)):
            made = densities(batch, s, x[1], y[2], y[3])
            row = {"set": name, "split": s, "rows": rows, "seconds": seconds / len(splits)}
            row |= {which: scores(density, data.y[test]) for which, density in made.items()}
            write(args, row | chain_agreement(batch, s, x[1]))
        summary(args, {"set": name})


def laws(args, plan_of) -> None:
    grid = np.linspace(-1, 1, 100)
    for rows in map(int, args.rows.split(",")):
        for law in synthetic.LAWS:
            drawn = [synthetic.sample(law, rows, seed) for seed in range(args.replicates)]
            xs = [standardised(np.reshape(x, (-1, 1)), grid[:, None]) for x, _ in drawn]
            ys = [standardised(np.reshape(y, (-1, 1)), np.zeros((1, 1))) for _, y in drawn]
            batch, seconds = timed_fit(plan_of(rows), xs, ys)
            truth = synthetic.true_quantile(law, grid, LEVELS)
            for s, (x, y) in enumerate(zip(xs, ys, strict=True)):
                made = densities(batch, s, x[1], y[2], y[3])
                row = {"set": law, "split": s, "rows": rows, "seconds": seconds / len(xs)}
                error = {
                    k: {"l1": 1e3 * metrics.quantile_l1(d, truth, LEVELS)} for k, d in made.items()
                }
                write(args, row | error)
            summary(args, {"set": law, "rows": rows})


def timed_fit(plan: Plan, xs, ys) -> tuple[Batch, float]:
    began = time.perf_counter()
    batch = fit_many(plan, np.stack([x[0] for x in xs]), np.stack([y[0] for y in ys]))
    return batch, time.perf_counter() - began


def write(args, row: dict) -> None:
    row |= {"hidden": args.hidden, "chains": args.chains, "warmup": args.warmup, "thin": args.thin}
    row |= {"draws": args.draws, "seed": args.seed, "jax": jax.__version__}
    row["device"] = jax.devices()[0].device_kind
    with Path(args.out).open("a") as ledger:
        ledger.write(json.dumps(row, default=float) + "\n")


def summary(args, match: dict) -> None:
    """Means over the fits just written, start against posterior."""
    lines = [json.loads(line) for line in Path(args.out).read_text().splitlines()]
    lines = [line for line in lines if all(line[k] == v for k, v in match.items())]
    words = [f"{k} {v}" for k, v in match.items()] + [f"{len(lines)} fits"]
    words.append(f"{sum(line['seconds'] for line in lines):.0f} s")
    for which in ("start", "posterior"):
        means = {k: np.mean([line[which][k] for line in lines]) for k in lines[0][which]}
        words.append(which + " " + " ".join(f"{k} {v:.4g}" for k, v in means.items()))
    print(" | ".join(words), flush=True)


def table(args, _) -> None:
    """Markdown: mean (standard error) over the fits of each set, start against posterior."""
    lines = [json.loads(line) for line in Path(args.out).read_text().splitlines()]
    names = list(dict.fromkeys((line["set"], line["rows"]) for line in lines))
    measures = list(lines[0]["posterior"])
    print("| set | N | fits | from | " + " | ".join(measures) + " |")
    print("|---" * (4 + len(measures)) + "|")
    for name, rows in names:
        part = [line for line in lines if (line["set"], line["rows"]) == (name, rows)]
        for which in ("start", "posterior"):
            values = np.array([[line[which][k] for k in measures] for line in part])
            error = (
                values.std(0, ddof=1) / np.sqrt(len(part)) if len(part) > 1 else np.nan * values[0]
            )
            cells = [f"{m:.4g} ({e:.2g})" for m, e in zip(values.mean(0), error, strict=True)]
            print(f"| {name} | {rows} | {len(part)} | {which} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=("uci", "synthetic", "table"))
    parser.add_argument("--data", default=None)
    parser.add_argument("--sets", default="yacht,boston,energy,concrete,wine")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows", default="1000,2000,4000")
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--hidden", default="50,50,50,50")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=800)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--thin", type=int, default=4)
    parser.add_argument("--steps", type=int, default=None, help="steps of the warm start")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="quality.jsonl")
    args = parser.parse_args()

    def plan_of(rows: int) -> Plan:
        hidden = tuple(map(int, args.hidden.split(",")))
        begin = WarmStart.for_rows(rows) if args.steps is None else WarmStart(steps=args.steps)
        return Plan(
            hidden, hard_tanh, args.seed, chains=args.chains, warmup=args.warmup,
            draws=args.draws, thin=args.thin, warmstart=begin,
        )  # fmt: skip

    {"uci": uci, "synthetic": laws, "table": table}[args.study](args, plan_of)


if __name__ == "__main__":
    main()
