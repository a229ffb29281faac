"""``deepnoise explore``."""

from pathlib import Path

import click

from . import options
from .app import Command, Failure, note
from .models import features, open_finished, recall
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

    Pick a row of DATA or change a value, for two scenarios side by side; see density, interval
    and P(y >= c). The page is for this machine only, at an address that holds a secret.
    """
    estimator, known = open_finished(model), recall(model)
    name, frame = target or known.target, read_table(data)
    X = features(estimator, frame, [*filter(None, (name,)), *known.dropped], data)
    from ..explore.server import Server

    try:
        with located(data):
            server = Server(estimator, X, name or "y", Path(called(data)).name, port)
    except OSError as error:
        raise Failure(f"port {port} cannot be used: {error.strerror or error}") from error
    click.echo(server.address)
    note("Open this address in a browser on this machine. Ctrl-C ends.")
    try:
        server.run()
    finally:
        server.stop()
