"""How long a user waits: a default fit with nothing compiled, with programs cached, and folds.

    python benchmarks/waiting.py --out waiting.jsonl

scikit-learn's diabetes, 442 rows of 10 columns.  Every fit is a process of its own; the first has
an empty cache of compiled programs, which the second finds.  The third fits two folds of a
cross-validation in one process and times the second.  "Short" is 200 sweeps and 200 draws.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEED = 0
SHORT = {"warmup": 200, "draws": 200, "thin": 1}
FITS: dict[str, dict] = {"default": {}, "short": SHORT}


def fitted(settings: dict, rows: slice) -> dict:
    """Seconds to the first draw, of the fit and of intervals after it, in this process."""
    began = time.perf_counter()
    from sklearn.datasets import load_diabetes

    from deepnoise import BDeepNoiseRegressor

    X, y = load_diabetes(return_X_y=True)
    first: list[float] = []

    def seen(done, total, posterior):  # noqa: ARG001
        first.append(time.perf_counter() - began)

    model = BDeepNoiseRegressor(random_state=SEED, progress=seen, **settings).fit(X[rows], y[rows])
    spent = time.perf_counter() - began
    model.predict_interval(X[:100])
    run = model.posterior_.run
    return {
        "first_draw": first[0],
        "fit": spent,
        "interval": time.perf_counter() - began - spent,
        "sweeps": run.t,
        "rhat": model.diagnostics_.max_rhat,
    }


def child(settings: dict, what: str) -> None:
    if what == "fold":
        fitted(settings, slice(88, None))
        print(json.dumps(fitted(settings, slice(0, 353))))
    else:
        print(json.dumps(fitted(settings, slice(None))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON lines are added here")
    parser.add_argument("--only", choices=FITS, help="one of the two fits")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child[0]), options.child[1])
        return
    from rivals import versions  # here: a child's clock counts its imports

    load = os.getloadavg()[0]
    for name, settings in FITS.items():
        if options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as cache:
            for what in ("cold", "cached", "fold"):
                words = [sys.executable, __file__, "--child", json.dumps(settings), what]
                began = time.perf_counter()
                told = subprocess.run(
                    words,
                    check=True,
                    capture_output=True,
                    text=True,
                    env={**os.environ, "XDG_CACHE_HOME": cache},
                )
                row = {"fit_of": name, "what": what, **json.loads(told.stdout.splitlines()[-1])}
                row |= {"process": time.perf_counter() - began, "cores": os.cpu_count()}
                row |= {"load_before": load, "seed": SEED, "versions": versions()}
                print(json.dumps(row), flush=True)
                if options.out:
                    with options.out.open("a") as ledger:
                        ledger.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
