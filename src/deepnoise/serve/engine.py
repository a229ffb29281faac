"""The answers of one fitted model: arrays with one entry for each row, computed in batches."""

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from ..estimators import insight
from ..prediction.density.support import Support
from ..prediction.density.supported import Density, SupportedDensity, grid_between
from .request import InvalidError, Question, RequestError, encode
from .view import Thinning, thinned, view

# Log times as times.
TIMES = Support("positive", low=0.0)
# Levels between which a grid of points reaches.
ENDS = (0.001, 0.999)
PACKAGES = ("jax", "numpy", "scikit-learn", "starlette", "uvicorn")

Arrays = dict[str, np.ndarray]
# Longer requests go in parts, so that a short one need not wait for all of a long one.
ROWS_A_BATCH = 32
MOST_WAITING = 256


@dataclass(frozen=True, eq=False)
class Engine:
    """A model to ask; ``kind`` is "numbers", "times" or "classes"."""

    model: Any
    view: Any
    kind: str
    outcomes: tuple[str, ...]
    thinning: Thinning | None

    @classmethod
    def of(
        cls, model: Any, outcome: str | None, draws: int | None = None, paths: int | None = None
    ) -> "Engine":
        small, thinning = thinned(model, draws, paths)
        classes, times = hasattr(model, "classes_"), hasattr(model, "predict_survival")
        kind = "classes" if classes else "times" if times else "numbers"
        count = 1 if classes else len(model.units_.y.scale)
        name = "y" if outcome is None else outcome
        names = (name,) if count == 1 else tuple(f"{name}{q}" for q in range(count))
        return cls(model, view(small), kind, names, thinning)

    def encode(self, names: list[str], rows: list[Any]) -> tuple[np.ndarray, list[str]]:
        """Encoded rows, checked, and warnings."""
        x, warnings = encode(self.model.encoder_, self.model.accepts_missing_, names, rows)
        if getattr(self.model, "exposure", None) is not None:
            try:
                self.view.exposure_offset(self.model.units_.x.apply(x))
            except ValueError as error:
                raise InvalidError(str(error)) from None
        return x, warnings

    def answer(self, x: np.ndarray, question: Question) -> Arrays:
        """What was asked of encoded rows; names are "mean", "quantiles", and so on.

        Of the q-th of several outcomes they begin with q and a dot.
        """
        if self.kind == "classes":
            return self._classes(x, question)
        rows = self.model.units_.x.apply(x)
        found = self.view.density(rows).stored()
        density = self._in_unit(found)
        if len(self.outcomes) == 1:
            answers = _of_one(density, question, 0)
            if question.interval is not None and question.above[0]:
                answers |= self._interval(rows, found, question.above[0], question.interval)
            return answers
        return {
            f"{q}.{name}": values
            for q in range(len(self.outcomes))
            for name, values in _of_one(density.marginal(q), question, q).items()
        }

    def _in_unit(self, density: Any) -> Density:
        """The density of times, of that of log times."""
        return SupportedDensity(density, TIMES) if self.kind == "times" else density

    def _interval(
        self, rows: np.ndarray, density: Density, above: tuple[float, ...], level: float
    ) -> Arrays:
        if not hasattr(self.model, "predict_above"):
            raise InvalidError(
                "interval: this model has no posterior draws, so no credible intervals"
            )
        there = np.log(above) if self.kind == "times" else np.asarray(above)
        found = insight.above(self.view, rows, density, there[None], level)
        return {"above_low": found[:, 1], "above_high": found[:, 2]}

    def _classes(self, x: np.ndarray, question: Question) -> Arrays:
        rows = self.model.units_.x.apply(x)
        found = {"probability": self.view.probabilities(rows)}
        if question.interval is not None:
            band = self.view.bands(rows, question.interval)
            found |= {"probability_low": band.lower, "probability_high": band.upper}
        return found

    def gridded(self, ends: Arrays, question: Question, x: np.ndarray) -> Question:
        """The question with values in place of ``points``, from the answer at the levels ENDS."""
        found = self.view.density(self.model.units_.x.apply(x[:1])).stored()
        density, prefixes = self._in_unit(found), [""]
        if len(self.outcomes) > 1:
            prefixes = [f"{q}." for q in range(len(self.outcomes))]
        grids = []
        for q, prefix in enumerate(prefixes):
            low, high = (
                ends[f"{prefix}quantiles"][:, 0].min(),
                ends[f"{prefix}quantiles"][:, 1].max(),
            )
            one = density.marginal(q)
            grid = grid_between(one, low, min(high, 1e300), question.points or 2)
            # All mass may lie at one value.
            grids.append(tuple(grid.tolist()) or (float(low),))
        return replace(question, grid=tuple(grids), points=None)

    def facts(self) -> dict[str, Any]:
        """What GET /v1/model says, in plain values."""
        model, judged = self.model, getattr(self.model, "diagnostics_", None)
        columns = [
            {"name": c.name, "type": "number" if c.levels is None else "category"}
            | ({} if c.levels is None else {"levels": list(c.levels)})
            | ({"site": True} if c.site else {})
            for c in model.encoder_.columns
        ]
        facts = {
            "predicts": self.kind,
            "estimator": type(model).__name__,
            "outcomes": list(self.outcomes),
            "columns": columns,
            "accepts_missing": model.accepts_missing_,
            "convergence": None
            if judged is None
            else {"settled": judged.settled, "verdict": judged.verdict, "advice": judged.advice},
            "thinned": None if self.thinning is None else vars(self.thinning),
            "versions": {"deepnoise": __version__, "python": sys.version.split()[0]}
            | {name: version(name) for name in PACKAGES},
        }
        return facts | ({"classes": model.classes_.tolist()} if self.kind == "classes" else {})


