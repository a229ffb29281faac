"""``deepnoise plot``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from . import options
from .app import BadInput, Command, Failure
from .models import features, judged, open_finished, recall
from .tables import located, read_table

GRID = 150


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of pictures.")
@click.option("--feature", help="Column of the heat map; by default the most influential number.")
@click.option(
    "--format",
    "suffix",
    type=click.Choice(["png", "pdf", "svg"]),
    default="png",
    show_default=True,
    help="Kind of file.",
)
@options.target
@options.force
def plot(model, data, out, feature, suffix, target, force) -> None:
    """Pictures of densities and of chains.

    Heat map over a feature, ridges, fan, traces, ranks, influence; with the target column in DATA
    calibration and sharpness too.
    """
    estimator = open_finished(model)
    frame, known = read_table(data), recall(model)
    name = target or known.target
    if name in frame.columns:
        X, y = judged(model, estimator, frame, target, data)
    else:
        X, y = features(estimator, frame, [*filter(None, (name,)), *known.dropped], data), None
    with located(data):
        jobs = pictures(estimator, X, y, feature, name or "y")
        write_pictures(jobs, out, suffix, force)


def pictures(
    model: Any, X: Any, y: Any, feature: str | None, outcome: str
) -> dict[str, Callable[[], Any]]:
    """Names of files, and how to draw each."""
    import numpy as np

    from .. import plots
    from ..estimators.table import take, whole_rows

    columns = number_columns(model, X)
    if feature is not None and feature not in columns:
        raise BadInput(f"--feature: {feature!r} is no column of numbers of the model")
    candidates = {feature: columns[feature]} if feature else columns
    density, whole = model.predict_density(X), whole_rows(model, X)
    labels = [f"row {n}" for n in range(1, len(density) + 1)]
    values = model.predictive_functionals()
    worst = {name: values[name] for name in model.diagnostics_.worst(6) or list(values)[:6]}
    jobs = {
        "ridge": lambda: plots.ridge(density, y, labels=labels, xlabel=outcome),
        "fan": lambda: plots.fan(density, y, ylabel=outcome),
        "trace": lambda: plots.trace(worst),
        "rank": lambda: plots.rank(worst),
    }
    if len(whole):
        few, seen = take(X, whole), None if y is None else np.asarray(y)[whole]
        influence = model.influence(few)
        jobs["influence"] = lambda: plots.influence_bars(influence, model.units_.x.scale)
        chosen = heatmap_feature(model, few, influence, candidates)
        if chosen is not None:
            jobs["heatmap"] = lambda: plots.density_heatmap(
                model, span(few, chosen), chosen, few, seen, xlabel=str(chosen), ylabel=outcome
            )
    if len(whole) < len(density):
        click.echo(f"heat map and influence: {len(whole)} rows without missing values", err=True)
    if y is not None:
        jobs["calibration"] = lambda: plots.calibration(density, y)
        jobs["sharpness"] = lambda: plots.sharpness(density, y)
    return jobs


def number_columns(model: Any, X: Any) -> dict[str, Any]:
    """Names of the columns of numbers, and what finds each in X: its name or its number."""
    known, named = enumerate(model.encoder_.columns), hasattr(X, "columns")
    return {c.name: c.name if named else j for j, c in known if c.levels is None}


def heatmap_feature(model: Any, X: Any, influence: Any, columns: dict[str, Any]) -> Any:
    """Of these columns that which moves the mean most; None if none varies."""
    import numpy as np

    strength = influence.mean.mean * np.array(model.units_.x.scale)
    ranked = sorted(zip(strength, influence.names, strict=True), reverse=True)
    places = [columns[name] for _, name in ranked if name in columns]
    return next((place for place in places if span(X, place).size > 1), None)


def span(X: Any, column: Any) -> Any:
    """A grid from the least to the largest value of a column."""
    import numpy as np

    values = np.asarray(X[column] if hasattr(X, "columns") else X[:, column], dtype=float)
    if not np.ptp(values) > 0:
        return values[:1]
    return np.linspace(values.min(), values.max(), GRID)


def write_pictures(
    jobs: dict[str, Callable[[], Any]], folder: Path, suffix: str, force: bool
) -> None:
    """All pictures; what is there already is refused before the first is drawn."""
    files = {name: folder / f"{name}.{suffix}" for name in jobs}
    there = [path for path in files.values() if path.exists()]
    if there and not force:
        raise BadInput(f"{there[0]} exists: --force replaces it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, job in jobs.items():
            job().savefig(files[name], dpi=200)
            click.echo(files[name])
    except OSError as error:
        raise Failure(f"cannot write to {folder}: {error.strerror or error}") from error
