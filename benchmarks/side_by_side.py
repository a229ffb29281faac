"""Seconds to reach a test NLL, and ESS a second, of several methods: one run, one machine.

    python benchmarks/side_by_side.py yacht diabetes --plot side_by_side.png --out rows.jsonl

Every method is fitted with rising effort to the first splits of each data set, those of
``rivals.py``.  Fits that compile programs of JAX are run twice on the first split, and the second
is timed; what compilation adds is a column of its own.  Methods whose package is not installed are
skipped.  Rows that the file has are not made again, so a method that needs an environment of its
own can be added from there.
"""

import argparse
import json
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import jax
import numpy as np

from deepnoise.inference.diagnostics import ess_bulk
from deepnoise.prediction.metrics import nll
from rivals import splits, versions
from side_by_side_methods import METHODS, Method, means_of_draws

# Seconds of all threads on a processor are what to compare on a machine that others use too.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
OURS = "deepnoise"


def timed_fit(method: Method, settings: dict, train, test, clock) -> tuple[float, float, object]:
    """(seconds to a density of the test rows, its NLL, the model)."""
    began = clock()
    model = method.make(**settings, random_state=0).fit(*train)
    score = nll(model.predict_density(test[0]), test[1])
    return clock() - began, score, model


def judge(method: Method, level: int, split: int, train, test, clock) -> dict:
    """One fit: seconds, NLL and effective draws of the mean of each test row."""
    settings = method.levels[level]
    seconds, score, model = timed_fit(method, settings, train, test, clock)
    first = seconds
    if method.compiled == 2 or (method.compiled == 1 and split == level == 0):
        seconds, score, model = timed_fit(method, settings, train, test, clock)
    means = means_of_draws(model, test[0])
    sizes = [] if means is None else [ess_bulk(row) for row in means]
    row = {"method": method.label, "level": level, "split": split, "rows": len(train[0])}
    row |= {"settings": settings, "seconds": seconds, "nll": score, "compilation": first - seconds}
    if sizes:
        row |= {"median_ess": float(np.median(sizes)), "least_ess": float(np.min(sizes))}
    return row


def curves(rows: list[dict], name: str) -> dict[str, list[tuple[float, float]]]:
    """(seconds, NLL) of each effort of each method on one set, means over splits."""
    found: dict[str, list[tuple[float, float]]] = {}
    for label in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if (row["set"], row["method"]) == (name, label)]
        for level in sorted({row["level"] for row in mine}):
            point = [(row["seconds"], row["nll"]) for row in mine if row["level"] == level]
            found.setdefault(label, []).append(tuple(np.mean(point, axis=0)))
    return found


def best(points: list[tuple[float, float]]) -> tuple[float, float]:
    return min(points, key=lambda point: point[1])


def show_table(rows: list[dict], name: str) -> None:
    """For each rival: its best NLL, when it had it, and when ours was as good."""
    found = curves(rows, name)
    splits_of = len({row["split"] for row in rows if row["set"] == name})
    print(f"\n{name}, splits: {splits_of}\n")
    print("| method | best NLL | in s | ours as good in s | + compilation s | ESS/s, median row |")
    print("|---|---|---|---|---|---|")
    for label, points in found.items():
        seconds, score = best(points)
        as_good = [t for t, ours in found.get(OURS, []) if ours <= score]
        mine = [row for row in rows if (row["set"], row["method"]) == (name, label)]
        compilation = max(row["compilation"] for row in mine)
        rates = [row["median_ess"] / row["seconds"] for row in mine if "median_ess" in row]
        cells = (
            f"{score:.2f}",
            f"{seconds:.1f}",
            f"{min(as_good):.1f}" if as_good else "not reached",
            f"{compilation:.1f}" if compilation else "–",
            f"{np.median(rates):.1f}" if rates else "–",
        )
        print(f"| {label} | " + " | ".join(cells) + " |")


