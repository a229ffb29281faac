"""Scores of one method after the other on the same splits: diabetes, or a UCI set.

    python benchmarks/rivals.py diabetes --splits 10 --methods ridge de --out diabetes.jsonl
    python benchmarks/rivals.py yacht --data FOLDER --methods bde bde-toy --out bde.jsonl

Diabetes is scikit-learn's, split by ``train_test_split(test_size=0.1, random_state=split)``.  Rows
that the file has are not made again.  Seconds include compilation; ``cpu_seconds`` are those of all
threads, to be compared on a machine that others use too.
"""

import argparse
import json
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from deepnoise.baselines import registry
from deepnoise.baselines.peers import OneOutcome, gaussians
from deepnoise.datasets.uci import load_uci
from deepnoise.estimators.base import DensityRegressor
from deepnoise.estimators.standardized import StandardizedRegressor
from deepnoise.studies.neuro.fit import PENALTIES

SCORES = ("nll", "rmse", "crps", "coverage_90", "coverage_95")
PACKAGES = ("deepnoise", "jax", "numpy", "scikit-learn", "blackjax", "sklearn-contrib-bde")
PACKAGES += ("bartz", "ngboost", "numpyro", "stochtree", "torch")
# What bde's constructor gives without arguments.
TOY = {"members": 2, "hidden": (4, 4), "epochs": 20, "patience": None, "warmup": 50, "draws": 5}


class RidgeDensity(OneOutcome, StandardizedRegressor):
    """Ridge regression, its penalty by leave-one-out, with the variance of training residuals."""

    def __init__(self, standardize=True, random_state=None):
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x, y, seed):  # noqa: ARG002
        outcome = self._single(y)
        self.model_ = RidgeCV(PENALTIES).fit(x, outcome)
        self.variance_ = np.mean((outcome - self.model_.predict(x)) ** 2)

    def _density(self, x):
        means = self.model_.predict(x)[:, None]
        return gaussians(means, np.full_like(means, self.variance_))


def made(name: str, seed: int) -> DensityRegressor:
    """A method by its name, its package already imported."""
    if name == "ridge":
        return RidgeDensity(random_state=seed)
    known, settings = ("bde", TOY) if name == "bde-toy" else (name, {})
    if known == "bdeepnoise":
        settings = {"progress": False}
    model = registry.make(known, **settings, random_state=seed)
    import_module(registry.method(known).package or "deepnoise")
    return model


def splits(name: str, folder: str | None, count: int) -> Iterator[tuple[np.ndarray, ...]]:
    """X, X_test, y, y_test of every split."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        for split in range(count):
            yield tuple(train_test_split(X, y, test_size=0.1, random_state=split))
        return
    data = load_uci(name, folder)
    for split in range(count):
        train, test = data.split(split)
        yield data.X[train], data.X[test], data.y[train], data.y[test]


def judged(method: str, split: int, X, X_test, y, y_test) -> dict[str, Any]:
    """One fit and its scores."""
    model = made(method, split)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    report = model.score_report(X_test, y_test)
    settings = {k: v for k, v in model.get_params().items() if k != "random_state"}
    scores = {name: report[name] for name in SCORES}
    return {"seed": split, "rows": len(X), "settings": settings, **spent, "metrics": scores}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def show(rows: list[dict]) -> None:
    """Means over splits."""
    print("\n| set | method | splits | " + " | ".join(SCORES) + " | s | cpu s |")
    print("|---" * (len(SCORES) + 5) + "|")
    for which in dict.fromkeys((row["set"], row["method"]) for row in rows):
        mine = [row for row in rows if (row["set"], row["method"]) == which]
        cells = [np.mean([row["metrics"][name] for row in mine]) for name in SCORES]
        cells += [np.mean([row[name] for row in mine]) for name in ("seconds", "cpu_seconds")]
        shown = [*which, str(len(mine)), *(f"{cell:.3f}" for cell in cells)]
        print(f"| {' | '.join(shown)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", help="diabetes, or UCI sets")
    parser.add_argument("--data", help="folder of the UCI sets")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=[], help="none: only show the file's means")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines are added here")
    given = parser.parse_args()
    written = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in written]
    done = {(row["method"], row["set"], row["split"]) for row in rows}
    about = {"versions": versions(), "command": shlex.join(["python", *sys.argv])}
    for name in given.sets if given.methods else []:
        for split, parts in enumerate(splits(name, given.data, given.splits)):
            for method in given.methods:
                if (method, name, split) in done:
                    continue
                case = {"method": method, "set": name, "split": split}
                rows.append(case | judged(method, split, *parts) | about)
                with given.out.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
                print(case, rows[-1]["seconds"], rows[-1]["metrics"], flush=True)
    show(rows)


if __name__ == "__main__":
    main()
