"""Showing how far a fit has come: a rich bar, lines of text, or the user's own function."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from ..inference.posterior import Posterior

Report = Callable[[int, int, Posterior], None]
SECONDS_A_LINE = 5.0


@contextmanager
def reporting(progress: Any) -> Iterator[Report | None]:
    """What to call after every segment of sweeps with (sweeps done, sweeps in all, posterior)."""
    if callable(progress):
        yield progress
        return
    if progress not in (None, True, False):
        raise ValueError(f"progress must be None, True, False or a function; got {progress!r}")
    terminal = sys.stderr is not None and sys.stderr.isatty()
    bar = terminal and find_spec("rich") is not None
    if progress is False or (progress is None and not bar):
        yield None
    elif bar:
        with _bar() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Report]:
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("sampling"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.completed}/{task.total} sweeps, {task.fields[rate]}"),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("", total=None, rate="compiling")
        speed = Speed()

        def report(done: int, total: int, _: Posterior) -> None:
            shown.update(task, total=total, completed=done, rate=f"{speed(done):.0f}/s")

        yield report


def _lines() -> Report:
    speed = Speed()
    last = -SECONDS_A_LINE

    def report(done: int, total: int, _: Posterior) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_A_LINE and done < total:
            return
        last = now
        rate = speed(done)
        left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
        sys.stderr.write(f"{done}/{total} sweeps, {rate:.0f}/s{left}\n")

    return report


class Speed:
    """Sweeps a second since the first call, which includes the compilation."""

    def __init__(self) -> None:
        self.first: tuple[int, float] | None = None

    def __call__(self, done: int) -> float:
        now = time.monotonic()
        if self.first is None:
            self.first = (done, now)
        sweeps, since = self.first
        return (done - sweeps) / (now - since) if now > since else 0.0
