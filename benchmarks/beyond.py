"""Missing inputs, outcomes seen through windows, and classes: how much the model's own way gains.

    PYTHONPATH=src python benchmarks/beyond.py missing --data FOLDER
    PYTHONPATH=src python benchmarks/beyond.py censored --data FOLDER
    PYTHONPATH=src python benchmarks/beyond.py classes

Each prints its versions, settings and Markdown tables, and draws a picture into ``--images``.
A fit that the ledger ``--out`` holds is not made again.
"""

import argparse
import os
import time
from importlib.metadata import version
from pathlib import Path

import beyond_censored
import beyond_classes
import beyond_missing
import deepnoise
from beyond_shared import SETTINGS

STUDIES = {
    "missing": (beyond_missing, 3, "yacht,boston,energy"),
    "censored": (beyond_censored, 3, "yacht,boston"),
    "classes": (beyond_classes, 3, "iris,wine,breast_cancer,digits"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--data", default=None, help="folder of the UCI sets")
    parser.add_argument("--sets", default=None, help="names with commas between them")
    parser.add_argument("--splits", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("beyond.jsonl"), help="ledger of fits")
    parser.add_argument("--images", type=Path, default=Path("docs/images"))
    args = parser.parse_args()
    study, splits, sets = STUDIES[args.study]
    args.splits, args.sets = args.splits or splits, (args.sets or sets).split(",")
    versions = [f"{name} {version(name)}" for name in ("jax", "numpy", "scikit-learn")]
    print("deepnoise", deepnoise.__version__, *versions, f"cpus {os.cpu_count()}")
    print(f"{args.study} sets {args.sets} splits {args.splits} seed {args.seed} {SETTINGS}")
    began = time.perf_counter()
    study.run(args)
    print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
