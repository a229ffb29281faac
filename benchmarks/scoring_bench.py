"""ScoringBench, a public benchmark of predictive densities: in its own harness, or offline.

All its 97 tables, scored by its own code.  DIR is cloned when it is not there; this needs a
network, and what DIR/requirements.txt lists beside deepnoise:

    python benchmarks/scoring_bench.py --checkout DIR --out results/

Some tables, its folds and most of its scores, with nothing but deepnoise:

    python benchmarks/scoring_bench.py --tables diabetes yacht --out scoring_bench.jsonl

A table is diabetes, a UCI set (--folder), a CSV file, or openml:ID.  Both go on where they stopped.
"""

import argparse
import importlib
import json
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from deepnoise.baselines import registry
from deepnoise.prediction import metrics
from deepnoise.prediction.comparison import one_density, straight_line
from scoring_bench_scores import scores
from scoring_bench_tables import FOLDS, MOST_ROWS, folds, load
from scoring_bench_wrapper import wrapper_class

ADDRESS = "https://github.com/jonaslandsgesell/ScoringBench.git"
METHODS = ("bdeepnoise", "de", "bart", "gp", "ngboost", "line", "no_inputs")
SHOWN = ("crps", "nll", "interval_score_95", "coverage_95")
PACKAGES = ("deepnoise", "jax", "numpy", "scikit-learn")


class Line(BaseEstimator):
    """A ridge line with one variance."""

    def fit(self, X, y):
        self.data_ = X, y
        return self

    def predict_density(self, X):
        return straight_line(*self.data_, X)


class NoInputs(Line):
    """One density for all rows."""

    def predict_density(self, X):
        return one_density(self.data_[1], len(X))


def made(name: str, settings: dict):
    """An estimator by its name; the settings are B-DeepNoise's."""
    if name in ("line", "no_inputs"):
        return Line() if name == "line" else NoInputs()
    own = {"progress": False, **settings} if name == "bdeepnoise" else {}
    return registry.make(name, random_state=0, **own)


def judged(model, X, X_test, y, y_test) -> dict:
    """One fit, as ScoringBench times it, and its scores."""
    wrapper = wrapper_class()(model)
    began = time.perf_counter()
    wrapper.fit(X, y)
    fitted = time.perf_counter()
    density = wrapper.density(X_test)
    found = wrapper.distribution(density)
    times = {"fit_s": fitted - began, "predict_s": time.perf_counter() - fitted}
    exact = {"nll": metrics.nll(density, y_test), "crps_exact": metrics.crps(density, y_test)}
    return times | {"scores": scores(found, y_test) | exact}