def _of_one(density: Density, question: Question, q: int) -> Arrays:
    found: Arrays = {}
    if question.mean:
        found |= {"mean": density.mean(), "sd": np.sqrt(density.var())}
    if question.quantiles:
        found["quantiles"] = density.quantile(question.quantiles)
    if question.above and question.above[q]:
        found["above"] = density.probability_above_grid(question.above[q])
    if question.grid and question.grid[q]:
        found["density"] = density.pdf_grid(question.grid[q])
    return found


def joined(parts: list[Arrays]) -> Arrays:
    """Answers to consecutive rows as one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def plain(
    engine: Engine, question: Question, arrays: Arrays, warnings: list[str]
) -> dict[str, Any]:
    """An answer as JSON's values; what is no finite number is None."""
    if engine.kind == "classes":
        classes = engine.model.classes_
        found = {
            "classes": classes.tolist(),
            "likeliest": classes[arrays["probability"].argmax(axis=1)].tolist(),
            **{name: _finite(values) for name, values in arrays.items()},
        }
    elif len(engine.outcomes) == 1:
        found = {"outcome": engine.outcomes[0]} | _plain_one(question, arrays, 0)
    else:
        parts = [
            {"outcome": name}
            | _plain_one(
                question,
                {n.removeprefix(f"{q}."): a for n, a in arrays.items() if n.startswith(f"{q}.")},
                q,
            )
            for q, name in enumerate(engine.outcomes)
        ]
        found = {"outcomes": parts}
    extra = {} if question.interval is None else {"interval": question.interval}
    return found | extra | {"warnings": warnings}


def _plain_one(question: Question, arrays: Arrays, q: int) -> dict[str, Any]:
    asked = {"levels": question.quantiles} if question.quantiles else {}
    if "above" in arrays:
        asked["thresholds"] = question.above[q]
    if "density" in arrays:
        asked["grid"] = question.grid[q]
    values = {name: _finite(array) for name, array in arrays.items()}
    return {name: list(numbers) for name, numbers in asked.items()} | values


def _finite(array: np.ndarray) -> list[Any]:
    if np.isfinite(array).all():
        return array.tolist()
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return found.tolist()


@dataclass(frozen=True, eq=False)
class Job:
    x: np.ndarray
    question: Question
    done: asyncio.Future

    @property
    def kind(self) -> tuple[Question, bool]:
        """Jobs of a kind go together; rows with gaps take another way and would delay others."""
        return self.question, bool(np.isnan(self.x).any())


class Batches:
    """``ask`` waits for an answer; ``run`` makes answers until it is cancelled.

    Nothing waits for company: a batch is what came while the one before it was computed.
    """

    def __init__(self, answer: Callable[[np.ndarray, Question], Arrays]) -> None:
        self.answer = answer
        self.waiting: asyncio.Queue[Job] = asyncio.Queue(MOST_WAITING)

    async def ask(self, x: np.ndarray, question: Question) -> Arrays:
        """The answer to any number of rows."""
        starts = range(0, len(x), ROWS_A_BATCH)
        return joined([await self._ask(x[n : n + ROWS_A_BATCH], question) for n in starts])

    async def _ask(self, x: np.ndarray, question: Question) -> Arrays:
        job = Job(x, question, asyncio.get_running_loop().create_future())
        try:
            self.waiting.put_nowait(job)
        except asyncio.QueueFull:
            busy = "too many requests are waiting; try again later"
            raise RequestError(503, busy, {"Retry-After": "1"}) from None
        return await job.done

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="deepnoise-serve") as pool:
            while True:
                for together in grouped(await self._batch()):
                    await loop.run_in_executor(pool, self._work, loop, together)

    async def _batch(self) -> list[Job]:
        """All that wait, up to ROWS_A_BATCH rows and at least one job."""
        jobs = [await self.waiting.get()]
        rows = len(jobs[0].x)
        with suppress(asyncio.QueueEmpty):
            while rows < ROWS_A_BATCH:
                jobs.append(self.waiting.get_nowait())
                rows += len(jobs[-1].x)
        # Who has left needs no answer.
        return [job for job in jobs if not job.done.done()]

    def _work(self, loop: asyncio.AbstractEventLoop, jobs: list[Job]) -> None:
        """In the thread: one answer for all, or, if that fails, one for each."""
        try:
            found = self.answer(np.concatenate([job.x for job in jobs]), jobs[0].question)
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._work(loop, [job])
                return
            loop.call_soon_threadsafe(_settle, jobs[0].done, error)
            return
        first = 0
        for job in jobs:
            rows = slice(first, first := first + len(job.x))
            part = {name: values[rows] for name, values in found.items()}
            loop.call_soon_threadsafe(_settle, job.done, part)


def grouped(jobs: list[Job]) -> list[list[Job]]:
    """Jobs of one kind together, in the order in which the first of each came."""
    groups: dict[tuple[Question, bool], list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.kind, []).append(job)
    return list(groups.values())


def _settle(done: asyncio.Future, found: Arrays | Exception) -> None:
    if done.done():
        return
    if isinstance(found, Exception):
        done.set_exception(found)
    else:
        done.set_result(found)
