"""Running the application on an address of this machine, until a signal."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "serving needs starlette and uvicorn: pip install 'deepnoise[serve]'"
    ) from None

from .batches import ROWS_A_BATCH
from .engine import Engine
from .question import QUANTILES, Question

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Connections at once, and seconds: to send the head of a request, to begin the next one on the
# same connection, and to finish answers when the server is told to end.
CONNECTIONS, HEAD, IDLE, FINISH = 512, 10.0, 30, 10


class Protocol(H11Protocol):
    """Closes connections on which the head of the first request does not come."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = asyncio.get_running_loop().call_later(HEAD, self._close_if_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def _close_if_silent(self) -> None:
        if getattr(self, "scope", None) is None:
            self.transport.close()


class Server(uvicorn.Server):
    """Ends on SIGINT and SIGTERM when answers are finished, and leaves no signal behind."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an OSError if there is none to have."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=CONNECTIONS)
    # Connections inherit it: else the body of an answer waits 40 ms for news of its head.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def configured(app: Any) -> uvicorn.Config:
    """Settings of uvicorn: no access log, no proxies believed, no banner."""
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=FINISH,
    )


def run(app: Any, listening: socket.socket) -> None:
    """Serve until a signal."""
    Server(configured(app)).run(sockets=[listening])


def warm_up(engine: Engine, rows: int = ROWS_A_BATCH) -> None:
    """Compile what usual questions need, for batches of all sizes."""
    width = len(engine.model.encoder_.feature_names)
    row = np.array(engine.model.units_.x.mean[:width])[None]
    questions = [Question()]
    if engine.kind != "classes":
        grid = ((1.0, 2.0),) * len(engine.outcomes)
        questions = [Question(engine.kind == "numbers", QUANTILES, grid, grid)]
    size = 1
    while size <= rows:
        for question in questions:
            engine.answer(np.repeat(row, size, axis=0), question)
        size *= 2
