"""``StandardizedRegressor``: a regressor by a model of standardised rows."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..prediction.density.derived import stretched
from ..prediction.density.mixture import PredictiveMixture
from .base import DensityRegressor
from .settings import draw_seed, standardize
from .units import Units


@dataclass(frozen=True)
class StandardizedPredictive:
    """Densities in standardised units, brought into those of y."""

    standardized: Callable[[np.ndarray], PredictiveMixture]
    units: Units
    stretch: float

    def density(self, rows: np.ndarray) -> PredictiveMixture:
        """Densities of y at standardised rows."""
        found = self.units.y.restore(self.standardized(rows))
        return found if self.stretch == 1 else stretched(found, self.stretch)

    def as_outcomes(self, density: PredictiveMixture, rows: np.ndarray) -> PredictiveMixture:  # noqa: ARG002
        """Densities of y are what the model is fitted to."""
        return density


class StandardizedRegressor(DensityRegressor):
    """Encoding, units and seeds around a density model.

    A method writes ``_fit`` and ``_density``, both in standardised units, and has the parameters
    ``standardize`` and ``random_state``.
    """

    standardize: Any

    @abstractmethod
    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        """Learn from standardised rows x (N, P) and y (N, Q)."""

    @abstractmethod
    def _density(self, x: np.ndarray) -> PredictiveMixture:
        """Predictive densities of standardised rows x, in standardised units."""

    @property
    def predictive_(self) -> StandardizedPredictive:
        """What predictions are made from."""
        check_is_fitted(self)
        return StandardizedPredictive(self._density, self.units_, self.stretch_)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the density of y given X.

        Parameters
        ----------
        X : array (N, P), pandas or polars frame
            Columns of frames are remembered by name; text and categories are one-hot encoded.
        y : array (N,) or (N, Q)
            Outcomes.
        sample_weight : array (N,) of whole numbers, optional
            A row of weight k counts as k equal rows, and a row of weight 0 not at all.  Other
            weights are an error: they have no clear meaning for a posterior.

        Returns
        -------
        self
            The fitted estimator.
        """
        units = standardize(self.standardize)
        self.check_settings()
        self.__dict__.pop("seed_", None)
        self.encoder_, x, outcomes = self._learn_table(X, y, sample_weight)
        self.units_, self.stretch_ = Units.learn(x, outcomes, units), 1.0
        seed = draw_seed(self.random_state)
        self._fit(self.units_.x.apply(x), self.units_.y.apply(outcomes), seed)
        self.seed_ = seed
        return self
