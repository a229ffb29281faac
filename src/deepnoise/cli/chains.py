"""Chains that are run for a folder: nothing that was drawn is lost, whatever stops them.

One line says how far they have come.  Several processes, on one machine or many, may share a fit:
how they find each other, and who writes.
"""

import atexit
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from .app import BadInput, Failure, echo_json, first_line, note
from .models import TABLE
from .tables import located

ROWS = 8
SECONDS_A_LINE = 5.0
SECONDS_BETWEEN_RHATS = 10.0
MOST_DRAWS = 256
SECONDS_TO_MEET = 120
SECONDS_OF_SILENCE = 100


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
    from ..estimators.progress import Speed

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
    parts = [f"{'sampling' if draws else 'warm-up'} {done}/{total} sweeps"]
    if rate > 0:
        parts.append(f"{rate:.0f}/s" if rate >= 1 else f"{1 / rate:.0f} s a sweep")
        if done < total:
            parts.append(f"{duration((total - done) / rate)} left")
    if rhat is not None:
        parts.append(f"R-hat {rhat:.2f}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


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
        import jax
        import numpy as np

        from ..inference.diagnostics import diagnose

        run = posterior.run
        draws, beside = jax.tree.map(lambda a: a[:, -size:], (run.draws, run.beside))
        few = replace(posterior, run=replace(run, draws=draws, beside=beside))
        view = self.model.with_posterior(few)
        view.seed_ = posterior.plan.seed
        total = len(view.rows_)
        rows = np.unique(np.linspace(0, total - 1, min(total, ROWS)).astype(int))
        return diagnose(view.predictive_functionals(rows), posterior.plan.folds).max_rhat


class Number(click.ParamType):
    """A whole number, or a word that stands for one."""

    name = "number"

    def __init__(self, word: str) -> None:
        self.word = word

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == self.word or isinstance(value, int):
            return value
        if not value.isdecimal() or not int(value):
            self.fail(f"{value!r} is neither a whole number above 0 nor {self.word!r}", param, ctx)
        return int(value)


def process_options(command: Any) -> Any:
    """Devices of this process, and other processes of the same fit: ``meet()`` joins them."""

    @wraps(command)
    def meeting(*args, devices, processes, process_id, coordinator, **given):
        meet = partial(join, devices, processes, process_id, coordinator)
        return command(*args, meet=meet, **given)

    for option in (
        click.option("--coordinator", metavar="HOST:PORT", help="Where process 0 listens."),
        click.option("--process-id", type=click.IntRange(min=0), help="Which of them this is."),
        click.option(
            "--processes",
            type=Number("auto"),
            default=1,
            show_default=True,
            help='Processes that fit together, each started by you; "auto" under SLURM or MPI.',
        ),
        click.option(
            "--devices",
            type=Number("all"),
            default=1,
            show_default=True,
            help='GPUs of this process to use, or "all"; without a GPU, cores to share the chains.',
        ),
    ):
        meeting = option(meeting)
    return meeting


@dataclass(frozen=True)
class Party:
    """The devices of a fit, and whether this process writes and shows.

    If its work fails, the process leaves at once: Python's way out would wait for the others.
    """

    devices: int | str
    leads: bool = True
    alone: bool = True

    def __enter__(self) -> "Party":
        return self

    def __exit__(self, _, error: BaseException | None, __) -> None:
        if error is not None and not self.alone:
            atexit.register(_leave, getattr(error, "exit_code", 1))


def join(devices, processes, process_id: int | None, coordinator: str | None) -> Party:
    """Meet the other processes of this fit, if there are any."""
    if processes == 1:
        if process_id is not None or coordinator is not None:
            raise BadInput("--process-id and --coordinator need --processes")
        _split_cpu(devices)
        return Party(devices)
    if processes == "auto":
        return _met(coordinator, None, process_id)
    if process_id is None or coordinator is None:
        raise BadInput("--processes: --process-id and --coordinator HOST:PORT are needed too")
    if process_id >= processes:
        raise BadInput(f"--process-id: the last of {processes} processes is {processes - 1}")
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise BadInput(f"--coordinator must be HOST:PORT; got {coordinator!r}")
    return _met(coordinator, processes, process_id)


def _split_cpu(devices: int | str) -> None:
    """Cores as devices: JAX takes a CPU for one, unless it is told before it starts."""
    told = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if devices == "all" or told or not 1 < int(devices) <= (os.cpu_count() or 1):
        return
    import jax

    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", int(devices))


def _met(coordinator: str | None, processes: int | None, process_id: int | None) -> Party:
    import jax

    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process_id,
            initialization_timeout=SECONDS_TO_MEET,
            heartbeat_timeout_seconds=SECONDS_OF_SILENCE,
        )
    except ValueError as error:
        raise BadInput(f"--processes auto found no SLURM or MPI job: {error}") from error
    except RuntimeError as error:
        raise Failure(
            f"the processes did not meet at {coordinator or 'their coordinator'} "
            f"within {SECONDS_TO_MEET} s ({first_line(str(error))})"
        ) from error
    _keep_output_ours()
    return Party("all", jax.process_index() == 0, alone=False)


def _keep_output_ours() -> None:
    """What libraries write to the standard output goes to the errors: a program may read ours."""
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)


def lost(error: Exception, folder: Path, kept: bool) -> Failure:
    """What to say where another process has stopped."""
    hint = f"start all again with: deepnoise resume {folder}" if kept else "nothing was kept"
    return Failure(f"{error}; {hint}")


def _leave(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
