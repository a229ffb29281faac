"""How far a fit has come: a bar on a terminal or in a notebook, lines of text, or a function."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

Report = Callable[[int, int, Any], None]
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
    notebook = in_notebook()
    if progress is False or (progress is None and not bar and not notebook):
        yield None
    elif notebook:
        yield _display()
    elif bar:
        with _bar() as report:
            yield report
    else:
        yield _lines()


def in_notebook() -> bool:
    """Whether a notebook shows what we display; IPython is looked at only if it is loaded."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _display() -> Report:
    """A bar in the cell, renewed in place; it needs no widgets, and stays as it ended."""
    from IPython.display import HTML, display

    speed = Speed()
    shown = display(HTML(_element(0, 1, "compiling")), display_id=True)

    def report(done: int, total: int, _: Any) -> None:
        shown.update(HTML(_element(done, total, described(done, total, speed(done)))))

    return report


def _element(done: int, total: int, text: str) -> str:
    return (
        f'<progress aria-label="sampling" value="{done}" max="{total}" style="width:20em">'
        f"</progress> {text}"
    )


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

        def report(done: int, total: int, _: Any) -> None:
            shown.update(task, total=total, completed=done, rate=pace(speed(done)))

        yield report


def _lines() -> Report:
    speed = Speed()
    last = -SECONDS_A_LINE

    def report(done: int, total: int, _: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_A_LINE and done < total:
            return
        last = now
        sys.stderr.write(described(done, total, speed(done)) + "\n")

    return report


def described(done: int, total: int, rate: float) -> str:
    """Such as "250/400 sweeps, 75/s, 2 s left"; nothing of the rate before there is one."""
    parts = [f"{done}/{total} sweeps"]
    if rate > 0:
        parts.append(pace(rate))
        if done < total:
            parts.append(f"{duration((total - done) / rate)} left")
    return ", ".join(parts)


def pace(rate: float) -> str:
    """Sweeps a second, or seconds a sweep."""
    return f"{1 / rate:.0f} s a sweep" if 0 < rate < 1 else f"{rate:.0f}/s"


def duration(seconds: float) -> str:
    """In seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


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
