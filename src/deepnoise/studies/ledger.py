"""A ledger of JSON lines: one row a fit, written at once and never changed.

Whoever wants to make a row claims it first by a lock that the system lets go of when the process
dies.  A row is looked for after the claim, so that no two workers ever make the same one, and a
study that was stopped goes on where it stopped.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .spec import Case

if os.name == "posix":
    import fcntl


@dataclass(frozen=True)
class Claim:
    """The right to make one row, until it is let go."""

    path: Path
    handle: int

    def release(self, made: bool) -> None:
        """``made``: the row is in the ledger, so nobody needs the lock again."""
        if made:
            self.path.unlink(missing_ok=True)
        os.close(self.handle)


class Ledger:
    """The rows of a file; ``retry`` makes rows that failed again."""

    def __init__(self, path: str | Path, retry: bool = False) -> None:
        self.path, self.retry = Path(path), retry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._claims = self.path.with_name(self.path.name + ".claims")

    def rows(self) -> list[dict[str, Any]]:
        """All whole rows; a line that a dying process left unfinished is none."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        return [row for number, line in enumerate(lines[:-1]) if (row := self._row(number, line))]

    def _row(self, number: int, line: bytes) -> dict[str, Any] | None:
        try:
            return json.loads(line)
        except ValueError:
            if line.startswith(b"{"):
                return None
            raise ValueError(f"{self.path}, line {number + 1}: not a row of a ledger") from None

    def done(self) -> set[tuple[Case, str]]:
        """Cases, with the hash of their settings, that have a row."""
        return {
            (case_of(row), row["settings_hash"])
            for row in self.rows()
            if not (self.retry and row.get("error"))
        }

    def claim(self, case: Case, settings_hash: str) -> Claim | None:
        """The right to make this row; None if it is there or another worker is at it."""
        self._claims.mkdir(exist_ok=True)
        key = json.dumps([asdict(case), settings_hash], sort_keys=True)
        path = self._claims / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.lock"
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        if not _locked(handle):
            os.close(handle)
            return None
        claim = Claim(path, handle)
        if (case, settings_hash) in self.done():
            claim.release(made=True)
            return None
        return claim

    def append(self, row: dict[str, Any]) -> None:
        """Add a row, on disk when this returns."""
        line = json.dumps(row, allow_nan=False).encode() + b"\n"
        with self._writing() as handle:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(handle, line)
            os.fsync(handle)

    @contextmanager
    def _writing(self) -> Iterator[int]:
        handle = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        try:
            _locked(handle, wait=True)
            yield handle
        finally:
            os.close(handle)

    def clear_claims(self) -> None:
        """Remove the folder of locks if nobody holds one."""
        if self._claims.is_dir() and not any(self._claims.iterdir()):
            self._claims.rmdir()


def case_of(row: dict[str, Any]) -> Case:
    return Case(row["method"], row["set"], row["split"], row["seed"])


def _locked(handle: int, wait: bool = False) -> bool:
    """The system's lock on an open file; without one (not posix) a single worker is assumed."""
    if os.name != "posix":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
