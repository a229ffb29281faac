"""Requests to an application without a socket between."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

TOKEN = "t0ken-for-tests-0123456789"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def call(
    app: Any,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    token: str | None = TOKEN,
) -> Answer:
    sent = {"host": "localhost:8000", "content-type": "application/json"}
    if token is not None:
        sent["authorization"] = f"Bearer {token}"
    sent |= headers or {}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in sent.items()],
    }
    parts = [body[n : n + 65536] for n in range(0, len(body), 65536)] or [b""]
    messages = []

    async def receive() -> dict[str, Any]:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await app(scope, receive, send)
    found = {k.decode(): v.decode() for k, v in messages[0]["headers"]}
    return Answer(messages[0]["status"], found, b"".join(m.get("body", b"") for m in messages[1:]))


def together(app: Any, *requests: tuple) -> list[Answer]:
    """Answers to requests that come at once; each is (method, path, body, ...)."""

    async def session() -> list[Answer]:
        async with app.router.lifespan_context(app):
            return await asyncio.gather(*(call(app, *request) for request in requests))

    return asyncio.run(session())


def asked(app: Any, **question: Any) -> Answer:
    """The answer to one question of predict."""
    return together(app, ("POST", "/v1/predict", json.dumps(question).encode()))[0]
