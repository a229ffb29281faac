"""Seconds to reach a test NLL, and ESS a second, of several methods: one run, one machine.

    python benchmarks/side_by_side.py --plot docs/images/side_by_side.png --out side_by_side.jsonl

Every method is fitted with rising effort to one split of a UCI set.  Fits that compile programs of
JAX are run twice and the second is timed; what compilation adds is a column of its own.  Methods
whose package is not installed are skipped.
"""

import argparse
import json
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from deepnoise.datasets.uci import load_uci
from deepnoise.inference.diagnostics import ess_bulk
from deepnoise.prediction.metrics import nll
from side_by_side_methods import METHODS, Method, means_of_draws

# Seconds of all threads on a processor are what to compare on a machine that others use too.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
TARGETS = (1.0, 0.5, 0.0)


def timed_fit(method: Method, settings: dict, train, test, clock) -> tuple[float, float, object]:
    """(seconds to a density of the test rows, its NLL, the model)."""
    began = clock()
    model = method.make(**settings, random_state=0).fit(*train)
    score = nll(model.predict_density(test[0]), test[1])
    return clock() - began, score, model


def judge(method: Method, level: int, train, test, clock) -> dict:
    """One fit: seconds, NLL and effective draws of the mean of each test row."""
    settings = method.levels[level]
    seconds, score, model = timed_fit(method, settings, train, test, clock)
    first = seconds
    if method.compiled > min(level, 1):
        seconds, score, model = timed_fit(method, settings, train, test, clock)
    means = means_of_draws(model, test[0])
    sizes = [] if means is None else [ess_bulk(row) for row in means]
    row = {"method": method.label, "settings": settings, "seconds": seconds, "nll": score}
    row |= {"compilation": first - seconds}
    if sizes:
        row |= {"median_ess": float(np.median(sizes)), "least_ess": float(np.min(sizes))}
    return row


def show_table(rows: list[dict]) -> None:
    print("\n| method | " + " | ".join(f"s to NLL {t:g}" for t in TARGETS), end="")
    print(" | best NLL | in s | + compilation s | ESS/s, median row | ESS/s, worst row |")
    print("|---" * (len(TARGETS) + 6) + "|")
    for label in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == label]
        best = min(mine, key=lambda row: row["nll"])
        cells = []
        for target in TARGETS:
            reached = [row["seconds"] for row in mine if row["nll"] <= target]
            cells.append(f"{min(reached):.1f}" if reached else "–")
        cells += [f"{best['nll']:.2f}", f"{best['seconds']:.1f}"]
        compilation = max(row["compilation"] for row in mine)
        cells.append(f"{compilation:.1f}" if compilation else "–")
        for size in ("median_ess", "least_ess"):
            rate = mine[-1].get(size, np.nan) / mine[-1]["seconds"]
            cells.append("–" if np.isnan(rate) else f"{rate:.1f}")
        print(f"| {label} | " + " | ".join(cells) + " |")


def draw_picture(rows: list[dict], title: str, clock: str, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from deepnoise.plots.style import CHAINS, GREY, INK, STYLE

    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        labels = dict.fromkeys(row["method"] for row in rows)
        for label, colour, marker in zip(labels, (*CHAINS, GREY, INK), "osD^vP*X", strict=False):
            mine = [row for row in rows if row["method"] == label]
            points = [row["seconds"] for row in mine], [row["nll"] for row in mine]
            axes.plot(*points, color=colour, marker=marker, markersize=5, label=label)
        axes.set_xscale("log")
        axes.set(xlabel=f"{clock} seconds, compilation apart", ylabel="test NLL", title=title)
        axes.xaxis.set_major_formatter("{x:g}")
        figure.legend(loc="outside right center")
        figure.savefig(path, dpi=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="yacht", help="a UCI set of the paper")
    parser.add_argument("--folder", help="where it lies")
    parser.add_argument("--only", nargs="+", help="packages of methods to run")
    parser.add_argument("--levels", type=int, default=3, help="how many of the levels of effort")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what seconds are")
    parser.add_argument("--out", type=Path, help="JSON lines are written here")
    parser.add_argument("--plot", type=Path, help="a picture is written here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = load_uci(options.set, options.folder)
    train_rows, test_rows = data.split(0)
    train, test = ((data.X[r], data.y[r]) for r in (train_rows, test_rows))
    title = f"{options.set}, split 0: {len(train_rows)} training rows, {len(test_rows)} test rows"
    print(f"{title}; {os.cpu_count()} cores, {options.clock} seconds", flush=True)
    rows = []
    for method in METHODS:
        if options.only and method.package not in options.only:
            continue
        if find_spec(method.package) is None:
            print(f"{method.label}: skipped, {method.package} is not installed", flush=True)
            continue
        for level in range(options.levels):
            rows.append(judge(method, level, train, test, CLOCKS[options.clock]))
            print(json.dumps(rows[-1]), flush=True)
            if options.out:
                options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    show_table(rows)
    if options.plot:
        draw_picture(rows, title, options.clock, options.plot)


if __name__ == "__main__":
    main()
