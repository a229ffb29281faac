"""The addresses of the server, who may ask, and running it until a signal."""

import asyncio
import json
import logging
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "serving needs starlette and uvicorn: pip install 'deepnoise[serve]'"
    ) from None

from .engine import ENDS, ROWS_A_BATCH, Batches, Engine, plain
from .openapi import openapi
from .request import QUANTILES, Question, RequestError, check_size, parsed, read_question, read_rows

LOCAL = ("127.0.0.1", "localhost", "[::1]")
JSON = "application/json"
OPEN = ("/", "/page.css", "/page.js", "/healthz")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
STATUS = {404: "there is nothing at this address", 405: "this address has no such method"}
LOG = logging.getLogger(__name__)
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Connections at once, and seconds: to send the head of a request, to begin the next one on the
# same connection, and to finish answers when the server is told to end.
CONNECTIONS, HEAD, IDLE, FINISH = 512, 10.0, 30, 10


@dataclass(frozen=True)
class Limits:
    """Rows and bytes of a request, and seconds until it is given up."""

    rows: int = 1000
    bytes: int = 1 << 20
    seconds: float = 30.0


USUAL = Limits()


def make_app(
    engine: Engine, token: str, hosts: tuple[str, ...] = (), limits: Limits = USUAL
) -> Starlette:
    """The application; ``hosts`` are names by which it may be called beside this machine's own."""
    service = Service(engine, limits)
    pages = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css")}
    pages["/page.js"] = ("page.js", "text/javascript")
    routes = [Route(path, _file(*what)) for path, what in pages.items()]
    routes += [
        Route("/healthz", _health),
        Route("/openapi.json", service.description),
        Route("/v1/model", service.model),
        Route("/v1/predict", service.predict, methods=["POST"]),
    ]
    guard = Middleware(Guard, token=token, hosts=(*LOCAL, *hosts))
    handlers: dict[Any, Any] = {HTTPException: _http_problem}
    return Starlette(
        routes=routes, middleware=[guard], exception_handlers=handlers, lifespan=service.working
    )


class Service:
    """Handlers of the addresses that need the token."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self.engine, self.limits = engine, limits
        self.facts = engine.facts() | {"limits": vars(limits)}
        self.batches = Batches(engine.answer)

    @asynccontextmanager
    async def working(self, _app: Starlette) -> AsyncIterator[None]:
        """The thread that computes, as long as the application runs."""
        self.batches = Batches(self.engine.answer)
        task = asyncio.create_task(self.batches.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def model(self, _request: Request) -> Response:
        return answered(self.facts)

    async def description(self, _request: Request) -> Response:
        return answered(openapi(self.engine, self.facts))

    async def predict(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RequestError(415, f"Content-Type must be {JSON}")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError(415, "Content-Encoding: the body must not be compressed")
        try:
            async with asyncio.timeout(self.limits.seconds):
                body = await self._body(request)
        except TimeoutError:
            raise RequestError(408, "the body took too long to arrive") from None
        try:
            async with asyncio.timeout(self.limits.seconds):
                return answered(await self.answer(body))
        except TimeoutError:
            late = f"no answer within {self.limits.seconds:g} s; send fewer rows"
            raise RequestError(503, late) from None

    async def _body(self, request: Request) -> bytes:
        found = bytearray()
        too_large = RequestError(413, f"the body may have {self.limits.bytes} bytes")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self.limits.bytes:
            raise too_large
        async for part in request.stream():
            found += part
            if len(found) > self.limits.bytes:
                raise too_large
        return bytes(found)

    async def answer(self, body: bytes) -> dict[str, Any]:
        """The answer to the body of a request."""
        engine, asked = self.engine, parsed(body)
        question = read_question(asked, engine.kind, engine.outcomes)
        names, rows = read_rows(asked, self.limits.rows)
        check_size(question, len(rows), len(engine.outcomes))
        x, warnings = engine.encode(names, rows)
        if question.points is not None:
            ends = await self.batches.ask(x, Question(quantiles=ENDS))
            question = await asyncio.to_thread(engine.gridded, ends, question, x)
        return plain(engine, question, await self.batches.ask(x, question), warnings)


class Guard:
    """Lets pass who names a known host and, but for OPEN addresses, gives the token."""

    def __init__(self, app: Any, token: str, hosts: tuple[str, ...]) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def sent(message: Any) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            self.check(scope)
            await self.app(scope, receive, sent)
        except ClientDisconnect:
            return
        except RequestError as problem:
            await refused(problem)(scope, receive, send)
        except Exception as error:
            LOG.error(
                "%s failed: %s",
                scope["path"],
                type(error).__name__,
                exc_info=error if LOG.isEnabledFor(logging.DEBUG) else None,
            )
            if not started:
                await refused(RequestError(500, "the server failed to answer"))(
                    scope, receive, send
                )

    def check(self, scope: Any) -> None:
        """A RequestError if this request may not be answered."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name, _, port = host.rpartition(":")
        if not port.isdecimal():
            name = host
        if name not in self.hosts:
            raise RequestError(400, "Host: this server does not go by that name (see --allow-host)")
        if scope["path"] in OPEN:
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        known = secrets.compare_digest(given.strip(), self.token)
        if scheme.lower() != b"bearer" or not known:
            need = "Authorization: a token is needed" if not given else "Authorization: wrong token"
            raise RequestError(401, need, {"WWW-Authenticate": "Bearer"})


def answered(content: dict[str, Any]) -> Response:
    body = json.dumps(content, allow_nan=False).encode()
    return Response(body, headers=HEADERS, media_type=JSON)


def refused(problem: RequestError) -> Response:
    body = json.dumps({"error": problem.message}).encode()
    headers = HEADERS | problem.headers
    if problem.status in (408, 413):
        headers["Connection"] = "close"
    return Response(body, problem.status, headers, media_type=JSON)


async def _http_problem(_request: Request, error: HTTPException) -> Response:
    message = STATUS.get(error.status_code, "this request cannot be answered")
    return refused(RequestError(error.status_code, message, dict(error.headers or {})))


async def _health(_request: Request) -> Response:
    return answered({"status": "ok"})


def _file(name: str, kind: str) -> Any:
    content = files("deepnoise.serve").joinpath("templates", name).read_bytes()

    async def send(_request: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=kind)

    return send


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