def draw_picture(rows: list[dict], clock: str, path: Path) -> None:
    """A panel for each data set, a line for each method."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from deepnoise.plots.style import CHAINS, GREY, INK, STYLE

    names = list(dict.fromkeys(row["set"] for row in rows))
    labels = list(dict.fromkeys(row["method"] for row in rows))
    looks = dict(zip(labels, zip((*CHAINS, GREY, INK), "osD^vP*X", strict=False), strict=False))
    columns = min(3, len(names))
    with mpl.rc_context(STYLE):
        size = (3.1 * columns + 0.6, 2.7 * -(-(len(names) + 1) // columns))
        figure, grid = plt.subplots(
            -(-(len(names) + 1) // columns), columns, figsize=size, layout="constrained"
        )
        panels = np.ravel(grid)
        for axes, name in zip(panels, names, strict=False):
            found = curves(rows, name)
            for label, points in found.items():
                colour, marker = looks[label]
                wide = 2.2 if label == OURS else 1.0
                look = {"color": colour, "marker": marker, "markersize": 4, "linewidth": wide}
                axes.plot(*zip(*points, strict=True), **look, zorder=3 if label == OURS else 2)
            scores = [best(points)[1] for points in found.values()]
            low, high = min(scores), np.quantile(scores, 0.8)  # lines may leave at the top
            axes.set_ylim(low - 0.15 * (high - low), high + 0.6 * (high - low))
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            mine = [row for row in rows if row["set"] == name]
            axes.set_title(f"{name}, {mine[0]['rows']} rows")
        for axes in panels[::columns]:
            axes.set_ylabel("test NLL")
        for axes in panels[max(len(names) - columns, 0) : len(names)]:
            axes.set_xlabel(f"{clock} seconds, compilation apart")
        for axes in panels[len(names) :]:
            axes.axis("off")
        for label in labels:
            colour, marker = looks[label]
            wide = 2.2 if label == OURS else 1.0
            panels[-1].plot([], [], color=colour, marker=marker, linewidth=wide, label=label)
        panels[-1].legend(loc="center", frameon=False)
        figure.savefig(path, dpi=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["yacht"], help="UCI sets, or diabetes")
    parser.add_argument("--folder", help="where UCI sets lie")
    parser.add_argument("--splits", type=int, default=1, help="how many of the first splits")
    parser.add_argument("--only", nargs="+", help="packages of methods to run")
    parser.add_argument("--levels", type=int, default=3, help="how many of the levels of effort")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what seconds are")
    parser.add_argument("--out", type=Path, help="JSON lines are added here")
    parser.add_argument("--plot", type=Path, help="a picture is written here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    if options.out and options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {(row["set"], row["method"], row["level"], row["split"]) for row in rows}
    print(f"{os.cpu_count()} cores, {options.clock} seconds", flush=True)
    chosen = []
    for method in METHODS:
        if options.only and method.package not in options.only:
            continue
        if find_spec(method.package) is None:
            print(f"{method.label}: skipped, {method.package} is not installed", flush=True)
            continue
        chosen.append(method)
    for name in options.sets:
        # Compiled programs are memory maps, of which a process may have 65,530 only.
        jax.clear_caches()
        for split, (X, X_test, y, y_test) in enumerate(
            splits(name, options.folder, options.splits)
        ):
            for method in chosen:
                for level in range(options.levels):
                    if (name, method.label, level, split) in done:
                        continue
                    given = (X, y), (X_test, y_test), CLOCKS[options.clock]
                    row = {"set": name, "clock": options.clock, "versions": versions()}
                    rows.append(row | judge(method, level, split, *given))
                    print(json.dumps(rows[-1]), flush=True)
                    if options.out:
                        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in dict.fromkeys(row["set"] for row in rows):
        show_table(rows, name)
    if options.plot:
        draw_picture(rows, options.clock, options.plot)


if __name__ == "__main__":
    main()
