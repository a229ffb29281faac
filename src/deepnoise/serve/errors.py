"""What may be wrong with a request: one line and a status of HTTP."""

import json
from typing import Any

LONGEST = 40


class RequestError(Exception):
    """A request that gets no answer; the text may be read by anyone."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class InvalidError(RequestError):
    """Well-formed JSON that asks for what cannot be answered."""

    def __init__(self, message: str) -> None:
        super().__init__(422, message)


def shown(value: Any) -> str:
    """A value of a request on one line, cut short."""
    text = json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
