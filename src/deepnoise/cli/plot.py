"""``deepnoise plot``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from . import options
from .app import BadInput, Command, Failure, note
from .models import features, kind_of, open_finished, recall
from .tables import located, numbers_of, read_table

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
    calibration and sharpness too. Times are drawn as their logarithms. Of classes there are traces
    and ranks.
    """
    estimator = open_finished(model, classes=True)
    frame, known = read_table(data), recall(model)
    kind, name = kind_of(estimator), target or known.target
    X = features(estimator, frame, [*filter(None, (name,)), *known.dropped], data)
    if kind == "classes":
        options.refuse(("feature",), f"{model} predicts classes, which have no heat map")
        write_pictures(chain_pictures(estimator), out, suffix, force)
        return
    y = None
    if name is not None and name in frame.columns:
        if kind == "numbers" and known.upper is None:
            y = numbers_of(frame, name, data)
        else:
            note("outcomes are not drawn, as some may not have been seen: see deepnoise report")
    outcome = f"log {name or 'time'}" if kind == "times" else name or "y"
    with located(data):
        jobs = pictures(estimator, X, y, feature, outcome) | chain_pictures(estimator)
        write_pictures(jobs, out, suffix, force)


def chain_pictures(model: Any) -> dict[str, Callable[[], Any]]:
    """Names of files, and how to draw each, of what chains differ most in."""
    from .. import plots

    values = model.predictive_functionals()
    worst = {name: values[name] for name in model.diagnostics_.worst(6) or list(values)[:6]}
    return {"trace": lambda: plots.trace(worst), "rank": lambda: plots.rank(worst)}


def pictures(
    model: Any, X: Any, y: Any, feature: str | None, outcome: str
) -> dict[str, Callable[[], Any]]:
    """The same of densities."""
    import numpy as np

    from .. import plots
    from ..estimators.insight import to_draw
    from ..estimators.table import take, whole_rows

    columns = number_columns(model, X)
    if feature is not None and feature not in columns:
        raise BadInput(f"--feature: {feature!r} is no column of numbers of the model")
    candidates = {feature: columns[feature]} if feature else columns
    density, whole = to_draw(model).predict_density(X), whole_rows(model, X)
    jobs = {
        "ridge": lambda: plots.ridge(density, y, xlabel=outcome),
        "fan": lambda: plots.fan(density, y, ylabel=outcome),
    }
    if len(whole):
        few, seen = take(X, whole), None if y is None else np.asarray(y)[whole]
        influence = model.influence(few)
        jobs["influence"] = lambda: plots.influence_bars(influence, outcome)
        chosen = heatmap_feature(few, influence, candidates)
        if chosen is not None:
            jobs["heatmap"] = lambda: plots.density_heatmap(
                model, span(few, chosen), chosen, few, seen, xlabel=str(chosen), ylabel=outcome
            )
    if len(whole) < len(density):
        click.echo(f"heat map and influence: {len(whole)} rows without missing values", err=True)
    if y is not None:
        jobs["calibration"] = lambda: plots.calibration(density, y, outcome=outcome)
        jobs["sharpness"] = lambda: plots.sharpness(density, y, outcome=outcome)
    return jobs


def number_columns(model: Any, X: Any) -> dict[str, Any]:
    """Names of the columns of numbers, and what finds each in X: its name or its number."""
    known, named = enumerate(model.encoder_.columns), hasattr(X, "columns")
    return {c.name: c.name if named else j for j, c in known if c.levels is None}


def heatmap_feature(X: Any, influence: Any, columns: dict[str, Any]) -> Any:
    """Of these columns that which moves the mean most; None if none varies."""
    strength = influence.on_mean.size
    ranked = sorted(zip(strength, influence.columns, strict=True), reverse=True)
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
