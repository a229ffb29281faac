"""The chains of a fit: run from the start, a checkpoint or earlier draws on, until they settle."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import jax
import numpy as np

from ..inference import streaming
from ..inference.in_memory import InMemory
from ..inference.posterior import Plan, Posterior, draw_more
from ..inference.sharding import Crew
from ..inference.streaming import OnDisk
from ..prediction.per_draw import chain_weights
from . import settings
from .files import Checkpointer, checkpoint_seed
from .folds import Folds, TrainingRows, row_arrays
from .held_out import stacked_by_fold
from .predictive import PosteriorPredictive
from .progress import reporting

Model = TypeVar("Model", bound=PosteriorPredictive)


def run(
    plan: Plan,
    params: Mapping[str, Any],
    rows: TrainingRows,
    folds: Folds | None,
    header: dict[str, Any],
    predictive_of: Callable[[Posterior], Model],
    posterior: Posterior | None = None,
) -> Model:
    """Draw from the start, or from a checkpoint or ``posterior`` on, and weigh the chains.

    ``params`` are those of the estimator, and ``header`` is what a checkpoint says of it.
    """
    save, crew, stored = None, Crew.of(params["devices"]), row_arrays(rows, folds)
    if params["checkpoint"] is not None:
        save = Checkpointer(params["checkpoint"], plan, header, stored, crew)
        posterior = save.found if posterior is None else posterior

    def kept(drawn: Posterior) -> Model:
        return _weighed(predictive_of(_whole(drawn)), params.get("combine", "equal"))

    shown = params["progress"] if crew.leads else False
    with (
        crew.working(),
        reporting(shown) as report,
        _backend(plan, params, rows, folds) as backend,
    ):
        if crew.size > 1:
            crew.check_same(_digest(plan, posterior, stored), "rows, settings or checkpoints")
        given = backend, plan.draws, _after_segments(save, report)
        begun = backend.take_up(posterior) if posterior else backend.begin()
        found = kept(draw_more(begun, *given))
        while longer := _next_round(found, params):
            try:
                drawn = draw_more(backend.take_up(longer), *given)
            except KeyboardInterrupt:
                break
            if drawn.run.n_draws < plan.draws:
                break  # by Ctrl-C as well: the draws of the last round are kept
            found = kept(drawn)
        if save is not None:
            save.header = header | {"chain_weights": found.chain_weights.tolist()}
            save(found.posterior, last=True)
    return found


def fit_seed(random_state: Any, checkpoint: Any) -> int:
    """The seed of a fit: that of its checkpoint if none is given."""
    found = checkpoint_seed(checkpoint) if random_state is None else None
    return settings.draw_seed(random_state) if found is None else found


def _whole(posterior: Posterior) -> Posterior:
    """The posterior in this process; an error if its draws are not finite."""
    # Arrays of JAX lose their 64 bits when pickled: numpy's do not.
    start = jax.tree.map(np.asarray, posterior.start)
    posterior = replace(posterior, start=start, run=posterior.run.whole())
    if not all(np.isfinite(a).all() for a in jax.tree.leaves(posterior.draws)):
        raise ValueError(
            "some draws are not finite: the chains diverged; try dtype='float64' or "
            "standardize=True"
        )
    return posterior


def _weighed(found: Model, combine: str) -> Model:
    """Chains that count as ``combine`` says."""
    if combine == "equal":
        return found
    if found.folds is not None:
        return replace(found, chain_weights=stacked_by_fold(found))
    weights = chain_weights(*found.training_densities(), len(found.chain_weights))
    return replace(found, chain_weights=weights)


def _next_round(found: PosteriorPredictive, params: Mapping[str, Any]) -> Posterior | None:
    """The chains with another round to come; None if they have settled or have no budget left."""
    posterior = found.posterior
    if settings.fixed_length(params) or posterior.run.n_draws < posterior.plan.draws:
        return None

    def within_budget(close: bool) -> Posterior | None:
        longer = posterior.longer(close)
        most = settings.most_sweeps(params["max_sweeps"], len(found.rows), posterior.steps, close)
        return longer if longer.run.t + longer.sweeps_left <= most else None

    # Chains that are close have the shorter round and the larger budget.
    if within_budget(close=True) is None or found.diagnostics.settled:
        return None
    return within_budget(found.diagnostics.close)


def _backend(
    plan: Plan, params: Mapping[str, Any], rows: TrainingRows, folds: Folds | None
) -> AbstractContextManager[Any]:
    """These rows: in memory or, where that would not do, on disk."""
    limit = settings.memory("memory_limit", params.get("memory_limit"))
    if limit is not None and streaming.needed(plan, rows.x, rows.seen, limit):
        if params["devices"] != 1:
            raise ValueError("memory_limit needs devices=1: one device reads rows on disk")
        # Beside the checkpoint there is room on disk; a temporary folder may lie in memory.
        return closing(OnDisk(plan, rows.x, rows.seen, limit, params["checkpoint"]))
    if folds is not None:
        if params["devices"] != 1:
            raise ValueError("chains of cross_fit need devices=1: they have different rows")
        x, y, counted = folds.given(plan)
        return nullcontext(InMemory(plan, x, y, counted=counted))
    return nullcontext(InMemory(plan, rows.x, rows.seen, settings.devices(params["devices"])))


def _digest(plan: Plan, posterior: Posterior | None, rows: dict[str, np.ndarray]) -> int:
    """A number that tells fits apart: of other settings, other rows or another stage."""
    stage = -1 if posterior is None else posterior.run.t
    digest = hashlib.sha256(f"{plan} {stage}".encode())
    for values in rows.values():
        digest.update(np.ascontiguousarray(values).tobytes())
    return int.from_bytes(digest.digest()[:7])


def _after_segments(save, report):
    """A function that writes checkpoints and shows progress; None if there is neither."""
    if save is None and report is None:
        return None

    def on_segment(posterior: Posterior) -> None:
        if save is not None:
            save(posterior)
        if report is not None:
            report(posterior.run.t, posterior.run.t + posterior.sweeps_left, posterior)

    return on_segment
