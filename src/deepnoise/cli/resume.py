"""``deepnoise resume``."""

from pathlib import Path

import click

from . import options
from .app import BadInput, Command
from .drawing import check_complete, draw, follow, make_folder, persist, summarise
from .models import open_model
from .processes import process_options


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

    With any number of processes, whatever began it; each must see the folder.
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
