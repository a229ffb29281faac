"""Running a study: cases are claimed, worked on here, by processes or on a cluster, and written."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ..baselines.registry import method
from .ledger import Claim, Ledger, case_of
from .spec import Case, Spec
from .work import Task, failed, work

Say = Callable[[str], None]


class Study(Protocol):
    spec: Spec

    def cases(self) -> list[Case]: ...

    def task(self, case: Case) -> Task: ...


def run(
    study: Study,
    ledger: Ledger,
    jobs: int = 1,
    scheduler: str | None = None,
    say: Say = lambda _: None,
) -> int:
    """Make the rows that are missing; returns how many were made.

    Parameters
    ----------
    jobs : int
        Processes on this machine.
    scheduler : str, optional
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786; its workers do the work.
    """
    cases = usable(study, say)
    claims: dict[Case, Claim] = {}
    made = 0
    tasks = claimed(study, ledger, cases, claims)
    done_by = _on_cluster(scheduler, tasks) if scheduler else _on_processes(jobs, tasks)
    try:
        for row in done_by:
            ledger.append(row)
            claims.pop(case_of(row)).release(made=True)
            made += 1
            say(described(row))
    finally:
        for claim in claims.values():
            claim.release(made=False)
    ledger.clear_claims()
    return made


def usable(study: Study, say: Say) -> list[Case]:
    """Cases whose method can run here; the others are named once."""
    missing = {name: method(name).missing for name in study.spec.methods}
    for message in filter(None, missing.values()):
        say(f"skipped: {message}")
    return [case for case in study.cases() if missing[case.method] is None]


def claimed(
    study: Study, ledger: Ledger, cases: Iterable[Case], claims: dict[Case, Claim]
) -> Iterator[Task]:
    """Tasks, each claimed when it is asked for; those made or under way elsewhere are left out."""
    done = ledger.done()
    for case in cases:
        settings_hash = study.spec.settings_hash(case.method)
        if (case, settings_hash) in done:
            continue
        claim = ledger.claim(case, settings_hash)
        if claim is not None:
            claims[case] = claim
            yield study.task(case)


def _on_processes(jobs: int, tasks: Iterator[Task]) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from map(work, tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
    yield from parallel(delayed(work)(task) for task in tasks)


def _on_cluster(scheduler: str, tasks: Iterator[Task]) -> Iterator[dict[str, Any]]:
    """Two tasks a worker at a time; those of a worker that dies are given to another by Dask."""
    with _client(scheduler) as client:
        from distributed import as_completed

        given: dict[Any, Task] = {}

        def more(count: int) -> list[Any]:
            picked = (task for _, task in zip(range(count), tasks, strict=False))
            new = {client.submit(work, task, pure=False): task for task in picked}
            given.update(new)
            return list(new)

        running = as_completed(more(2 * max(len(client.scheduler_info()["workers"]), 1)))
        for future in running:
            task, error = given.pop(future), future.exception()
            # A task whose workers die one after the other is given up by Dask.
            yield future.result() if error is None else failed(task, error)
            running.update(more(1))


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise ModuleNotFoundError("a scheduler needs Dask: pip install 'deepnoise[dask]'") from None
    try:
        client = Client(scheduler)
    except OSError as error:
        raise ValueError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client:
        yield client


def described(row: dict[str, Any]) -> str:
    """A row in one line."""
    where = f"{row['method']} {row['set']} split {row['split']}"
    if row.get("error"):
        return f"{where}: failed: {row['error']}"
    scores = "  ".join(
        f"{name} {'-' if value is None else format(value, '.4g')}"
        for name, value in row["metrics"].items()
    )
    return f"{where}: {scores}  ({row['fit_seconds']:.1f} s)"
