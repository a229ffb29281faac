"""The pictures and numbers of docs/how_to/several_outcomes.md.

PYTHONPATH=src python benchmarks/beyond_outcomes.py --out docs/images [conditional linnerud ...]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.datasets import load_linnerud

from deepnoise import BDeepNoiseRegressor, plots
from deepnoise.plots.style import BLUE, CHAINS, INK, ORANGE, new_figure, paper_style

SETTINGS = {"warmup": 400, "draws": 100, "random_state": 0}


def vee(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """y0 = x + 0.7 e0 and y1 = |y0| + 0.2 e1: once y0 is known, x says nothing more of y1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, 1))
    y0 = x[:, 0] + 0.7 * rng.normal(size=rows)
    return x, np.stack([y0, np.abs(y0) + 0.2 * rng.normal(size=rows)], axis=1)


def conditional() -> object:
    model = BDeepNoiseRegressor(**SETTINGS).fit(*vee(600, seed=0))
    return joint_picture(model)


@paper_style
def joint_picture(model: BDeepNoiseRegressor) -> object:
    grid = np.linspace(-2.2, 2.6, 161)
    density = model.predict_density([[0.0]])
    figure, axes = new_figure((6.4, 2.7), 1, 2)
    corners = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    joint = density.pdf_grid(corners).reshape(len(grid), len(grid))
    axes[0, 0].contourf(grid, grid, joint, levels=12, cmap="Blues")
    axes[0, 0].set(title="joint density at x = 0", xlabel="y0", ylabel="y1")
    axis = axes[0, 1]
    axis.plot(grid, density.marginal(1).pdf_grid(grid)[0], color=INK, label="y1 | x = 0")
    for value, colour in ((0.0, ORANGE), (1.0, BLUE)):
        found = density.conditional({0: value}).pdf_grid(grid)[0]
        truth = stats.norm.pdf(grid, abs(value), 0.2)
        axis.plot(grid, found, color=colour, label=f"y1 | x = 0, y0 = {value:g}")
        axis.plot(grid, truth, color=colour, linewidth=0.8, linestyle=(0, (4, 3)))
        axes[0, 0].axvline(value, color=colour, linewidth=1.0)
        gap = np.trapezoid(np.abs(found - truth), grid) / 2
        print(f"total variation from the true p(y1 | y0 = {value:g}, x = 0): {gap:.3f}")
    axis.set(title="dashed: truth", xlabel="y1", xlim=(-2.6, 2.2), ylim=(0, None))
    axis.legend(fontsize=7, loc="upper left")
    return figure


def linnerud() -> object:
    data = load_linnerud(as_frame=True)
    model = BDeepNoiseRegressor(**{"hidden": (5,), **SETTINGS})
    found = model.select_outcomes(data.data, data.target, folds=20)
    print(found)
    return plots.outcome_skill(found)


def parts() -> object:
    rng = np.random.default_rng(0)
    x = np.sort(np.r_[rng.uniform(-2, -0.3, 150), rng.uniform(0.6, 2, 150)])[:, None]
    y = np.sin(2 * x[:, 0]) + np.where(x[:, 0] < -0.8, 0.5, 0.1) * rng.normal(size=300)
    model = BDeepNoiseRegressor(**SETTINGS).fit(x, y)
    grid = np.linspace(-2.2, 2.2, 60)[:, None]
    variance, entropy = model.decompose(grid), model.decompose_entropy(grid)
    ratio = variance.bounds.sum() / variance.aleatoric.max()
    print(f"bound of Theorem 3: {ratio:.1f} times the largest noise variance of a row")
    for name, at in (("noisy", -1.5), ("quiet", 1.5), ("gap", 0.15)):
        n = int(np.argmin(np.abs(grid[:, 0] - at)))
        share = variance.epistemic[n] / (variance.epistemic[n] + variance.aleatoric[n])
        print(
            f"{name:6} x = {at:5.2f}: noise sd {variance.aleatoric[n] ** 0.5:.2f}, epistemic share "
            f"of the variance {share:.2f}, of the entropy {entropy.epistemic[n]:.2f} nats"
        )
    return plots.uncertainty_parts(variance, entropy, grid[:, 0], xlabel="x")


def levels() -> object:
    """Three kinds that lie apart, and a fourth that was never seen."""
    rng = np.random.default_rng(0)
    kind, dose = rng.choice(["a", "b", "c"], 240, p=[0.5, 0.3, 0.2]), rng.uniform(-1, 1, 240)
    y = np.select([kind == "a", kind == "b"], [-1.0, 0.5], 2.0) + 0.5 * dose
    train = pd.DataFrame({"kind": kind, "dose": dose})
    model = BDeepNoiseRegressor(**{"hidden": (10,), **SETTINGS})
    model.fit(train, y + 0.2 * rng.normal(size=240))
    new = pd.DataFrame({"kind": ["a", "b", "c", "new"], "dose": [0.0, 0.0, 0.0, 0.0]})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        density = model.predict_density(new)
    print(*(warning.message for warning in said), sep="\n")
    low, high = density.interval(0.9).T
    print("width of 90 % intervals:", dict(zip(new["kind"], (high - low).round(2), strict=True)))
    return level_picture(density, list(new["kind"]))


@paper_style
def level_picture(density, names: list[str]) -> object:
    grid = np.linspace(-2.5, 5.5, 401)
    figure, axes = new_figure((4.8, 2.6), 1, 1)
    for name, pdf, colour in zip(names, density.pdf_grid(grid), CHAINS, strict=False):
        known = name != "new"
        label = f"kind {name}" if known else "a kind not seen before"
        axes[0, 0].plot(grid, pdf, color=colour if known else INK, label=label)
    axes[0, 0].set(xlabel="y", ylabel="density", ylim=(0, None))
    axes[0, 0].legend(fontsize=7)
    return figure


PICTURES = {"conditional": conditional, "linnerud": linnerud, "parts": parts, "levels": levels}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PICTURES))
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    chosen = parser.parse_args()
    for name in chosen.names:
        PICTURES[name]().savefig(chosen.out / f"outcomes-{name}.png", dpi=220)


if __name__ == "__main__":
    main()
