"""How far the chains have come: sweeps a second, time left, running R-hat."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

ROWS = 8
SECONDS_A_LINE = 5.0
SECONDS_BETWEEN_RHATS = 10.0
MOST_DRAWS = 256


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
