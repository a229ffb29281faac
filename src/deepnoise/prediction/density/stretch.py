"""Recalibration: densities stretched about their means, by how much learnt on other rows."""

import numpy as np
from scipy.optimize import minimize_scalar

from ...model.outcome import Window
from ..metrics import nll_seen
from .components import Components
from .mixture import PredictiveMixture

LARGEST = 20.0


def stretched(density: PredictiveMixture, factor: float) -> PredictiveMixture:
    """The law of m + factor (y - m), m the mean of each row."""

    def read(start: int, stop: int) -> Components:
        inner = density.read(start, stop)
        centre = inner.mean()[:, None]
        means = centre + factor * (inner.means - centre)
        return Components(inner.weights, means, factor**2 * inner.covs)

    return PredictiveMixture.from_blocks(
        density.n_rows, density.n_outcomes, density.n_components, read
    )


def best_stretch(density: PredictiveMixture, y: np.ndarray | Window) -> float:
    """The factor, at most LARGEST and at least its inverse, with the least NLL of y."""
    weights, means, covs = density.components()
    stored = PredictiveMixture.of(means, covs, weights)
    ends = (-np.log(LARGEST), np.log(LARGEST))
    found = minimize_scalar(
        lambda log: nll_seen(stretched(stored, np.exp(log)), y), bounds=ends, method="bounded"
    )
    return float(np.exp(found.x))
