"""Serving the page on this machine only, to whoever has its address, and answering what it asks."""

import csv
import io
import json
import logging
import math
import secrets
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from socketserver import ThreadingTCPServer
from typing import Any

from .engine import Answer, Engine
from .page import NAMES, facts, page, picture
from .scenario import Table, Value, make_table

HOST = "127.0.0.1"
# Names of this machine.  A page from elsewhere that had its own name point here (DNS rebinding)
# would be asked for by that name.  Ports may differ: the address may be forwarded by ssh.
LOCAL = ("127.0.0.1", "localhost")
LARGEST = 1 << 20
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
LOG = logging.getLogger(__name__)
HTML, CSS, SCRIPT = "text/html", "text/css", "text/javascript"
JSON, CSV = "application/json", "text/csv"
MOMENTS = ("mean", "sd")
COLUMNS = ("q05", "q50", "q95", "c", "p_above_c", "p_above_c_low", "p_above_c_high")


class Server:
    """A page at ``address``, which holds a random token; ``run`` serves until ``stop``."""

    def __init__(self, model: Any, X: Any, target: str, source: str, port: int = 0) -> None:
        token = secrets.token_urlsafe(24)
        service = Service(model, X, target, source)
        self._server = Listener((HOST, port), partial(Handler, service, token))
        self.address = f"http://{HOST}:{self._server.server_address[1]}/{token}/"

    def run(self) -> None:
        self._server.serve_forever()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Listener(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who leaves in the middle of an answer is no error."""


class Service:
    """The answers about one fitted model; ``get`` and ``post`` are None where there is nothing."""

    def __init__(self, model: Any, X: Any, target: str, source: str) -> None:
        if hasattr(model, "classes_"):
            raise ValueError(
                "the explorer draws densities of numbers, and this model predicts classes: "
                "use predict_proba and probability_bands from Python"
            )
        self.engine, self.table, self.target = Engine(model, X), make_table(model, X), target
        style = files("deepnoise.report").joinpath("templates/style.css").read_text("utf-8")
        own = files("deepnoise.explore").joinpath("templates")
        self.files = {
            "": (HTML, page(model, self.engine, self.table, target, source)),
            "explore.css": (CSS, style + own.joinpath("explore.css").read_text("utf-8")),
            "explore.js": (SCRIPT, own.joinpath("explore.js").read_text("utf-8")),
        }

    def get(self, route: str) -> tuple[str, str] | None:
        """Kind and text of a file."""
        return self.files.get(route)

    def post(self, route: str, body: bytes) -> tuple[str, str] | None:
        """Kind and text of an answer; a ValueError says what is wrong with the question."""
        answers = {"answer": self.answer, "row": self.row, "sheet": self.sheet}
        if route not in answers:
            return None
        return answers[route](asked(body))

    def row(self, question: dict[str, Any]) -> tuple[str, str]:
        """Values of a row of the table."""
        return JSON, json.dumps({"values": self.table.start(int(finite(question, "row")))})

    def answer(self, question: dict[str, Any]) -> tuple[str, str]:
        """Picture and numbers of both scenarios."""
        scenarios, c = self.scenarios(question), finite(question, "c")
        found, outcome = self.engine.answer(self.table.encoded(scenarios), c), self.engine.outcome
        drawn = picture(found, outcome, c, self.target, finite(question, "width"))
        lines = {name: facts(found, s, c, outcome.symbol) for s, name in enumerate(NAMES)}
        return JSON, json.dumps({"svg": str(drawn), "facts": lines})

    def sheet(self, question: dict[str, Any]) -> tuple[str, str]:
        """The same numbers as CSV."""
        scenarios, c = self.scenarios(question), finite(question, "c")
        found = self.engine.answer(self.table.encoded(scenarios), c)
        return CSV, sheet(self.table, scenarios, found, c, self.engine.draws)

    def scenarios(self, question: dict[str, Any]) -> list[list[Value]]:
        return [self.table.scenario(question.get(name)) for name in NAMES]


def asked(body: bytes) -> dict[str, Any]:
    """The question in a request."""
    try:
        question = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the request is not JSON") from None
    if not isinstance(question, dict):
        raise ValueError("the request is not a JSON object")
    return question


def finite(question: dict[str, Any], name: str) -> float:
    value = question.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number")
    return value


def sheet(
    table: Table, scenarios: Sequence[Sequence[Value]], answer: Answer, c: float, draws: int
) -> str:
    """The page as CSV: a line a scenario, its features, what was predicted, from how many draws."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [control.name for control in table.controls]
    moments = () if answer.moments is None else MOMENTS
    writer.writerow(["scenario", *names, *moments, *COLUMNS, "draws"])
    for s, (name, scenario) in enumerate(zip(NAMES, scenarios, strict=True)):
        features = ["" if value is None else value for value in scenario]
        centre = () if answer.moments is None else answer.moments[s]
        found = [*centre, *answer.quantiles[s], c, *answer.above[s]]
        writer.writerow([name, *features, *(f"{value:.6g}" for value in found), draws])
    return text.getvalue()


class Handler(BaseHTTPRequestHandler):
    """403 for every address without the token and every name that is not this machine's.

    Nothing is written about requests, whose addresses hold the token.
    """

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "deepnoise", ""
    # Heads and bodies leave together: a slider must not wait for a delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(self, service: Service, token: str, *args: Any) -> None:
        self.service, self.token = service, token
        super().__init__(*args)

    def do_GET(self) -> None:
        route = self.route()
        found = None if route is None else self.service.get(route)
        self.send(403 if route is None else 404 if found is None else 200, found)

    def do_POST(self) -> None:
        route, length = self.route(), self.headers.get("Content-Length", "")
        if route is None:
            return self.send(403)
        if not length.isdecimal():
            return self.send(411)
        if int(length) > LARGEST:
            return self.send(413)
        try:
            found = self.service.post(route, self.rfile.read(int(length)))
        except ValueError as error:
            return self.send(400, (JSON, json.dumps({"problem": str(error)})))
        except Exception:
            LOG.exception("the explorer failed to answer")
            problem = "That failed; the terminal of deepnoise explore says more."
            return self.send(500, (JSON, json.dumps({"problem": problem})))
        return self.send(404 if found is None else 200, found)

    def route(self) -> str | None:
        """What was asked for; None if the asker may not."""
        name = self.headers.get("Host", "").partition(":")[0]
        token, _, route = self.path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode(), self.token.encode())
        return route if known and name in LOCAL else None

    def send(self, status: int, found: tuple[str, str] | None = None) -> None:
        kind, text = found or ("text/plain", "")
        body = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if status != 200:
            # A body that was not read would be taken for the next request.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass
