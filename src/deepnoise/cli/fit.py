"""``deepnoise fit``."""

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .app import BadInput, Command, note
from .drawing import check_complete, draw, follow, has_model, make_folder, persist, summarise
from .models import Columns, remember
from .processes import process_options
from .tables import called, listed, numbers_of, read_table

if TYPE_CHECKING:
    import pandas as pd

# Text columns with more values than this, or than every second row, are remarked upon.
MANY_LEVELS = 20


def chain_options(command: Any) -> Any:
    """The estimator's own parameters, under their own names and with its defaults."""
    whole = click.IntRange(min=1)
    for option in reversed(
        [
            click.option(
                "--hidden",
                type=options.Widths(),
                default="20,20",
                help="Widths of the hidden layers; none for a line.",
            ),
            click.option("--activation", default="hard_tanh", help="Or relu, tanh, ..."),
            click.option("--prior", default="default", help="Or paper, anchored."),
            click.option("--chains", type=whole, default=4, help="Chains to run."),
            click.option(
                "--warmup",
                type=click.IntRange(min=0),
                default=800,
                help="Sweeps before the first draw.",
            ),
            click.option("--draws", type=whole, default=200, help="Draws kept of each chain."),
            click.option("--thin", type=whole, default=4, help="Sweeps from draw to draw."),
            click.option(
                "--paths", type=whole, default=10, help="Noise paths a draw at prediction."
            ),
            click.option(
                "--guard", type=float, default=0.001, help="Share kept for unforeseen rows."
            ),
            click.option("--combine", default="equal", help="Weights of chains; or stacked."),
            click.option("--init", default="gradient", help="Where chains start; or prior."),
            click.option("--sampler", default="interweaved", help="Or gibbs."),
            click.option(
                "--standardize",
                type=options.Standardize(),
                default="yes",
                help="Fit in units of mean 0, sd 1; scores adds normal scores of skewed features.",
            ),
            click.option("--dtype", default="float32", help="Or float64."),
        ]
    ):
        command = option(command)
    return command


@click.command(cls=Command, context_settings={"show_default": True})
@click.argument("data", type=options.TABLE)
@click.option("--target", required=True, help="Column to predict.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Model folder to make.")
@click.option(
    "--upper", help="Column of upper ends, --target then the lower: censored or rounded outcomes."
)
@click.option("--drop", type=options.Names(), default="", help="Columns that are no features.")
@chain_options
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of everything random.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Checkpoints, if not in --out.")
@click.option(
    "--memory-limit", help="Such as 2GB: what needs more stays on disk (--sampler gibbs)."
)
@process_options
@options.force
@options.quiet
@options.as_json
def fit(
    data, target, upper, out, drop, seed, checkpoint, meet, force, quiet, as_json, **settings
) -> None:
    """Learn the density of a column given the others.

    Text columns are categories, and features may be missing. Chains are written to the folder
    while they run: after Ctrl-C, a crash or a power cut, "deepnoise resume" goes on from there.
    Several processes may fit together: each is started with the same data and options.
    """
    columns = Columns(target, (*drop, upper) if upper else drop)
    X, y = training_rows(read_table(data), columns, data, upper)
    own = beside(out, force)
    folder = checkpoint or own
    with meet() as party:
        from ..estimators.bdeepnoise import BDeepNoiseRegressor

        model = BDeepNoiseRegressor(**settings, devices=party.devices, random_state=seed)
        if not party.leads:
            follow(model, lambda: model.fit(X, y), folder, data)
            return
        if not quiet:
            remark_on_categories(X)
        for place in dict.fromkeys((out, folder)):
            make_folder(place)
        remember(folder, columns)
        try:
            seconds = draw(model, lambda: model.fit(X, y), folder, data, quiet)
            check_complete(model, settings["draws"], folder)
            persist(model, out)
        finally:
            if folder != out and not has_model(out):
                out.rmdir()
        remember(out, columns)
        if folder != out and checkpoint is None:
            shutil.rmtree(folder)
        summarise(model, out, seconds, as_json)


def training_rows(
    frame: "pd.DataFrame", columns: Columns, source: str, upper: str | None = None
) -> tuple["pd.DataFrame", Any]:
    """Features and outcomes, which with ``upper`` are windows; an empty end is open."""
    target = str(columns.target)
    if upper is None:
        y: Any = numbers_of(frame, target, source)
    else:
        y = windows_of(frame, target, upper, source)
    absent = [name for name in columns.dropped if name not in frame.columns]
    if absent:
        raise BadInput(f"--drop: {called(source)} has no column {listed(absent)}")
    if len(frame) < 2:
        raise BadInput(f"{called(source)} has one row: at least two are needed")
    X = frame.drop(columns=[*{str(columns.target), *columns.dropped}])
    if not X.shape[1]:
        raise BadInput(f"{called(source)} has no columns but the target")
    return X, y


def windows_of(frame: "pd.DataFrame", lower: str, upper: str, source: str) -> Any:
    import numpy as np

    from ..estimators.outcomes import between

    low, high = (
        numbers_of(frame.fillna({name: empty}), name, source, finite=False)
        for name, empty in ((lower, -math.inf), (upper, math.inf))
    )
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        row, where = wrong[0], f"{called(source)}, row {wrong[0] + 1}"
        raise BadInput(f"{where}: {lower!r} exceeds {upper!r}, {low[row]:g} > {high[row]:g}")
    if not (np.isfinite(low) | np.isfinite(high)).any():
        raise BadInput(f"{called(source)}: {lower!r} and {upper!r} are empty in every row")
    try:
        return between(low, high)
    except ValueError as error:
        raise BadInput(f"{called(source)}: {error}") from error


def beside(out: Path, force: bool) -> Path:
    """Where chains are written as they run: the folder itself, or one beside an older model."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return out
    if not force:
        go_on = f", deepnoise resume {out} continues it" if has_model(out) else ""
        raise BadInput(f"{out} exists: --force replaces it{go_on}")
    if not has_model(out):
        raise BadInput(f"{out} is no model: delete it yourself, or choose another --out")
    return out.with_name(f"{out.name}.fitting")


def remark_on_categories(X: "pd.DataFrame") -> None:
    for name in X.columns:
        kind = getattr(X[name].dtype, "kind", "O")
        levels = X[name].nunique()
        if kind not in "iufb" and levels > max(MANY_LEVELS, len(X) / 2):
            note(
                f"Warning: column {name!r} is text with {levels} different values, "
                f"taken as a category (--drop leaves it out)"
            )
