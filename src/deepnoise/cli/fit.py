"""``deepnoise fit``, and ``deepnoise resume``, which continues its chains."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .app import BadInput, Command, note
from .chains import (
    check_complete,
    draw,
    follow,
    has_model,
    make_folder,
    persist,
    summarise,
)
from .models import Columns, open_model, remember
from .processes import process_options
from .tables import called, listed, read_table
from .targets import Target, in_order, target_options

if TYPE_CHECKING:
    import pandas as pd

# Text columns with more values than this, or than every second row, are remarked upon.
MANY_LEVELS = 20
# Parameters that not every kind of estimator has.
OF_CLASSES = ("ordered", "link")
OF_SUPPORTS = ("support", "point_mass", "exposure")
NOT_OF_CLASSES = ("guard", "combine", "cross_fit", "memory_limit", *OF_SUPPORTS)


def chain_options(command: Any) -> Any:
    """The estimator's own parameters, under their own names and with its defaults."""
    whole = click.IntRange(min=1)
    for option in reversed(
        [
            click.option(
                "--hidden",
                type=options.Widths(),
                default="20,20",
                help="Widths of the hidden layers; none for a straight line.",
            ),
            click.option(
                "--activation", default="hard_tanh", help="Activation function; or relu, tanh, ..."
            ),
            click.option("--prior", default="default", help="Or wide, fixed, paper, anchored."),
            click.option("--chains", type=whole, default=4, help="Chains to run."),
            click.option(
                "--warmup",
                type=click.IntRange(min=0),
                help="Sweeps before the first draw.",
            ),
            click.option("--draws", type=whole, help="Draws to keep from each chain."),
            click.option("--thin", type=whole, help="Sweeps from one draw to the next."),
            click.option(
                "--max-sweeps",
                type=whole,
                help="Sweeps at most, where none of the three above is given.",
            ),
            click.option(
                "--paths", type=whole, default=10, help="Noise paths per draw at prediction."
            ),
            click.option(
                "--guard",
                type=float,
                default=0.001,
                help="Weight of a wide normal in each density, for surprising rows.",
            ),
            click.option("--combine", default="equal", help="Weights of chains; or stacked."),
            click.option("--init", default="prior", help="Where chains start; or gradient."),
            click.option("--sampler", default="interweaved", help="Sampler; or gibbs."),
            click.option(
                "--standardize",
                type=options.Standardize(),
                default="yes",
                help="Fit in units of mean 0, sd 1; scores adds normal scores of skewed features.",
            ),
            click.option("--dtype", default="float32", help="Precision of the chains; or float64."),
        ]
    ):
        command = option(command)
    return command


def support_options(command: Any) -> Any:
    """Where the target can lie."""
    support = click.option(
        "--support",
        type=options.SupportOf(),
        help="Where the target can lie: positive, counts, or two ends such as 0,1.",
    )
    point_mass = click.option(
        "--point-mass",
        type=options.Numbers(),
        help="Values that the target often takes, such as 0.",
    )
    exposure = click.option(
        "--exposure", help="Column that rates are multiplied by, such as years."
    )
    return support(point_mass(exposure(command)))


def class_options(command: Any) -> Any:
    """Those that only the classifier has."""
    ordered = click.option(
        "--ordered",
        type=options.Names(),
        default="",
        help="Classes from the lowest to the highest, if they have an order.",
    )
    link = click.option("--link", default="probit", help="Noise behind classes; or logit.")
    return ordered(link(command))


