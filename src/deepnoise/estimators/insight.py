"""What a posterior can say beyond its predictive density, of standardised rows.

And what pictures and influence need to know of a fitted model.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..prediction import credible, uncertainty
from ..prediction import influence as gradients
from ..prediction.density.supported import Density, SupportedDensity
from ..prediction.influence import Category, Influence
from ..prediction.per_draw import thinned
from ..prediction.uncertainty import EntropyParts, Familiarity, VarianceParts
from .predictive import PosteriorPredictive

# With these, mutual information was within 0.01 nats of what many more paths gave.
ENTROPY_DRAWS, ENTROPY_PATHS = 200, 512
# Thresholds that no outcome reaches, as numbers.
FAR = 1e300
# A mixture of so many components, smoothed within the tolerance of ``density.derived``, has no
# wiggle that can be seen.
COMPONENTS = 8000


def above(
    model: PosteriorPredictive, rows: np.ndarray, density: Density, c: ArrayLike, level: float
) -> np.ndarray:
    """P(y >= c) under the ``density`` of each row, and its credible interval; (N, 3, ...)."""
    densities, own = model.draw_densities(rows), model.unguarded(rows)
    cut = np.clip(model.scale.support.least(c), -FAR, FAR)
    if densities.n_outcomes == 1 and np.ndim(c) == 2 and np.shape(c)[0] == 1:
        found = credible.above_each(densities, np.ravel(cut), level)
        shown, plain = (law.probability_above_grid(c) for law in (density, own))
    else:
        found = credible.above(densities, cut, level)
        shown, plain = (law.probability_above(c) for law in (density, own))
    ends = [(1 - model.guard) * (end - plain) + shown for end in (found.lower, found.upper)]
    return np.stack([shown, *ends], axis=1)


def influence(model: PosteriorPredictive, rows: np.ndarray, level: float) -> Influence:
    """How each column moves mean and spread, averaged over rows."""
    densities, inputs = model.draw_densities(rows), model.units.x
    scored = [score.column for score in inputs.scores]
    slopes, scale = inputs.slopes(densities.x), np.array(inputs.scale)
    names = model.encoder.feature_names
    return gradients.influence(densities, names, slopes, scored, level, scale, categories(model))


def decompose(model: PosteriorPredictive, rows: np.ndarray) -> VarianceParts:
    """The predictive variance of each row by its sources."""
    # Its noise differs from draw to draw: few paths of each are enough.
    return uncertainty.decompose(replace(model.draw_densities(rows), paths=model.paths))


def decompose_entropy(model: PosteriorPredictive, rows: np.ndarray) -> EntropyParts:
    """The predictive entropy of each row by its sources, from some of the draws."""
    densities, whole = thinned(model.draw_densities(rows), ENTROPY_DRAWS), model.unguarded(rows)
    mixture = whole.latent if isinstance(whole, SupportedDensity) else whole
    return uncertainty.entropy_parts(mixture, replace(densities, paths=ENTROPY_PATHS))


def familiarity(model: PosteriorPredictive, rows: np.ndarray) -> Familiarity:
    """How much each row resembles the training rows, by its features and known site."""
    x = model.network_rows(rows).copy()
    x[:, len(model.units.x.scale) :] = np.nan
    later, sites = model.encoder.later_site, model.encoder.sites
    if later is not None and sites is not None:
        x[x[:, later] == 1, slice(*sites)] = np.nan
    return uncertainty.familiarity(x, model.input_laws)


def to_draw(model: Any) -> Any:
    """The same fit with as many noise paths as pictures of its densities need."""
    if not hasattr(model, "posterior_"):
        return model
    drawn = len(model.chain_weights_) * model.posterior_.run.n_draws
    many = copy(model)
    many.paths = max(model.paths, -(-COMPONENTS // drawn))
    return many


def categories(model: PosteriorPredictive) -> list[Category]:
    """The columns of text: where their inputs are, what these are, and how frequent."""
    found, first = [], 0
    mean, scale = np.array(model.units.x.mean), np.array(model.units.x.scale)
    for column in model.encoder.columns:
        places = np.arange(first, first := first + len(column.encoded_names))
        if column.levels is not None:
            inputs = (np.eye(len(places)) - mean[places]) / scale[places]
            seen = np.nanmean(np.asarray(model.rows.x[:, places], float), axis=0)
            shares = seen * scale[places] + mean[places]
            shares /= shares.sum()
            found.append(Category(column.name, column.levels, places, inputs, shares))
    return found
