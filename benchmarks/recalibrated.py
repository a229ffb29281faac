"""What recalibration buys: scores of default fits before it and after, on the UCI splits.

python benchmarks/recalibrated.py yacht --data FOLDER --splits 10 --out recalibrated.jsonl

A fifth of the training rows is held out of the fit, for the recalibration.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from deepnoise import BDeepNoiseRegressor
from deepnoise.datasets.uci import UciSet, load_uci


def row(data: UciSet, split: int, settings: dict[str, Any]) -> dict:
    """Scores of a split, and by how much its densities were stretched."""
    train, test = data.split(split)
    order = np.random.default_rng(split).permutation(train)
    held, rest = np.split(order, [len(order) // 5])
    model = BDeepNoiseRegressor(random_state=split, progress=False, **settings)
    model.fit(data.X[rest], data.y[rest])
    before = model.score_report(data.X[test], data.y[test])
    model.recalibrate(data.X[held], data.y[held])
    after = model.score_report(data.X[test], data.y[test])
    return {"split": split, "stretch": model.stretch_, "before": before, "after": after}


def main(**settings: Any) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set")
    parser.add_argument("--data", default=None)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    data = load_uci(given.set, given.data)
    with given.out.open("a") as out:
        for split in range(given.splits):
            out.write(json.dumps({"set": given.set, **row(data, split, settings)}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
