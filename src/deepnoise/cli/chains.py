"""Chains that are run for a folder: nothing that was drawn is lost, whatever stops them.

One line says how far they have come.
"""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ..estimators.progress import SECONDS_A_LINE, Speed, described, duration
from .app import Failure, echo_json, note
from .models import TABLE
from .tables import located

ROWS = 8
SECONDS_BETWEEN_RHATS = 10.0
MOST_DRAWS = 256


def has_model(folder: Path) -> bool:
    from ..inference.model_folder import HEADER

    return (folder / HEADER).exists()


def make_folder(folder: Path) -> None:
    """The folder, writable, or an error now rather than after an hour's work."""
    from ..inference.model_folder import ModelFileError, check_writable

    try:
        check_writable(folder)
    except ModelFileError as error:
        raise Failure(str(error)) from error


def discard_empty(folder: Path) -> None:
    """A folder to which no model was written is as if it had never been made."""
    if not has_model(folder):
        with suppress(OSError):
            (folder / TABLE).unlink(missing_ok=True)
            folder.rmdir()


def draw(model: Any, action: Callable[[], Any], folder: Path, source: str, quiet: bool) -> float:
    """Run ``action``, which draws and writes checkpoints to the folder; the seconds it took."""
    from ..inference.model_folder import ModelFileError
    from ..inference.sharding import LostProcessError

    model.set_params(checkpoint=str(folder), progress=False if quiet else watch(model))
    if not quiet:
        note("compiling" if has_model(folder) else "finding a start and compiling")
    began = time.monotonic()
    try:
        with located(source):
            action()
    except KeyboardInterrupt:
        end_line()
        kept = f"continue with: deepnoise resume {folder}" if has_model(folder) else "nothing kept"
        raise Failure(f"interrupted during warm-up; {kept}") from None
    except LostProcessError as error:
        end_line()
        raise lost(error, folder, has_model(folder)) from error
    except ModelFileError as error:
        raise Failure(str(error)) from error
    finally:
        discard_empty(folder)
    return time.monotonic() - began


def follow(model: Any, action: Callable[[], Any], folder: Path, source: str) -> None:
    """Run ``action`` beside the process that draws, writes and shows."""
    from ..inference.sharding import LostProcessError

    model.set_params(checkpoint=str(folder), progress=False)
    try:
        with located(source):
            action()
    except LostProcessError as error:
        raise lost(error, folder, has_model(folder)) from error


def lost(error: Exception, folder: Path, kept: bool) -> Failure:
    """What to say where another process has stopped."""
    hint = f"start all again with: deepnoise resume {folder}" if kept else "nothing was kept"
    return Failure(f"{error}; {hint}")


def check_complete(model: Any, wanted: int, folder: Path) -> None:
    """An error that says how to go on, if Ctrl-C ended the chains early."""
    drawn = model.posterior_.run.n_draws
    if drawn < wanted:
        end_line()
        persist(model, folder)
        raise Failure(
            f"interrupted: {drawn} of {wanted} draws per chain are kept in {folder}; "
            f"continue with: deepnoise resume {folder} --draws {wanted}"
        )


def persist(model: Any, folder: Path) -> None:
    """Write the model; if that fails, say what is left of it."""
    from ..inference.model_folder import ModelFileError

    try:
        model.save(folder)
    except ModelFileError as error:
        hint = f"; continue from there with: deepnoise resume {folder}" * has_model(folder)
        raise Failure(f"{error}{hint}") from error


def summarise(model: Any, folder: Path, seconds: float, as_json: bool) -> None:
    """What was done, and whether the chains agree."""
    diagnostics, plan = model.diagnostics_, model.posterior_.plan
    judgement = ("max_rhat", "min_ess", "status", "verdict", "advice")
    summary = {
        "model": str(folder),
        "rows": len(model.rows_),
        "columns": len(model.encoder_.columns),
        "chains": plan.chains,
        "draws": model.posterior_.run.n_draws,
        "seed": plan.seed,
        "seconds": round(seconds, 3),
        **{name: value for name, value in diagnostics.to_dict().items() if name in judgement},
    }
    if as_json:
        echo_json(summary)
        return
    click.echo(
        f"{summary['rows']} rows, {summary['columns']} columns, {plan.chains} chains of "
        f"{summary['draws']} draws in {duration(seconds)}, saved to {folder}"
    )
    click.echo(f"{diagnostics.verdict}\n{diagnostics.advice}")
    if (command := next_command(diagnostics, folder)) is not None:
        click.echo(command)


def next_command(diagnostics: Any, folder: Path) -> str | None:
    """The command of the advice: longer chains, or more of them."""
    if diagnostics.status == "apart":
        return f"next: the same deepnoise fit with --chains {2 * diagnostics.chains}"
    if diagnostics.status in ("moving", "short", "unknown"):
        return f"next: deepnoise resume {folder} --draws {2 * diagnostics.draws}"
    return None


def watch(model: Any) -> Callable[[int, int, Any], None]:
    """A function for the estimator's ``progress``: one line that renews itself on a terminal."""
    speed, rhat = Speed(), RunningRhat(model)
    terminal = sys.stderr.isatty()
    last = -SECONDS_A_LINE

    def report(done: int, total: int, posterior: Any) -> None:
        nonlocal last
        now, rate = time.monotonic(), speed(done)
        if not terminal and now - last < SECONDS_A_LINE and done < total:
            return
        last = now
        line = describe(done, total, rate, posterior.run.n_draws, rhat(posterior))
        end = done >= total or not terminal
        click.echo(f"\r\x1b[2K{line}" if terminal else line, err=True, nl=end)

    return report


def end_line() -> None:
    """Leave the line that renews itself, where chains stopped before their end."""
    if sys.stderr.isatty():
        click.echo(err=True)


def describe(done: int, total: int, rate: float, draws: int, rhat: float | None) -> str:
    """Such as "sampling 250/400 sweeps, 85/s, 2 s left, R-hat 1.02"."""
    line = f"{'sampling' if draws else 'warm-up'} {described(done, total, rate)}"
    return line if rhat is None else f"{line}, R-hat {rhat:.2f}"


class RunningRhat:
    """The largest R-hat of predictive means, sds and log densities at a few training rows.

    Of the last 2^k draws, up to 256, so that few shapes are compiled and all of them are small.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.found: float | None = None
        self.size, self.when = 0, float("-inf")

    def __call__(self, posterior: Any) -> float | None:
        from ..inference.diagnostics import MIN_DRAWS

        draws = min(posterior.run.n_draws, MOST_DRAWS)
        size = 1 << (draws.bit_length() - 1) if draws else 0
        late = time.monotonic() - self.when > SECONDS_BETWEEN_RHATS
        if size >= MIN_DRAWS and (size > self.size or late):
            self.found = self._compute(posterior, size)
            self.size, self.when = size, time.monotonic()
        return self.found

    def _compute(self, posterior: Any, size: int) -> float:
        from ..inference.diagnostics import diagnose
        from ..prediction.per_draw import spaced

        model = self.model.predictive_of(posterior.only(slice(-size, None)))
        rows = spaced(len(self.model.rows_), ROWS)
        return diagnose(model.functionals(rows), posterior.plan.folds).max_rhat
