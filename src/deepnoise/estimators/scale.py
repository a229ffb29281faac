"""What the network of a fit is of: z, outcomes on a scale without bounds, per unit of exposure."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ..model.outcome import Window
from ..prediction.comparison import one_normal
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.support import REAL, Support
from ..prediction.density.supported import Density, SupportedDensity, moved
from .outcomes import log_exposure
from .units import Inputs, Standardize, Standardizer, Units


@dataclass(frozen=True)
class NetworkScale:
    """The way from y to z and back.

    z is a logarithm or logit of outcomes with a support, less the log of the exposure, which is
    column ``exposure`` of the encoded rows.  ``standardize`` says in which units X and z are.
    """

    support: Support = REAL
    exposure: int | None = None
    standardize: Standardize = True

    def of(self, x: np.ndarray, y: Any) -> Any:
        """z of outcomes y at encoded rows."""
        offset = None if self.exposure is None else log_exposure(x[:, self.exposure])
        return _less(self.support.window(y), offset)

    def at(self, rows: np.ndarray, y: Any, units: Inputs) -> Any:
        """z of outcomes y at standardised rows."""
        return _less(self.support.window(y), self.offset(rows, units))

    def offset(self, rows: np.ndarray, units: Inputs) -> np.ndarray | None:
        """What is added to z at standardised rows; None without exposures."""
        if (place := self.exposure) is None:
            return None
        return log_exposure(rows[:, place] * units.scale[place] + units.mean[place])

    def units(self, x: np.ndarray, z: Any, sites: tuple[int, int] | None = None) -> Units:
        """Units of encoded rows and their z."""
        found = Units.learn(x, z, self.standardize, sites)
        known = isinstance(z, Window) and np.isfinite(z.lower).any()
        if self.support.is_real or not known or not self.standardize:
            return found
        # Where z has no lower end, as of every count of 0, the ends say little of where it lies.
        mean, sd = one_normal(z)
        return replace(found, y=Standardizer((mean,), (sd,)))

    def guard_variance(self, y: np.ndarray) -> np.ndarray:
        """Variances (Q,) of the guard, from numbers for standardised outcomes."""
        if not self.support.is_real and self.standardize:
            return np.ones(1)
        return y.var(axis=0)

    def constant_inputs(self, units: Inputs) -> tuple[int, ...]:
        """Inputs of the network that are always zero: exposures and their scores."""
        if self.exposure is None:
            return ()
        scores = enumerate(units.scores, len(units.scale))
        return self.exposure, *(i for i, s in scores if s.column == self.exposure)

    def inputs(self, rows: np.ndarray, units: Inputs) -> np.ndarray:
        """Inputs of the network, of standardised rows."""
        if not (constant := self.constant_inputs(units)):
            return rows
        rows = rows.copy()
        rows[:, list(constant)] = 0.0
        return rows

    def outcomes(self, z: PredictiveMixture, offset: np.ndarray | None) -> Density:
        """Densities of z as those of y."""
        if self.support.is_real:
            return z
        return SupportedDensity(z if offset is None else moved(z, offset), self.support)

    def intervals(self, z: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
        """Intervals (N, 2, Q) of z as those of y, (N, 2) of one outcome."""
        z = z if offset is None else z + offset[:, None, None]
        ends = z if self.support.is_real else self.support.value(z)
        if self.support.discrete:
            # Of a count the scores judge all of [log y, log(y + 1)): one that touches is inside.
            ends[:, 0] = np.maximum(np.ceil(np.exp(z[:, 0]) * (1 - 1e-12)) - 1, 0.0)
        return ends[..., 0] if ends.shape[-1] == 1 else ends


def _less(z: Any, offset: np.ndarray | None) -> Any:
    return z if offset is None else jax.tree.map(lambda a: a - offset[:, None], z)
