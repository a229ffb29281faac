"""Serving the page on this machine only, to whoever has its address."""

import json
import logging
import secrets
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from .service import JSON, Service

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
