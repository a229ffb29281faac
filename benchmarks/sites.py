"""Sites that come later: do intervals hold there, and what do a few rows of a site gain?

    PYTHONPATH=src python benchmarks/sites.py make --out docs/results/sites.jsonl
    PYTHONPATH=src python benchmarks/sites.py show --out docs/results/sites.jsonl \
        --image docs/images/sites.png

Data are simulated: sites differ in level and in spread.  ``make`` fits four ways to the same rows
and judges them on rows of the sites of the fit and on rows of other sites; it adds a line to the
ledger for every data set.  ``show`` prints the means over data sets and draws one of them.
"""

import argparse
import json
import time
import warnings
from importlib.metadata import version
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from deepnoise import BDeepNoiseRegressor
from deepnoise.prediction import metrics

SETTINGS = {"hidden": (8,), "chains": 4, "warmup": 300, "draws": 100, "thin": 2, "progress": False}
# Sites of the fit, rows of each, sites that come later, and rows of each to adapt to.
SITES, ROWS, LATER, KNOWN = 20, 15, 20, 10
SIZES = (SITES, 5)
LEVEL, SPREAD, NOISE = 1.0, 0.3, 0.5


def simulated(seed: int, sites: int = SITES, rows: int = ROWS, later: int = LATER):
    """Rows to fit, rows of the same sites, and rows of other sites: (X, y) each."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0, LEVEL, sites + later)
    noise = NOISE * np.exp(rng.normal(0, SPREAD, sites + later))

    def drawn(numbers):
        age = rng.uniform(-1, 1, len(numbers))
        y = np.sin(2 * age) + level[numbers] + noise[numbers] * rng.normal(size=len(numbers))
        names = [f"s{number:02d}" for number in numbers]
        return pd.DataFrame({"age": age, "site": names}), y

    there, others = np.arange(sites), np.arange(sites, sites + later)
    return tuple(drawn(np.repeat(part, rows)) for part in (there, there, others))


def judged(density, y) -> dict[str, float]:
    low, high = density.interval(0.9).T
    return {
        "coverage": float(np.mean((low <= y) & (y <= high))),
        "width": float(np.mean(high - low)),
        "nll": float(metrics.nll(density, y)),
    }


def adapted(model, X, y, known: int) -> dict[str, float]:
    """Of rows beyond the first ``known`` of each site, by a model adapted to those."""
    found = []
    for name in X["site"].unique():
        own = (X["site"] == name).to_numpy()
        first = own & (np.cumsum(own) <= known)
        density = model.adapt(X[first], y[first]).predict_density(X[own & ~first])
        found.append(judged(density, y[own & ~first]))
    return {name: float(np.mean([part[name] for part in found])) for name in found[0]}


def compared(seed: int, settings=SETTINGS, known: int = KNOWN, **sizes) -> dict:
    """Every method on one data set."""
    (X, y), same, later = simulated(seed, **sizes)
    found = {}
    ways = {
        "sites": (X, {"sites": "site"}),
        "one-hot": (X, {}),
        "no column": (X[["age"]], {}),
    }
    for name, (rows, more) in ways.items():
        model = BDeepNoiseRegressor(**settings, **more, random_state=seed).fit(rows, y)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X: not there when fitting")
            found[name] = {
                "same": judged(model.predict_density(same[0][rows.columns]), same[1]),
                "later": judged(model.predict_density(later[0][rows.columns]), later[1]),
            }
        if name == "sites":
            found["adapted"] = {"later": adapted(model, *later, known)}
    return found


def read(out: Path) -> list[dict]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def make(out: Path, sets: int) -> None:
    versions = {name: version(name) for name in ("jax", "numpy", "scikit-learn")}
    known = [(row["sites"], row["seed"]) for row in read(out)]
    for sites, seed in product(SIZES, range(sets)):
        if (sites, seed) in known:
            continue
        began = time.perf_counter()
        found = compared(seed, sites=sites)
        seconds = round(time.perf_counter() - began, 1)
        row = {"sites": sites, "seed": seed, "seconds": seconds, **versions}
        with out.open("a") as file:
            file.write(json.dumps({**row, "settings": SETTINGS, "found": found}) + "\n")
        print(sites, seed, seconds, json.dumps(found), flush=True)


def show(out: Path, image: Path | None) -> None:
    print("| sites | method | rows | coverage of 90 % | width | nll |\n|---|---|---|---|---|---|")
    for sites in SIZES:
        rows = [row["found"] for row in read(out) if row["sites"] == sites]
        for method, part in [(m, part) for m in (rows or [{}])[0] for part in rows[0][m]]:
            means = [
                f"{np.mean([row[method][part][name] for row in rows]):.2f}"
                for name in ("coverage", "width", "nll")
            ]
            print(f"| {sites} | {method} | {part} | {' | '.join(means)} |")
    if image is not None:
        draw(image)


def draw(image: Path) -> None:
    """Intervals at one place for sites of the fit, one that comes later, and it adapted."""
    from matplotlib.figure import Figure

    (X, y), _, (new, z) = simulated(0)
    model = BDeepNoiseRegressor(**SETTINGS, sites="site", random_state=0).fit(X, y)
    own = (new["site"] == new["site"].iloc[0]).to_numpy()
    first = own & (np.cumsum(own) <= KNOWN)
    fitted = model.adapt(new[first], z[first])
    names = [*sorted(X["site"].unique()), new["site"].iloc[0]]
    at = pd.DataFrame({"age": 0.0, "site": names})
    before, after = (m.predict_quantiles(at, (0.05, 0.5, 0.95)) for m in (model, fitted))
    figure = Figure(figsize=(7, 3.6), dpi=200, layout="constrained")
    axes = figure.subplots()
    bars = [*before, after[-1]]
    colours = ["#4477aa"] * SITES + ["#ee6677", "#228833"]
    for place, (bar, colour) in enumerate(zip(bars, colours, strict=True)):
        x = place + 2.0 * max(place - SITES + 1, 0)
        axes.plot([x, x], bar[[0, 2]], color=colour, lw=4, solid_capstyle="round")
        axes.plot(x, bar[1], "o", color="white", ms=3)
    ticks = SITES / 2, SITES + 2, SITES + 5
    axes.set_xticks(ticks, ["20 sites of the fit", "new site", "adapted"])
    axes.set_ylabel("90 % interval of y")
    figure.savefig(image)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("make", "show"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--image", type=Path)
    parser.add_argument("--sets", type=int, default=4)
    args = parser.parse_args()
    if args.what == "make":
        make(args.out, args.sets)
    else:
        show(args.out, args.image)


if __name__ == "__main__":
    main()
