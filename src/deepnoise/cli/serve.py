"""``deepnoise serve`` and ``deepnoise explore``: a model behind an address of this machine."""

import secrets
import string
from pathlib import Path

import click

from . import options
from .app import BadInput, Command, Failure, note
from .models import features, open_finished, open_served, recall
from .tables import called, located, read_table

SHORTEST_TOKEN = 16
# Addresses that stand for all of a machine, of which none is a name to call it by.
WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104
VISIBLE = set(string.ascii_letters + string.digits + string.punctuation)


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--token",
    envvar="DEEPNOISE_TOKEN",
    help="Secret that requests must give; a new one is made and shown if there is none. Others on "
    "this machine can read a command line: rather set DEEPNOISE_TOKEN.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A name by which requests may call this server, beside localhost; may be repeated.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Rows of a request at most.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(1024),
    default=1 << 20,
    show_default=True,
    help="Bytes of a request at most.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds until a request is given up.",
)
@click.option(
    "--draws", type=click.IntRange(1), help="Draws of each chain to use, if not all that fit."
)
@click.option("--paths", type=click.IntRange(1), help="Noise paths of each draw to use.")
@options.target
def serve(model, host, port, token, allow_host, max_rows, max_bytes, timeout, draws, paths, target):
    """Answer requests over HTTP: rows in, densities out.

    POST /v1/predict takes rows as JSON and answers with quantiles, P(y >= c) and densities. The
    address that is printed has a page to try it, and /openapi.json describes it. Requests need the
    token: "Authorization: Bearer TOKEN". Ctrl-C ends.
    """
    from ..serve import server
    from ..serve.engine import Engine
    from ..serve.server import Limits, make_app

    shown = token is None
    token = checked(token or secrets.token_urlsafe(24))
    estimator = open_served(model)
    try:
        listening = server.listen(host, port)
    except OSError as error:
        raise Failure(f"{host}:{port} cannot be used: {error.strerror or error}") from error
    with listening:
        engine = Engine.of(estimator, target or recall(model).target, draws, paths)
        limits = Limits(max_rows, max_bytes, timeout)
        called = "127.0.0.1" if host in WILDCARDS else f"[{host}]" if ":" in host else host
        app = make_app(engine, token, tuple(map(str.lower, (called, *allow_host))), limits)
        server.warm_up(engine)
        tell(engine)
        address = f"http://{called}:{listening.getsockname()[1]}/"
        if shown:
            note(f"Token: {token}")
        note("Open this address in a browser, or read docs/how_to/serve.md. Ctrl-C ends.")
        click.echo(address)
        server.run(app, listening)
    note("Stopped.")


def checked(token: str) -> str:
    """A token that fits into a header and cannot be guessed."""
    if len(token) < SHORTEST_TOKEN or not set(token) <= VISIBLE:
        raise BadInput(
            f"--token: a secret of at least {SHORTEST_TOKEN} visible ASCII characters, please"
        )
    return token


def tell(engine) -> None:
    """What whoever starts the server should know of the model."""
    judged = getattr(engine.model, "diagnostics_", None)
    if judged is not None and not judged.settled:
        note(f"Warning: {judged.verdict}")
    if engine.thinning is not None:
        t = engine.thinning
        note(
            f"Thinned to {t.draws} of {t.all_draws} draws of each chain and {t.paths} of "
            f"{t.all_paths} paths: at {t.rows} training rows no probability moved by more than "
            f"{t.cost:.2g}."
        )


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
