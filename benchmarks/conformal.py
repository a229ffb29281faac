"""Do conformal intervals hold their promise?  Coverage in repeated small problems.

python benchmarks/conformal.py run --out docs/results/conformal.jsonl
python benchmarks/conformal.py table --out docs/results/conformal.jsonl
python benchmarks/conformal.py picture --image docs/images/conformal.png

Each repetition draws a training set and new rows, fits cross-fitted chains and asks for intervals.
A ledger line is the mean of 50 repetitions, of which those that are there are not made again.
"""

import argparse
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

import deepnoise
from deepnoise import BDeepNoiseRegressor

COVERAGE = 0.9
ROWS, NEW, BLOCK = 100, 20, 50
FEW_SWEEPS = {"warmup": 40, "draws": 10, "thin": 1, "paths": 4, "sampler": "gibbs"}
FITS = {"chains": 2, "cross_fit": 2, "progress": False, **FEW_SWEEPS}
# Plain Gibbs sweeps move by noise/√N: with this prior, a few dozen lead somewhere.
PRIOR = {"weight": (5, 5), "bias": (5, 5), "preact": (2, 0.005), "postact": (2, 0.005)}
# The noise of y is held at about 3 % of its standard deviation, whatever the data say.
SURE = PRIOR | {"preact": (5000, 5)}
KINDS = ("model", "plain", "guaranteed", "by group")


@dataclass(frozen=True)
class Problem:
    """y = sin(3 x) + noise(rng, x, group), and a network for it."""

    noise: Callable
    settings: dict


def even(rng, x, _):
    return 0.3 * rng.normal(size=len(x))


def uneven(rng, x, group):
    """Heavy tails, fifteen times as large in the second group."""
    return np.where(group, 1.5, 0.1) * rng.standard_t(1.5, len(x))


PROBLEMS = {
    "right model": Problem(even, {"hidden": (3,), "prior": PRIOR}),
    "line, heavy tails": Problem(uneven, {"hidden": (), "prior": PRIOR}),
    "line, far too sure": Problem(uneven, {"hidden": (), "prior": SURE}),
    "chains of 3 sweeps": Problem(uneven, {"hidden": (3,), "warmup": 2, "draws": 1, "paths": 2}),
}


def drawn(problem: Problem, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, group = rng.uniform(-1, 1, rows), rng.random(rows) < 0.5
    return np.c_[x, group], np.sin(3 * x) + problem.noise(rng, x, group)


def repetition(problem: Problem, seed: int) -> dict[str, list[float]]:
    """Of each kind of interval: share inside of all new rows, of each group, and median width."""
    rng = np.random.default_rng(seed)
    X, y = drawn(problem, ROWS, rng)
    new, outcome = drawn(problem, NEW, rng)
    model = BDeepNoiseRegressor(**FITS | problem.settings, random_state=seed).fit(X, y)
    found = {
        "model": model.predict_interval(new, COVERAGE),
        "plain": model.predict_conformal(new, COVERAGE, guaranteed=False),
        "guaranteed": model.predict_conformal(new, COVERAGE),
        "by group": model.predict_conformal(new, COVERAGE, groups=1),
    }
    return {kind: judged(ends, outcome, new[:, 1]) for kind, ends in found.items()}


def judged(ends: np.ndarray, y: np.ndarray, group: np.ndarray) -> list[float]:
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    shares = [inside[group == g].mean() if (group == g).any() else np.nan for g in (0, 1)]
    return [inside.mean(), *shares, float(np.median(ends[:, 1] - ends[:, 0]))]


def run(out: Path, repetitions: int) -> None:
    held = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(row["problem"], row["first"]) for row in held}
    for first in range(0, repetitions, BLOCK):
        count = min(BLOCK, repetitions - first)
        for name, problem in PROBLEMS.items():
            if (name, first) in known:
                continue
            made = [repetition(problem, seed) for seed in range(first, first + count)]
            kinds = {kind: np.round([found[kind] for found in made], 3).tolist() for kind in KINDS}
            row = {"problem": name, "first": first, "count": count, **versions(), "found": kinds}
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")


def versions() -> dict[str, str]:
    return {"deepnoise": deepnoise.__version__, "jax": jax.__version__, "host": platform.machine()}


def table(out: Path) -> None:
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    print("| problem | interval | all | group 1 | group 2 | median width | repetitions |")
    print("|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row["problem"] for row in rows):
        for kind in KINDS:
            own = [row["found"][kind] for row in rows if row["problem"] == name]
            found = np.array([one for part in own for one in part], float)
            shares = [percent(found[:, i]) for i in range(3)]
            width = f"{np.median(found[:, 3]):.3g}"
            print(f"| {name} | {kind} | {' | '.join(shares)} | {width} | {len(found)} |")


def percent(values: np.ndarray) -> str:
    values = values[~np.isnan(values)]
    return f"{100 * values.mean():.1f} ± {100 * values.std() / np.sqrt(len(values)):.1f}"


def picture(image: Path) -> None:
    """A straight line fitted to outcomes that are none, and both kinds of intervals."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 300)
    y = np.sin(4 * x) + np.where(x > 0.3, 0.5, 0.1) * rng.standard_t(2, 300)
    wrong = {"hidden": (), "chains": 2, "cross_fit": 2, "warmup": 200, "draws": 100}
    model = BDeepNoiseRegressor(**wrong, random_state=0, progress=False).fit(x[:, None], y)
    grid = np.linspace(-1, 1, 201)
    figure, axis = plt.subplots(figsize=(7, 3.6))
    axis.plot(x, y, "o", markersize=2.5, color="0.45", label="outcomes", zorder=1)
    half = np.where(grid > 0.3, "right", "left")
    known = np.where(x > 0.3, "right", "left")
    shown = {
        "model": (model.predict_interval(grid[:, None], COVERAGE), "--", "#0072b2"),
        "guaranteed": (model.predict_conformal(grid[:, None], COVERAGE), "-", "#d55e00"),
        "guaranteed, left and right": (
            model.predict_conformal(grid[:, None], COVERAGE, groups=(known, half)),
            ":",
            "#009e73",
        ),
    }
    for name, (ends, style, colour) in shown.items():
        axis.plot(grid, ends, style, color=colour, label=name)
    handles, names = axis.get_legend_handles_labels()
    kept = dict(zip(names, handles, strict=True))
    axis.legend(kept.values(), kept.keys(), loc="upper left", ncols=2, fontsize=8, frameon=False)
    axis.set(xlabel="x", ylabel="y", ylim=(-4, 5))
    figure.tight_layout()
    figure.savefig(image, dpi=200)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "table", "picture"])
    parser.add_argument("--out", type=Path, default=Path("docs/results/conformal.jsonl"))
    parser.add_argument("--image", type=Path, default=Path("docs/images/conformal.png"))
    parser.add_argument("--repetitions", type=int, default=1000)
    given = parser.parse_args(arguments)
    if given.command == "run":
        run(given.out, given.repetitions)
    elif given.command == "table":
        table(given.out)
    else:
        picture(given.image)


if __name__ == "__main__":
    main()
