"""Serving the page on this machine only."""

import logging
import secrets
import socket
from typing import Any

from .app import make_app

HOST = "127.0.0.1"


class Server:
    """A page at ``address``, which holds a random token; ``run`` serves until ``stop``."""

    def __init__(self, model: Any, X: Any, target: str, source: str, port: int = 0) -> None:
        from werkzeug.serving import make_server

        token = secrets.token_urlsafe(24)
        app = make_app(model, X, target, source, token)
        # Its log would repeat the token with every move.
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        # Werkzeug would print and leave if the port is taken; this is an error like any other.
        with socket.create_server((HOST, port)) as listening:
            self._server = make_server(HOST, port, app.server, threaded=True, fd=listening.fileno())
        self.address = f"http://{HOST}:{self._server.port}/{token}/"

    def run(self) -> None:
        self._server.serve_forever()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
