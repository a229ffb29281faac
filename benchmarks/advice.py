"""What helps chains that have not settled: the demo's data with longer, more and smaller fits.

python benchmarks/advice.py --out docs/results/advice.jsonl
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from deepnoise import BDeepNoiseRegressor

SCORES = ("rmse", "nll", "crps", "coverage_90", "coverage_95")
# Name, settings, and the draws to which the fit is then continued.
TRIED: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("default", {}, (400, 800)),
    ("hidden 10", {"hidden": (10,)}, (400,)),
    ("hidden none", {"hidden": ()}, ()),
    ("8 chains", {"chains": 8}, ()),
]


def row(name: str, model: BDeepNoiseRegressor, seconds: float, X_test, y_test) -> dict:
    found, scores = model.diagnostics_, model.score_report(X_test, y_test)
    return {
        "name": name,
        "s": round(seconds),
        "sweeps": int(model.posterior_.run.t),
        "draws": model.posterior_.run.n_draws,
        "status": found.status,
        "rhat": round(found.max_rhat, 3),
        "within": round(found.max_rhat_within, 3),
        "ess": round(found.min_ess),
        "share": round(found.share_between, 4),
        **{score: round(float(scores[score]), 4) for score in SCORES},
    }


def main(out: Path, **settings: Any) -> None:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    with out.open("a") as file:
        for name, given, longer in TRIED:
            model = BDeepNoiseRegressor(random_state=0, **{**settings, **given})
            began = time.perf_counter()
            model.fit(X, y)
            for draws in (None, *longer):
                if draws is not None:
                    name, began = f"{name.split(' resume')[0]} resume {draws}", time.perf_counter()
                    model.resume(draws)
                found = row(name, model, time.perf_counter() - began, X_test, y_test)
                file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    main(parser.parse_args().out)
