"""``TrainedNetwork``: what the estimators that train a network have in common."""

from pathlib import Path
from typing import Any

import numpy as np

from ..estimators import files, settings
from ..model.activation import PiecewiseLinear, resolve_activation
from ..prediction.density.mixture import PredictiveMixture
from . import mlp
from .mlp import Network, Split, Training, Weights


class TrainedNetwork:
    """Methods for a density regressor whose fit is the training of a :class:`mlp.Network`.

    It has the parameters named here, writes ``_network`` and may write the others.
    """

    hidden: Any
    activation: Any
    steps: int | None
    validation: float
    weights_: Weights
    seed_: int

    def _network(self) -> Network:
        raise NotImplementedError

    def _members(self) -> int:
        return 1

    def _split(self, seed: int, rows: int) -> Split:
        return mlp.random_split(seed, rows, self._members(), self.validation)

    def _training(self, rows: int) -> Training:
        steps = None if self.steps is None else settings.count("steps", self.steps, 1)
        return Training.usual(rows, steps)

    def _shape(self) -> tuple[tuple[int, ...], PiecewiseLinear]:
        return settings.widths(self.hidden), resolve_activation(self.activation)

    def check_settings(self) -> None:
        self._shape()
        self._training(1)
        settings.share("validation", self.validation)

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        split = self._split(seed, len(x))
        self.weights_ = mlp.fit(self._network(), self._training(len(x)), seed, x, y, split)

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        return mlp.density(self._network(), self.weights_, self.seed_, x)

    def row_mean(self, x: np.ndarray) -> np.ndarray:
        """Predictive means of standardised rows, in standardised units."""
        return self._density(x).mean()

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, for :func:`deepnoise.load`.

        Parameters
        ----------
        path : path
            The folder; a model that it already holds is replaced.
        """
        files.save_arrays(self, path)
