"""Who shares a fit: cores of this process, and other processes, on one machine or many.

How processes meet, and which of them writes.
"""

import atexit
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import click

from .app import BadInput, Failure, first_line

SECONDS_TO_MEET = 120
SECONDS_OF_SILENCE = 100
SPLIT_FLAG = "xla_force_host_platform_device_count"
# Settings that one device only has: these chains have different rows, or rows on disk.
OF_ONE_DEVICE = ("memory_limit", "cross_fit")


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
    """Devices of this process, and other processes of the same fit.

    ``meet(settings)`` joins them for a fit of these settings of an estimator.
    """

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
            show_default="one GPU, or as many cores as share the chains evenly",
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


def join(
    devices,
    processes,
    process_id: int | None,
    coordinator: str | None,
    settings: Mapping[str, Any],
) -> Party:
    """Meet the other processes of this fit, if there are any."""
    if processes == 1:
        if process_id is not None or coordinator is not None:
            raise BadInput("--process-id and --coordinator need --processes")
        if devices is None:
            return Party(share_cores(settings))
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


def share_cores(settings: Mapping[str, Any]) -> int:
    """Make as many cores devices as are good for a fit; how many JAX then has for it."""
    wanted = good_number(settings, usable_cores(), os.environ)
    if wanted == 1:
        return 1
    _split_cpu(wanted)
    import jax

    # There may be a GPU, or JAX may have started with another number.
    found = jax.local_devices()
    return wanted if found[0].platform == "cpu" and len(found) >= wanted else 1


def good_number(settings: Mapping[str, Any], cores: int, environment: Mapping[str, str]) -> int:
    """The largest number of cores that share the chains evenly; 1 if the user has set JAX up."""
    split = "JAX_NUM_CPU_DEVICES" in environment or SPLIT_FLAG in environment.get("XLA_FLAGS", "")
    elsewhere = environment.get("JAX_PLATFORMS", "") not in ("", "cpu")
    if split or elsewhere or any(settings.get(name) is not None for name in OF_ONE_DEVICE):
        return 1
    chains = settings.get("chains")
    if not isinstance(chains, int) or chains < 1:
        return 1
    return next(n for n in range(min(cores, chains), 0, -1) if chains % n == 0)


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _split_cpu(devices: int | str) -> None:
    """Cores as devices: JAX takes a CPU for one, unless it is told before it starts."""
    told = SPLIT_FLAG in os.environ.get("XLA_FLAGS", "")
    if devices == "all" or told or not 1 < int(devices) <= usable_cores():
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


def _leave(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
