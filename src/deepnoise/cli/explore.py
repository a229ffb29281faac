"""``deepnoise explore``."""

from pathlib import Path

import click

from . import options
from .app import Command, Failure, note
from .models import open_finished
from .report import table
from .tables import called, located, read_table


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port on this machine; 0 takes a free one.",
)
@options.target
def explore(model, data, port, target) -> None:
    """Try what MODEL predicts, on a local page.

    Pick a row of DATA or move a slider a column, for two scenarios side by side; see density,
    interval and P(y >= c). The page is for this machine only, at an address that holds a secret.
    """
    estimator = open_finished(model)
    X, _, name = table(model, estimator, read_table(data), target, data)
    from ..explore.server import Server

    try:
        with located(data):
            server = Server(estimator, X, name, Path(called(data)).name, port)
    except OSError as error:
        raise Failure(f"port {port} cannot be used: {error.strerror or error}") from error
    click.echo(server.address)
    note("Open this address in a browser on this machine. Ctrl-C ends.")
    try:
        server.run()
    finally:
        server.stop()
