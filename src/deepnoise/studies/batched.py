"""Many fits of the same shape as one program: all splits of a small set on one GPU."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import settings
from ..estimators.bdeepnoise import BDeepNoiseRegressor
from ..estimators.predictive import PATHS_A_DRAW
from ..estimators.units import Units
from ..inference.diagnostics import diagnose
from ..inference.kernels import InterweavedKernel
from ..inference.posterior import Plan, Posterior, Start, begin, chain_priors, draw_more
from ..inference.runtime import numerics
from ..inference.sampling import Run, advance, chain_keys
from ..inference.streams import PREDICTION
from ..inference.unseen import Beside, Data
from ..inference.warmstart import tied
from ..model.network import Theta
from ..prediction.density.derived import guarded
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.per_draw import DrawDensities, chain_weights
from ..prediction.predict import predictive
from .ledger import Claim, Ledger, case_of
from .runner import (
    OURS,
    Say,
    Study,
    Task,
    claimed,
    described,
    finite,
    header,
    peak_memory,
)

DIAGNOSED_ROWS = 10
START_PATHS = 200


@dataclass(frozen=True)
class Batch:
    """Draws (fit, chain, draw, ...) and the starts (fit, chain, ...)."""

    draws: Theta
    start: Start


def fit_many(plan: Plan, x: np.ndarray, y: Any, seeds: np.ndarray) -> Batch:
    """Posteriors of S data sets x (S, N, P), y (S, N, Q), standardised, with a seed each."""
    backend = ManyFits(plan, x, y, seeds)
    found = draw_more(backend.begin(), backend, plan.draws)
    each = lambda a: a.reshape(len(seeds), plan.chains, *a.shape[1:])  # noqa: E731
    return Batch(jax.tree.map(each, found.draws), jax.tree.map(np.asarray, found.start))


@dataclass
class ManyFits:
    """Data sets of one shape in memory, and the chains of all their fits, as one program."""

    plan: Plan
    x: np.ndarray
    y: Any
    seeds: np.ndarray

    @numerics()
    def begin(self) -> Posterior:
        """All chains at their starts, which have an axis of fits before that of chains."""
        plan, seeds = self.plan, jnp.asarray(self.seeds)
        rows: Any = jax.tree.map(lambda a: jnp.asarray(a, plan.dtype), (self.x, self.y))
        start, state = jax.jit(jax.vmap(partial(begin, plan.program())))(seeds, *rows)
        self.keys = jax.vmap(lambda seed: chain_keys(seed, plan.chains))(seeds)
        prior = jax.vmap(partial(chain_priors, plan))(start.theta, *rows)
        self.data = Data(rows[0], rows[1], prior)
        self.draw = jax.jit(
            jax.vmap(partial(advance, plan.kernel(), plan.thin), (0, 0, None, None, 0))
        )
        return Posterior(plan, start, Run(state, 0))

    def advance(self, run: Run, count: int, thin: int, /) -> tuple[Any, tuple[Theta, Beside], int]:
        """As of ``posterior.Backend``; in draws, the chains of all fits are on one axis."""
        kernel, data = self.plan.kernel(), self.data
        if isinstance(kernel, InterweavedKernel):
            tuning = jax.tree.map(np.asarray, run.state.tuning)
            one = lambda s: kernel.steps(jax.tree.map(lambda a: a[s], tuning), run.t)  # noqa: E731
            steps, sweeps = zip(*map(one, range(len(self.seeds))), strict=True)
            data, count = replace(data, steps=np.stack(steps)), min(count, -(-sweeps[0] // thin))
        state, new = self.draw(self.keys, run.state, run.t, count, data)
        flat = lambda a: np.asarray(a).reshape(-1, *a.shape[2:])  # noqa: E731
        return state, jax.tree.map(flat, new), count


def run_batched(study: Study, ledger: Ledger, say: Say = lambda _: None) -> int:
    """Make the missing B-DeepNoise rows, all splits of a set in one program; how many were made.

    Splits that differ in size, by a row or an input, go into programs of their own.
    """
    cases = [case for case in study.cases() if case.method == OURS]
    made = 0
    for _, group in groupby(cases, key=lambda case: (case.set, case.seed)):
        claims: dict[Any, Claim] = {}
        try:
            tasks = list(claimed(study, ledger, group, claims))
            shapes = [(len(task.X), _units(task).x.width) for task in tasks]
            for size in sorted(set(shapes)):
                for row in _rows([t for t, shape in zip(tasks, shapes) if shape == size]):
                    ledger.append(row)
                    claims.pop(case_of(row)).release(made=True)
                    made += 1
                    say(described(row))
        finally:
            for claim in claims.values():
                claim.release(made=False)
    ledger.clear_claims()
    return made


@dataclass(frozen=True)
class Together:
    """Tasks of one shape, standardised: x (S, N, P), y (S, N, 1), seeds (S,).

    ``seen`` is what chains are given of y: y itself, or the window of a rounded one.
    """

    tasks: list[Task]
    estimator: BDeepNoiseRegressor
    plan: Plan
    units: list[Units]
    x: np.ndarray
    y: np.ndarray
    seen: Any
    seeds: np.ndarray

    @classmethod
    def of(cls, tasks: list[Task]) -> "Together":
        estimator = BDeepNoiseRegressor(**tasks[0].settings)
        ties = tasks[0].rounding is None and tied(tasks[0].y[:, None])
        plan = settings.plan(estimator.get_params(deep=False), 0, len(tasks[0].X), tied=ties)
        units = [_units(task) for task in tasks]
        x = np.stack([u.x.apply(task.X) for u, task in zip(units, tasks)])
        y = np.stack([u.y.apply(task.y[:, None]) for u, task in zip(units, tasks)])
        columns = [as_columns(task.outcomes) for task in tasks]
        given = [u.y.apply(column) for u, column in zip(units, columns)]
        seen = jax.tree.map(lambda *parts: np.stack(parts), *given)
        seeds = np.array([task.case.random_state for task in tasks])
        return cls(tasks, estimator, plan, units, x, y, seen, seeds)

    def key(self, s: int) -> jax.Array:
        """That of the noise paths of predictions of task s."""
        with numerics():
            return jax.random.fold_in(jax.random.key(int(self.seeds[s])), PREDICTION)

    def predicted(self, s: int, theta: Theta, paths: int, weights=None) -> PredictiveMixture:
        """The density of the standardised test rows of task s by draws (draw, ...)."""
        test = self.units[s].x.apply(self.tasks[s].X_test)
        return predictive(self.key(s), theta, test, self.plan.h, paths, weights)

    def guarded(self, s: int, density: PredictiveMixture) -> PredictiveMixture:
        return guarded(density, self.estimator.guard, self.y[s].var(axis=0))

    def score(self, s: int, density: PredictiveMixture) -> dict[str, float | None]:
        """What the judge of task s says of a density of its standardised test rows."""
        restored = self.units[s].y.restore(density).stored()
        return finite(self.tasks[s].judge.of_density(restored))


def as_columns(outcomes: Any) -> Any:
    """(N, 1) of outcomes (N,), or of the ends of their windows."""
    return jax.tree.map(lambda a: a[:, None], outcomes)


def _units(task: Task) -> Units:
    standardize = BDeepNoiseRegressor(**task.settings).standardize
    return Units.learn(task.X, task.y[:, None], settings.standardize(standardize))


def _rows(tasks: list[Task]) -> list[dict[str, Any]]:
    fits = Together.of(tasks)
    memory, began = peak_memory(), time.perf_counter()
    batch = fit_many(fits.plan, fits.x, fits.seen, fits.seeds)
    shared = {"fit_seconds": (time.perf_counter() - began) / len(tasks), "batch": len(tasks)}

    def row(s: int) -> dict[str, Any]:
        answers = _answers(fits, batch, s)
        scores = {name: fits.score(s, density) for name, density in answers.items()}
        own = scores["stacked" if fits.estimator.combine == "stacked" else "guarded"]
        made = header(tasks[s]) | shared | {"memory_mib": memory(), "metrics": own, "parts": scores}
        return made | _agreement(fits, batch, s)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(row, range(len(tasks))))


def _answers(fits: Together, batch: Batch, s: int) -> dict[str, PredictiveMixture]:
    """Predictive densities of fit s by what each part of the method adds.

    "start" is the ensemble of the starts, "posterior" the draws alone, "guarded" and
    "stacked" with the guard, the latter with stacked chains.
    """
    flat, start = _flat(batch, s), jax.tree.map(lambda a: a[s], batch.start.theta)
    paths = fits.estimator.paths
    seen = jax.tree.map(lambda a: a[s], fits.seen)
    weights = _stacked(fits.key(s), fits.plan, flat, paths, fits.x[s], seen)
    posterior = fits.predicted(s, flat, paths)
    return {
        "start": fits.predicted(s, start, START_PATHS),
        "posterior": posterior,
        "guarded": fits.guarded(s, posterior),
        "stacked": fits.guarded(s, fits.predicted(s, flat, paths, weights)),
    }


def _stacked(key, plan: Plan, flat: Theta, paths: int, x: np.ndarray, seen: Any) -> np.ndarray:
    """A weight for every draw: the same for all of a chain, by its leave-one-out densities."""
    even = np.full(plan.chains * plan.draws, 1 / (plan.chains * plan.draws))
    unit = np.ones(jax.tree.leaves(seen)[0].shape[1])
    densities = DrawDensities(key, flat, even, x, plan.h, paths, unit, 0 * unit)
    weights = chain_weights(densities, seen, plan.chains)
    return np.repeat(weights, plan.draws) / plan.draws


def _agreement(fits: Together, batch: Batch, s: int) -> dict[str, Any]:
    """R-hat and ESS of the predictive mean at the first test rows.

    By many paths: the noise of few would hide slow chains.
    """
    flat = _flat(batch, s)
    test = fits.units[s].x.apply(fits.tasks[s].X_test)[:DIAGNOSED_ROWS]
    density = predictive(fits.key(s), flat, test, fits.plan.h, PATHS_A_DRAW)
    means = density.components().means[..., 0]
    values = means.reshape(len(means), fits.plan.chains, fits.plan.draws, -1).mean(-1)
    found = diagnose({f"mean[{i}]": value for i, value in enumerate(values)})
    return finite({"max_rhat": found.max_rhat, "min_ess": found.min_ess})


def _flat(batch: Batch, s: int) -> Theta:
    """Draws of all chains of fit s on one axis."""
    return jax.tree.map(lambda a: a[s].reshape(-1, *a.shape[3:]), batch.draws)
