"""Requests that wait together are computed together, in one thread beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .engine import Arrays, joined
from .errors import RequestError
from .question import Question

# Longer requests go in parts, so that a short one need not wait for all of a long one.
ROWS_A_BATCH = 32
MOST_WAITING = 256


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
