"""How long a user waits: a default fit with nothing compiled, with programs cached, and folds.

    python benchmarks/waiting.py --out waiting.jsonl
    python benchmarks/waiting.py --out waiting.jsonl --tables 2000x20 10000x10

scikit-learn's diabetes, 442 rows of 10 columns.  Every fit is a process of its own; the first has
an empty cache of compiled programs, which the second finds.  The third fits two folds of a
cross-validation in one process and times the second.  "Short" is 200 sweeps and 200 draws.
``--tables`` are made, of rows x columns, with a curve and noise that grows along it; a default fit
of each, with programs cached, or with ``--sweeps`` one of so many.
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


def made(name: str):
    """A table of "rows x columns"."""
    import numpy as np

    rows, columns = map(int, name.split("x"))
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(rows, columns))
    noise = 0.2 * np.exp(0.5 * X[:, 1]) * rng.normal(size=rows)
    return X, np.tanh(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + noise


def fitted(settings: dict, rows: slice, table: str | None = None) -> dict:
    """Seconds to the first draw, of the fit and of intervals after it, in this process."""
    began = time.perf_counter()
    from sklearn.datasets import load_diabetes

    from deepnoise import BDeepNoiseRegressor
    from deepnoise.inference.kernels import REST

    X, y = made(table) if table else load_diabetes(return_X_y=True)
    times: list[tuple[int, float]] = []

    def seen(done, total, posterior):  # noqa: ARG001
        times.append((done, time.perf_counter() - began))

    model = BDeepNoiseRegressor(random_state=SEED, progress=seen, **settings).fit(X[rows], y[rows])
    spent = time.perf_counter() - began
    model.predict_interval(X[:100])
    run, plan, steps = model.posterior_.run, model.posterior_.plan, model.posterior_.steps
    (first, start), (last, end) = next(t for t in times if t[0] >= plan.before), times[-1]
    return {
        "first_draw": times[0][1],
        "fit": spent,
        "interval": time.perf_counter() - began - spent,
        "sweeps": run.t,
        "steps": steps,
        # The rest of a sweep costs about as much as REST steps.
        "ms_a_step": 1e3 * (end - start) / max(last - first, 1) / (steps + REST),
        "verdict": model.diagnostics_.verdict,
        "rhat": model.diagnostics_.max_rhat,
    }


def child(settings: dict, what: str) -> None:
    if what == "fold":
        fitted(settings, slice(88, None))
        print(json.dumps(fitted(settings, slice(0, 353))))
    elif "x" in what:
        fitted(SHORT | {"warmup": 2, "draws": 2}, slice(None), what)
        print(json.dumps(fitted(settings, slice(None), what)))
    else:
        print(json.dumps(fitted(settings, slice(None))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON lines are added here")
    parser.add_argument("--only", choices=FITS, help="one of the two fits")
    parser.add_argument("--tables", nargs="+", help="made tables of rows x columns instead")
    parser.add_argument("--sweeps", type=int, help="half of them warm-up; for --tables")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child[0]), options.child[1])
        return
    from rivals import versions  # here: a child's clock counts its imports

    load = os.getloadavg()[0]
    fits = FITS
    if options.tables:
        half = options.sweeps and options.sweeps // 2
        short = {"warmup": half, "draws": half, "thin": 1}
        fits = {f"{options.sweeps} sweeps": short} if half else {"default": {}}
    for name, settings in fits.items():
        if options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as cache:
            for what in options.tables or ("cold", "cached", "fold"):
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