@click.command(cls=Command, context_settings={"show_default": True})
@click.argument("data", type=options.TABLE)
@target_options
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder to write the model to."
)
@click.option(
    "--drop", type=options.Names(), default="", help="Columns to leave out of the features."
)
@chain_options
@support_options
@click.option("--sites", help="Column of sites or batches, of which new ones may come.")
@click.option(
    "--cross-fit",
    type=click.IntRange(min=2),
    help="Folds of rows, of which each chain leaves one out: for honest scores.",
)
@class_options
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of everything random.")
@click.option(
    "--checkpoint", type=click.Path(path_type=Path), help="Folder of checkpoints, if not --out."
)
@click.option(
    "--memory-limit", help="Such as 2GB; rows that need more stay on disk (with --sampler gibbs)."
)
@process_options
@options.force
@options.quiet
@options.as_json
def fit(data, seen, out, drop, seed, checkpoint, meet, force, quiet, as_json, **settings) -> None:
    """Learn the density of a column given the others.

    Text columns are categories, and features may be missing. With --event the target is a time,
    with --classes a class. Chains are written to the folder while they run: after Ctrl-C, a crash
    or a power cut, "deepnoise resume" goes on from there. Several processes may fit together: each
    is started with the same data and options.
    """
    columns = Columns(seen.name, (*drop, *seen.others), seen.upper, seen.event)
    X, y = training_rows(read_table(data), columns, data, seen)
    settings = of_kind(seen, settings, y)
    own = beside(out, force)
    folder = checkpoint or own
    with meet() as party:
        model = estimator(seen)(**settings, devices=party.devices, random_state=seed)
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
            check_complete(model, model.posterior_.plan.draws, folder)
            persist(model, out)
        finally:
            if folder != out and not has_model(out):
                out.rmdir()
        remember(out, columns)
        if folder != out and checkpoint is None:
            shutil.rmtree(folder)
        summarise(model, out, seconds, as_json)


def estimator(target: Target) -> Any:
    """The estimator of what the target holds."""
    if target.classes:
        from ..estimators.classifier import BDeepNoiseClassifier

        return BDeepNoiseClassifier
    if target.event is not None:
        from ..estimators.survival import BDeepNoiseSurvival

        return BDeepNoiseSurvival
    from ..estimators.bdeepnoise import BDeepNoiseRegressor

    return BDeepNoiseRegressor


def of_kind(target: Target, settings: dict[str, Any], y: Any) -> dict[str, Any]:
    """The settings that the estimator has; one of another kind that was asked for is an error."""
    unfit = (*NOT_OF_CLASSES, "sites") if target.classes else OF_CLASSES
    options.refuse(unfit, "not for --classes" if target.classes else "only for --classes")
    if target.event is not None:
        options.refuse(OF_SUPPORTS, "not for --event: times lie above 0 already")
    kept = {name: value for name, value in settings.items() if name not in unfit}
    if target.classes:
        order = kept["ordered"]
        kept["ordered"] = in_order(order, y, "--ordered") if order else False
    return kept


def training_rows(
    frame: "pd.DataFrame", columns: Columns, source: str, target: Target
) -> tuple["pd.DataFrame", Any]:
    """Features and outcomes."""
    y = target.read(frame, source)
    absent = [name for name in columns.dropped if name not in frame.columns]
    if absent:
        raise BadInput(f"--drop: {called(source)} has no column {listed(absent)}")
    if len(frame) < 2:
        raise BadInput(f"{called(source)} has only one row; at least two are needed")
    X = frame.drop(columns=[*{str(columns.target), *columns.dropped}])
    if not X.shape[1]:
        raise BadInput(f"{called(source)} has no columns but the target")
    return X, y


def beside(out: Path, force: bool) -> Path:
    """Where chains are written as they run: the folder itself, or one beside an older model."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return out
    if not force:
        go_on = f", deepnoise resume {out} continues it" if has_model(out) else ""
        raise BadInput(f"{out} exists: --force replaces it{go_on}")
    if not has_model(out):
        raise BadInput(
            f"{out} exists and is not a model; delete it yourself, or choose another --out"
        )
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


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    help="Draws per chain in all; by default the number that the fit was asked for.",
)
@process_options
@options.quiet
@options.as_json
def resume(model, draws, meet, quiet, as_json) -> None:
    """Continue the chains of MODEL, as if they had never stopped.

    With any number of devices and processes, whatever began it; each must see the folder.
    """
    with meet() as party:
        estimator = open_model(model, lazy=False)
        kept, wanted = estimator.posterior_.run.n_draws, draws or estimator.posterior_.plan.draws
        if wanted <= kept:
            raise BadInput(f"{model} already has {kept} draws per chain; ask for more with --draws")
        estimator.set_params(devices=party.devices)
        if not party.leads:
            follow(estimator, lambda: estimator.resume(wanted), model, str(model))
            return
        make_folder(model)
        seconds = draw(estimator, lambda: estimator.resume(wanted), model, str(model), quiet)
        check_complete(estimator, wanted, model)
        persist(estimator, model)
        summarise(estimator, model, seconds, as_json)
