"""``deepnoise demo``: the diabetes data of scikit-learn, from fit to pictures."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..estimators.progress import duration
from . import options
from .app import Command, note
from .chains import watch
from .plot import write_pictures

QUICK = {"hidden": (3,), "chains": 2, "warmup": 20, "draws": 10, "paths": 4}
QUICK |= {"init": "prior", "sampler": "gibbs"}
SCORES = ("rmse", "nll", "crps", "coverage_90")
BMI = 2


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="demo",
    show_default=True,
    help="Folder of pictures.",
)
@click.option(
    "--quick", is_flag=True, help="A tiny fit that takes seconds; do not use its numbers."
)
@options.quiet
def demo(out, quick, quiet) -> None:
    """Fit the diabetes data, print scores, write pictures.

    442 patients, ten measurements; the outcome is how far diabetes has progressed a year later.
    """
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    from ..estimators.bdeepnoise import BDeepNoiseRegressor
    from ..estimators.scoring import usefulness_of

    data = load_diabetes(scaled=False)
    X, X_test, y, y_test = train_test_split(data.data, data.target, random_state=0)
    note(f"fitting {len(y)} patients, {X.shape[1]} measurements each; {len(y_test)} are held out")
    model = BDeepNoiseRegressor(**(QUICK if quick else {}), random_state=0)
    model.set_params(progress=False if quiet else watch(model))
    began = time.monotonic()
    model.fit(X, y)
    click.echo(f"fitted in {duration(time.monotonic() - began)}")
    density = model.predict_density(X_test)
    click.echo(score_table({"B-DeepNoise": density} | baselines(X, y, X_test), y_test))
    click.echo(against_a_line(usefulness_of(model, X_test, y_test).line))
    diagnostics = model.diagnostics_
    click.echo(f"{diagnostics.verdict}\n{diagnostics.advice}")
    write_pictures(pictures(model, density, X_test, y_test, data.feature_names), out, "png", True)


def against_a_line(gain: Any) -> str:
    """Whether the held-out rows can tell the model from a ridge line."""
    said = {
        1: "better than a straight line",
        0: "a straight line does as well",
        -1: "a straight line does better",
    }
    between = f"{gain.low:+.3f} to {gain.high:+.3f}, 95 %"
    return f"{said[gain.sign]}: {gain.mean:+.3f} nats a row ({between})"


def baselines(X: Any, y: Any, X_test: Any) -> dict[str, Any]:
    """What is easy to have: a regression line with Gaussian errors, one Gaussian for every row."""
    import numpy as np
    from sklearn.linear_model import LinearRegression

    from ..prediction.density.mixture import PredictiveMixture

    def gaussian(mean: Any, variance: float) -> Any:
        return PredictiveMixture.of(np.reshape(mean, (-1, 1, 1)), np.full((1, 1, 1, 1), variance))

    line = LinearRegression().fit(X, y)
    residual = y - line.predict(X)
    error = residual @ residual / (len(y) - X.shape[1] - 1)
    return {
        "linear": gaussian(line.predict(X_test), error),
        "one Gaussian": gaussian(np.full(len(X_test), y.mean()), y.var()),
    }


def score_table(densities: dict[str, Any], y: Any) -> str:
    """Scores on held-out rows, the smaller the better but for coverage."""
    from ..prediction import metrics

    lines = ["".ljust(14) + "".join(name.rjust(13) for name in SCORES)]
    for name, density in densities.items():
        values = [getattr(metrics, score)(density, y) for score in SCORES[:3]]
        values.append(metrics.coverage(density, y, 0.9))
        lines.append(name.ljust(14) + "".join(f"{value:>13.4g}" for value in values))
    return "\n".join(lines)


def pictures(model: Any, density: Any, X: Any, y: Any, names: list[str]) -> dict[str, Any]:
    import numpy as np

    from .. import plots

    outcome = "progression of diabetes"
    grid = np.linspace(X[:, BMI].min(), X[:, BMI].max(), 150)
    found = replace(model.influence(X), columns=tuple(names))
    return {
        "heatmap": lambda: plots.density_heatmap(
            model, grid, BMI, X, y, xlabel="body mass index", ylabel=outcome
        ),
        "ridge": lambda: plots.ridge(density, y, xlabel=outcome),
        "fan": lambda: plots.fan(density, y, ylabel=outcome),
        "calibration": lambda: plots.calibration(density, y, outcome=outcome),
        "influence": lambda: plots.influence_bars(found, outcome),
    }
