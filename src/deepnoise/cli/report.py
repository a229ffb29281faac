"""``deepnoise report``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .app import Command, Failure, note
from .models import features, judged, open_finished, recall
from .tables import called, check_output, located, read_table

if TYPE_CHECKING:
    import pandas as pd


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@click.option("--out", required=True, help="Page to write, such as report.html.")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Rows to judge at most; of more, a sample is drawn.",
)
@click.option("--show", type=options.Counts(), help="Rows whose densities to draw.")
@options.target
@options.force
def report(model, data, out, rows, show, target, force) -> None:
    """One page about MODEL and how it does on DATA.

    Scores, calibration, densities of rows, influence, convergence and settings, in words and
    pictures. The page is a single file that loads nothing. Without the target column in DATA it
    shows predictions only.
    """
    check_output(out, force)
    estimator = open_finished(model)
    X, y, name = table(model, estimator, read_table(data), target, data)
    if y is None:
        note(f"{called(data)} has no column {name!r}: the page will have no scores")
    from ..report import report as page

    with located(data):
        source = Path(called(data)).name
        html = page(estimator, X, y, rows, show or (), name, source)
    write(html, out)


def table(
    folder: Path, model: Any, frame: "pd.DataFrame", target: str | None, source: str
) -> tuple[Any, Any, str]:
    """Features, outcomes (None if the table has none) and the name of the target."""
    known = recall(folder)
    name = target or known.target
    if target is not None or name in frame.columns:
        return *judged(folder, model, frame, target, source), str(name)
    X = features(model, frame, [*filter(None, (name,)), *known.dropped], source)
    return X, None, name or "y"


def write(html: str, target: str) -> None:
    if target == "-":
        sys.stdout.write(html)
        return
    try:
        Path(target).write_text(html, "utf-8")
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror or error}") from error
    click.echo(target)
