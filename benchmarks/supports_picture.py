"""The picture of docs/how_to/support.md: positive, counted and often-zero outcomes.

python benchmarks/supports_picture.py --out docs/images/support.png
"""

import argparse
from pathlib import Path

import numpy as np

from deepnoise import BDeepNoiseRegressor, plots
from deepnoise.prediction.density.derived import smoothed
from supports import SETTINGS, STUDIES, drawn

ROWS = 400


def fitted(name: str, settings: dict, rows: int, told: bool = True) -> tuple:
    X, y, _ = drawn(STUDIES[name], 1000, rows)
    given = STUDIES[name].support if told else {}
    return BDeepNoiseRegressor(**settings, **given, random_state=0).fit(X, y), X, y


def compared(axis, settings: dict, rows: int) -> None:
    """One row's density with the support, without it, and the law."""
    grid = np.linspace(-1.0, 4.0, 500)
    (model, X, _), (plain, _, _) = (fitted("positive", settings, rows, t) for t in (True, False))
    row = X.iloc[[int(np.argmin(X["a"] + X["b"]))]]
    law = STUDIES["positive"].truth(row).law
    axis.plot(grid, law.pdf(grid), "--", color="#444444", lw=1, label="the law")
    axis.plot(grid, smoothed(model.predict_density(row)).pdf_grid(grid)[0], label="support")
    axis.plot(grid, smoothed(plain.predict_density(row)).pdf_grid(grid)[0], label="none")
    axis.axvline(0, color="#999999", lw=0.6)
    axis.set(xlabel="a positive outcome", ylabel="density", ylim=(0, None))
    axis.legend(frameon=False, fontsize=8)


def main(settings: dict = SETTINGS, rows: int = ROWS) -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
    compared(axes[0], settings, rows)
    counts, X, y = fitted("counts", settings, rows)
    few = np.argsort(X["a"].to_numpy())[:: rows // 6][:6]
    density = counts.predict_density(X.iloc[few])
    labels = [f"{years:.1f} years" for years in X["years"].iloc[few]]
    plots.ridge(density, y[few], labels=labels, xlabel="count", ax=axes[1])
    zeros, X, y = fitted("zeros", settings, rows)
    X = X.assign(a=0.0)
    grid = np.linspace(-1, 1, 60)
    plots.density_heatmap(zeros, grid, "b", X, xlabel="b", ylabel="amount", ax=axes[2])
    given.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.out, dpi=200)


if __name__ == "__main__":
    main()
