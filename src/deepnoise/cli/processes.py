"""Other processes of the same fit, on one machine or many: how they meet, and which one writes."""

import atexit
import os
import sys
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import click

from .app import BadInput, Failure, first_line

SECONDS_TO_MEET = 120
SECONDS_OF_SILENCE = 100


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
            help='GPUs of this process to use, or "all". Cores of a CPU share the chains anyway.',
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


def _leave(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
