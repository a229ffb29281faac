"""Bayesian deep ensembles of the package ``bde`` behind our door, for comparison."""

import io
from contextlib import redirect_stderr
from typing import Any

import jax
import numpy as np

from ..estimators import settings
from ..estimators.base import DensityRegressor
from ..prediction.density.mixture import PredictiveMixture
from .peers import OneOutcome, gaussians


class BDERegressor(OneOutcome, DensityRegressor):
    """Networks with a mean and a spread, trained, then moved by microcanonical Langevin dynamics.

    Needs sklearn-contrib-bde.  The defaults are those of the regression example in its README;
    its constructor's (``members=2, hidden=(4, 4), epochs=20, patience=None, warmup=50, draws=5``)
    are those of a toy.

    Parameters
    ----------
    members : int
        Networks, each the start of a chain.
    hidden : tuple of int
        Widths of the hidden layers, of rectified linear units.
    epochs : int
        Passes of the training at most.
    patience : int or None
        Passes without gain on 15 % of the rows, held out, after which training ends.
        None holds out nothing.
    warmup : int
        Steps of each chain that tune it.
    draws : int
        Draws of each chain.
    thin : int
        Steps from one draw that is kept to the next.
    standardize : bool or "scores"
        See :class:`BDeepNoiseRegressor`.
    random_state : int, RandomState or None
        Seed of everything random.
    """

    def __init__(
        self,
        members=8,
        hidden=(16, 16),
        epochs=200,
        patience=10,
        warmup=5000,
        draws=1000,
        thin=2,
        standardize=True,
        random_state=None,
    ):
        self.members = members
        self.hidden = hidden
        self.epochs = epochs
        self.patience = patience
        self.warmup = warmup
        self.draws = draws
        self.thin = thin
        self.standardize = standardize
        self.random_state = random_state

    def check_settings(self) -> None:
        self._arguments()

    def _arguments(self) -> dict[str, Any]:
        """Ours as the package calls them."""
        thin = settings.count("thin", self.thin, 1)
        patience = self.patience
        return {
            "n_members": settings.count("members", self.members, 1),
            "hidden_layers": list(settings.widths(self.hidden)),
            "epochs": settings.count("epochs", self.epochs, 1),
            "patience": patience if patience is None else settings.count("patience", patience, 1),
            "warmup_steps": settings.count("warmup", self.warmup, 1),
            "n_samples": thin * settings.count("draws", self.draws, 1),
            "n_thinning": thin,
        }

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        from bde import BdeRegressor

        settings.check_float32(x, y, "use standardize=True")
        outcome = self._single(y)
        model = BdeRegressor(**self._arguments(), seed=seed)
        # Its bar of progress cannot be turned off.
        with jax.enable_x64(False), redirect_stderr(io.StringIO()):
            self.model_ = model.fit(x, outcome)

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        with jax.enable_x64(False):
            found = np.asarray(self.model_.predict(x, raw=True), np.float64)
        found = np.moveaxis(found.reshape(-1, *found.shape[2:]), 0, 1)
        # The second output is a spread as the package maps it.
        return gaussians(found[..., 0], (np.logaddexp(0, found[..., 1]) + 1e-6) ** 2)
