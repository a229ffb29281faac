"""The axis of the picture: y as the user knows it, which may not be what the network predicts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.survival import BDeepNoiseSurvival

POINTS = 161
RANGE_ROWS = 50


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values of y on which densities are drawn; ``time`` if the network predicts their logarithm.

    ``symbol`` is what formulas call it.
    """

    grid: np.ndarray
    time: bool = False

    @property
    def symbol(self) -> str:
        return "time" if self.time else "y"

    @property
    def network_grid(self) -> np.ndarray:
        return np.log(self.grid) if self.time else self.grid

    def to_network(self, c: float) -> float:
        """A threshold, as the network's number."""
        if not self.time:
            return c
        if c <= 0:
            raise ValueError(f"c must be a time above 0; it is {c:g}")
        return float(np.log(c))

    def from_network(self, values: np.ndarray) -> np.ndarray:
        """Quantiles, as the user's numbers."""
        return np.exp(values) if self.time else values

    def density(self, pdf: np.ndarray) -> np.ndarray:
        """A density of the network's number on its grid, as one of y: p(t) = p(log t) / t."""
        return pdf / self.grid if self.time else pdf


def outcome_of(model: Any, X: Any) -> Outcome:
    """An axis that holds nearly all mass of some rows, the same for every move.

    Times begin at 0 and end with the longest one of training, seen to its end or not: beyond it a
    model only extrapolates.
    """
    ends = model.predict_density(X[: min(len(X), RANGE_ROWS)]).quantile([0.005, 0.995])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if isinstance(model, BDeepNoiseSurvival):
        longest = float(np.exp(model._restored(model._y).max()))
        return Outcome(np.linspace(0, min(np.exp(high), 1.05 * longest), POINTS + 1)[1:], time=True)
    margin = 0.08 * (high - low)
    return Outcome(np.linspace(low - margin, high + margin, POINTS))