def run_offline(given: argparse.Namespace) -> None:
    """Fits that the ledger has not, and a table of means."""
    rows = [r for r in read(given.out) if r["asked"] == asked(r["method"], given)]
    done = {(r["table"], r["method"], r["fold"]) for r in rows}
    about = {"versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES}}
    about["command"] = shlex.join(["python", "benchmarks/scoring_bench.py", *sys.argv[1:]])
    methods = [name for name in given.methods if usable(name)]
    for table in given.tables:
        X, y = load(table, given.folder)
        for fold, parts in enumerate(folds(X, y, given.folds, given.rows)):
            for name in methods:
                if (table, name, fold) in done:
                    continue
                row = {"table": table, "method": name, "fold": fold, "rows": len(parts[0])}
                row["asked"] = asked(name, given)
                rows.append(row | judged(made(name, given.settings), *parts) | about)
                with given.out.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
                print(table, name, fold, f"crps {rows[-1]['scores']['crps']:.4g}", flush=True)
    show(chosen(rows, given.tables, given.methods))


def asked(name: str, given: argparse.Namespace) -> dict:
    """What makes fits comparable; rows of the ledger that were asked for otherwise are left be."""
    settings = given.settings if name == "bdeepnoise" else {}
    return {"most_rows": given.rows, "settings": settings}


def usable(name: str) -> bool:
    """Whether a method's package is here; says so if not."""
    missing = name in registry.METHODS and registry.method(name).missing
    if missing:
        print(f"{name}: skipped. {missing}", flush=True)
    return not missing


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def chosen(rows: list[dict], tables: list[str], methods: list[str]) -> list[dict]:
    """Rows in the order of the names asked for."""
    kept = [r for r in rows if r["table"] in tables and r["method"] in methods]
    return sorted(kept, key=lambda r: (tables.index(r["table"]), methods.index(r["method"])))


def show(rows: list[dict]) -> None:
    """Means over folds; the rank by CRPS among all methods, averaged over tables."""
    print("\n| table | method | folds | " + " | ".join(SHOWN) + " |")
    print("|---" * (len(SHOWN) + 3) + "|")
    cases = list(dict.fromkeys((r["table"], r["method"]) for r in rows))
    for table, name in cases:
        mine = [r for r in rows if (r["table"], r["method"]) == (table, name)]
        cells = [np.mean([r["scores"][score] for r in mine]) for score in SHOWN]
        print(f"| {table} | {name} | {len(mine)} | " + " | ".join(f"{c:.3g}" for c in cells) + " |")
    tables, names = (list(dict.fromkeys(part)) for part in zip(*cases, strict=True))
    means = [
        [crps_of(rows, table, name) for name in names]
        for table in tables
        if {(table, name) for name in names} <= set(cases)
    ]
    if means:
        places = rankdata(means, axis=1).mean(axis=0)
        shown = ", ".join(f"{n} {p:.2f}" for p, n in sorted(zip(places, names, strict=True)))
        print(f"\nMean rank by CRPS over {len(means)} tables: {shown}")


def crps_of(rows: list[dict], table: str, name: str) -> float:
    mine = [r for r in rows if (r["table"], r["method"]) == (table, name)]
    return float(np.mean([r["scores"]["crps"] for r in mine]))


def run_harness(given: argparse.Namespace) -> None:
    """Every table of ScoringBench in its own harness; what its folder has already is kept."""
    if not given.checkout.exists():
        command = ["git", "clone", "--recurse-submodules", ADDRESS, str(given.checkout)]
        subprocess.run(command, check=True)
    sys.path.insert(0, str(given.checkout.resolve()))
    config, data, runner, wrappers = harness(given.checkout)
    wrapper = wrapper_class(wrappers.ProbabilisticWrapper, wrappers.quantiles_to_distribution)
    models = {
        f"{name}_v{version('deepnoise').replace('.', '_')}": lambda name=name: wrapper(
            made(name, given.settings)
        )
        for name in given.methods
        if usable(name)
    }
    tables = data.validate_datasets(data.get_DATASETS_CONFIG())
    runner.run_benchmark(
        tables[given.first :][: given.count],
        models,
        given.out,
        n_folds=given.folds,
        seed=config.SEED,
        sample_size=given.rows,
    )


def harness(checkout: Path) -> list:
    """Its modules: config, datasets, runner, wrappers."""
    names = ("config", "datasets", "runner", "wrappers")
    try:
        return [importlib.import_module(f"scoringbench.univariate.{name}") for name in names]
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"{checkout}: {error}. Is it a checkout of ScoringBench? If so, "
            f"pip install -r {checkout}/requirements.txt openml"
        ) from error


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--checkout", type=Path, help="folder of ScoringBench")
    where.add_argument("--tables", nargs="+", help="tables to score here")
    parser.add_argument("--out", type=Path, required=True, help="ledger, or folder of the harness")
    parser.add_argument("--methods", nargs="+", help="default: ours; with --tables, all")
    parser.add_argument("--settings", type=json.loads, default={}, help="B-DeepNoise's, as JSON")
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="at most, of all folds")
    parser.add_argument("--folder", help="of the UCI sets")
    parser.add_argument("--first", type=int, default=0, help="first table of the harness")
    parser.add_argument("--count", type=int, help="how many tables of the harness")
    given = parser.parse_args(arguments)
    given.methods = given.methods or (METHODS if given.tables else ("bdeepnoise",))
    return given


def main(arguments: list[str] | None = None) -> None:
    given = parsed(arguments)
    if given.tables:
        run_offline(given)
    else:
        run_harness(given)


if __name__ == "__main__":
    main()
