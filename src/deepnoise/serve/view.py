"""A fitted model as the server asks it: encoded rows in, its own answers out, at speed."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..prediction.density.components import Stored
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.per_draw import spaced
from .paths import QuickDensities, draw_paths

# Draws times paths of all chains: those of the default network are 8,000.
MOST_COMPONENTS = 16_000
JUDGED_ROWS = 50


@dataclass(frozen=True)
class Thinning:
    """Draws of each chain and paths of each draw that are used, of how many, and what it costs.

    No probability is further off than ``cost``, at the rows on which it was measured.
    """

    draws: int
    all_draws: int
    paths: int
    all_paths: int
    cost: float
    rows: int


def thinned(model: Any, draws: int | None, paths: int | None) -> tuple[Any, Thinning | None]:
    """The model with so many draws and paths; None leaves as many as MOST_COMPONENTS allow."""
    if not hasattr(model, "posterior_"):
        return model, None
    held, chains = model.posterior_.run.n_draws, len(model.chain_weights_)
    R = model.paths if paths is None else paths
    least = max(MOST_COMPONENTS // (chains * R), 1)
    M = min(held, least) if draws is None else draws
    if (held, model.paths) == (M, R):
        return model, None
    small = model.thinned(M, R)
    rows = np.asarray(model.rows_.x[spaced(len(model.rows_), JUDGED_ROWS)], float)
    return small, Thinning(M, held, R, model.paths, _cost(model, small, rows), len(rows))


def _cost(model: Any, small: Any, x: np.ndarray) -> float:
    """The largest change of a probability at standardised rows."""
    if hasattr(model, "classes_"):
        whole, part = (_reading(m, lambda rows: rows).predict_proba(x) for m in (model, small))
        return float(np.abs(whole - part).max())
    return float(model.network_density(x).cdf_distance(small.network_density(x)).max())


def view(model: Any) -> Any:
    """The estimator with methods that take encoded rows, and what does not depend on rows kept.

    Rows with gaps are left to the estimator, whose answers are the same but take longer.
    """
    made = _reading(model, model.units_.x.apply)
    if not hasattr(model, "posterior_"):
        return made
    flat, plan, key = (
        model.posterior_in_units().flat(),
        model.posterior_.plan,
        model.prediction_key(),
    )
    slow_densities = made.draw_densities_at
    of_draws = draw_paths(key, flat, plan.h, slow_densities(made.rows_.x[:1]).paths, shared=True)
    made.draw_densities_at = lambda x: QuickDensities.of(slow_densities(x), of_draws)
    if hasattr(model, "classes_"):
        return made
    slow, weights = made.posterior_density, model.draw_weights()
    own = draw_paths(key, flat, plan.h, model.paths, shared=False)

    def posterior_density(x: np.ndarray) -> PredictiveMixture:
        if np.isnan(x).any():
            return slow(x)
        parts = own.components(made.network_rows(x), weights)
        outcomes, components = parts.means.shape[2], parts.means.shape[1]
        return PredictiveMixture.from_blocks(len(x), outcomes, components, Stored(parts))

    made.posterior_density = posterior_density
    return made


def _reading(model: Any, rows: Any) -> Any:
    """A copy whose public methods take what ``rows`` turns into standardised rows."""
    made = copy.copy(model)
    made.encoded_rows = rows
    return made
