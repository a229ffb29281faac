"""The axis of the picture: y as the user knows it, which may not be what the network predicts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.survival import BDeepNoiseSurvival
from ..prediction.density.support import REAL, Support
from ..prediction.density.supported import grid_between

POINTS = 161
RANGE_ROWS = 50
TIMES = Support("positive", 0.0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values of y on which densities are drawn, and the support that leads from z to them.

    ``time`` if y is a time, whose logarithm the network predicts.  ``symbol`` is what formulas
    call it.
    """

    grid: np.ndarray
    support: Support = REAL
    time: bool = False

    @property
    def symbol(self) -> str:
        return "time" if self.time else "y"

    @property
    def network_grid(self) -> np.ndarray:
        return self.support.least(self.grid)

    @property
    def network_ends(self) -> np.ndarray:
        """The largest z of each value of the grid: the least one but where y has a point mass."""
        return self.support.most(self.grid)

    def to_network(self, c: float) -> float:
        """A threshold, as the network's number."""
        if self.time and c <= 0:
            raise ValueError(f"c must be a time above 0; it is {c:g}")
        return float(self.support.least(c))

    def from_network(self, values: np.ndarray) -> np.ndarray:
        """Quantiles, as the user's numbers."""
        return self.support.value(values)

    def density(self, pdf: np.ndarray) -> np.ndarray:
        """A density of the network's number on its grid, as one of y: p(y) = p(z) dz/dy."""
        return pdf * np.exp(self.support.log_slope(self.grid))


def outcome_of(model: Any, X: Any) -> Outcome:
    """An axis that holds nearly all mass of some rows, the same for every move.

    Times begin at 0 and end with the longest one of training, seen to its end or not: beyond it a
    model only extrapolates.
    """
    density = model.predict_density(X[: min(len(X), RANGE_ROWS)])
    ends = density.quantile([0.005, 0.995])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if isinstance(model, BDeepNoiseSurvival):
        longest = float(np.exp(model.units_.y.undo(model.rows_.y).max()))
        times = np.linspace(0, min(np.exp(high), 1.05 * longest), POINTS + 1)[1:]
        return Outcome(times, TIMES, time=True)
    margin, support = 0.08 * (high - low), getattr(model, "support_", REAL)
    grid = grid_between(density, low - margin, high + margin, POINTS)
    if not support.discrete:
        grid = grid[(grid > support.low) & (grid < support.high)]
    return Outcome(grid, support)
