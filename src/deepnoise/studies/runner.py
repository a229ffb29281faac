"""Running a study: cases are claimed, worked on here, by processes or on a cluster, and written.

The work is one fit, from rows to scores: pure, so that any worker can do it.
"""

import platform
import resource
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .. import __version__
from ..baselines.registry import make, method
from ..estimators.base import DensityRegressor
from ..estimators.outcomes import rounded
from ..prediction import metrics
from ..prediction.density.mixture import PredictiveMixture
from .ledger import Claim, Ledger, case_of
from .spec import Case, Spec

Say = Callable[[str], None]
OURS = "bdeepnoise"
PACKAGES = ("jax", "numpy", "scikit-learn")
NOMINAL = np.linspace(0.01, 0.99, 99)


class Judge(Protocol):
    """Scores of an answer."""

    def of_density(self, density: PredictiveMixture) -> dict[str, float]: ...

    def of_quantiles(self, model: DensityRegressor, X: np.ndarray) -> dict[str, float]: ...


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a worker needs for one row of the ledger."""

    case: Case
    settings: Mapping[str, Any]
    settings_hash: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    judge: Judge
    step: float | None = None

    @property
    def rounding(self) -> float | None:
        """The ``step`` to whose multiples y was rounded, for a method that can be told: ours."""
        return self.step if self.case.method == OURS else None

    @property
    def outcomes(self) -> Any:
        """y for the method's ``fit``."""
        return self.y if self.rounding is None else rounded(self.y, self.rounding)


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


@dataclass(frozen=True, eq=False)
class OutcomeJudge:
    """Scores at outcomes; ``lattice`` holds the values that y can take, if they are few."""

    y: np.ndarray
    lattice: np.ndarray | None = None

    def of_density(self, density: PredictiveMixture) -> dict[str, float]:
        found = {
            "rmse": metrics.rmse(density, self.y),
            "nll": metrics.nll(density, self.y),
            "crps": metrics.crps(density, self.y),
            "coverage95": metrics.coverage(density, self.y, 0.95),
            "wepi95": metrics.wepi(density, self.y),
        }
        if self.lattice is not None:
            found["lattice_nll"] = metrics.lattice_nll(density, self.y, self.lattice)
        return found

    def of_quantiles(self, model: DensityRegressor, X: np.ndarray) -> dict[str, float]:
        report = model.score_report(X, self.y)
        names = {"rmse": "rmse", "crps": "crps", "coverage_95": "coverage95"}
        return {new: report[old] for old, new in names.items()} | {"wepi95": self._wepi(model, X)}

    def _wepi(self, model: DensityRegressor, X: np.ndarray) -> float:
        """As ``metrics.wepi``, the nominal level to the next 0.01."""
        low = model.predict_quantiles(X, (1 - NOMINAL) / 2)
        high = model.predict_quantiles(X, (1 + NOMINAL) / 2)
        inside = np.mean((low <= self.y[:, None]) & (self.y[:, None] <= high), axis=0)
        enough = np.flatnonzero(inside >= 0.95)
        return float(np.mean((high - low)[:, enough[0]])) if enough.size else np.inf


@dataclass(frozen=True, eq=False)
class QuantileJudge:
    """1000 × the mean distance from the true quantiles (N, levels): Table 1's error."""

    truth: np.ndarray
    levels: np.ndarray

    def of_density(self, density: PredictiveMixture) -> dict[str, float]:
        return {"l1": 1000 * metrics.quantile_l1(density, self.truth, self.levels)}

    def of_quantiles(self, model: DensityRegressor, X: np.ndarray) -> dict[str, float]:
        found = model.predict_quantiles(X, self.levels)
        return {"l1": 1000 * float(np.mean(np.abs(found - self.truth)))}


def work(task: Task) -> dict[str, Any]:
    """The row of a task; whatever goes wrong is told in it."""
    row = header(task)
    memory = peak_memory()
    began = time.perf_counter()
    try:
        model = make(task.case.method, **task.settings, random_state=task.case.random_state)
        model.fit(task.X, task.outcomes)
        fitted = time.perf_counter()
        scores = judged(model, task)
        row |= {"fit_seconds": fitted - began, "score_seconds": time.perf_counter() - fitted}
        row |= {"memory_mib": memory(), "metrics": finite(scores), **extras(model)}
    except Exception as error:  # a study goes on, whatever a method does
        return failed(task, error)
    return row


def failed(task: Task, error: BaseException) -> dict[str, Any]:
    """The row of a task that could not be done."""
    where = "".join(traceback.format_tb(error.__traceback__, limit=-3))
    return header(task) | {"error": f"{type(error).__name__}: {error}", "where": where}


def judged(model: Any, task: Task) -> dict[str, float]:
    try:
        density = model.predict_density(task.X_test)
    except NotImplementedError:
        return task.judge.of_quantiles(model, task.X_test)
    return task.judge.of_density(density.stored())  # several scores ask for its components


def versions() -> dict[str, str]:
    return {"deepnoise": __version__, **{name: version(name) for name in PACKAGES}}


def header(task: Task) -> dict[str, Any]:
    """What a row says whatever becomes of it."""
    import jax

    return {
        **asdict(task.case),
        "rows": len(task.X),
        "rounding": task.rounding,
        "settings": dict(task.settings),
        "settings_hash": task.settings_hash,
        "versions": versions(),
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def extras(model: Any) -> dict[str, Any]:
    """How well chains agree, for methods that have some."""
    diagnostics = getattr(model, "diagnostics_", None)
    if diagnostics is None:
        return {}
    return finite({"max_rhat": diagnostics.max_rhat, "min_ess": diagnostics.min_ess})


def finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """None for what JSON has no number for."""
    return {k: float(v) if np.isfinite(v) else None for k, v in values.items()}


def peak_memory() -> Callable[[], float]:
    """A function that says the peak of this process's memory since now, in MiB.

    Where the system cannot start afresh (not Linux), since the start of the process.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return _high_water


def _high_water() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
