"""``deepnoise report``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .app import BadInput, Command, Failure, note
from .models import features, open_finished, recall
from .tables import (
    called,
    check_output,
    listed,
    located,
    numbers_of,
    read_table,
)
from .targets import censored_times, windows_of

if TYPE_CHECKING:
    import pandas as pd

PAGES = (".html", ".htm")


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
@click.option("--above", type=options.Numbers(), default="", help="c of P(y >= c | x).")
@click.option(
    "--keep",
    type=options.Names(),
    default="",
    help="Columns of DATA that name rows, such as an id.",
)
@options.target
@click.option(
    "--upper",
    help="Column of upper ends, the target then the lower: censored or rounded outcomes, times.",
)
@options.force
def report(model, data, out, rows, show, above, keep, target, upper, force) -> None:
    """One page about MODEL and how it does on DATA.

    A verdict and what to do next, then scores, calibration, densities of rows, effects,
    convergence and settings, in words and pictures. The page is a single file that loads nothing.
    Without the target column in DATA it shows predictions only.
    """
    check_page(out, force)
    estimator = open_finished(model)
    frame = read_table(data)
    absent = [name for name in keep if name not in frame.columns]
    if absent:
        raise BadInput(f"--keep: {called(data)} has no column {listed(absent)}")
    X, y, name = table(model, estimator, frame, target, data, upper, keep)
    if y is None:
        note(f"{called(data)} has no column {name!r}: the page will have no scores")
    from ..report import report as page

    with located(data):
        source = Path(called(data)).name
        html = page(estimator, X, y, rows, show or (), name, source, labels(frame, keep), above)
    write(html, out)


def check_page(out: str, force: bool) -> None:
    """An error for what is no name of a page, and for what cannot be written."""
    suffix = Path(out).suffix.lower()
    if out != "-" and suffix and suffix not in PAGES:
        raise BadInput(
            f"--out: {out} would hold HTML: name it {Path(out).with_suffix('.html')}, and print it "
            f"from a browser if you want another format"
        )
    check_output(out, force)


def table(
    folder: Path,
    model: Any,
    frame: "pd.DataFrame",
    target: str | None,
    source: str,
    upper: str | None = None,
    kept: tuple[str, ...] = (),
) -> tuple[Any, Any, str]:
    """Features, outcomes (None if the table has none) and the name of the target."""
    known = recall(folder)
    name = target or known.target
    if name is None and upper is not None:
        raise BadInput(f"{folder} does not know the name of its target: use --target")
    others = [*filter(None, (name, upper)), *known.dropped, *kept]
    if name is None or (target is None and upper is None and name not in frame.columns):
        return features(model, frame, others, source), None, name or "y"
    if upper is None and known.event is not None:
        y = censored_times(frame, name, known.event, source)
    elif upper or known.upper:
        y = windows_of(frame, name, str(upper or known.upper), source)
    elif hasattr(model, "predict_survival"):
        raise BadInput(
            f"{folder} predicts times: --upper names the column of their upper ends, equal to "
            f"{name!r} where the event was seen and empty where it was not"
        )
    else:
        y = numbers_of(frame, name, source)
    return features(model, frame, others, source), y, name


def labels(frame: "pd.DataFrame", names: tuple[str, ...]) -> list[str]:
    """What to call each row, such as "id a7, site 3"; nothing without names."""
    if not names:
        return []
    columns = [[f"{name} {value}" for value in frame[name]] for name in names]
    return [", ".join(parts) for parts in zip(*columns, strict=True)]


def write(html: str, target: str) -> None:
    if target == "-":
        sys.stdout.write(html)
        return
    try:
        Path(target).write_text(html, "utf-8")
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror or error}") from error
    click.echo(target)
