"""Density regressors of other projects behind our door, for the same tables.

Each wraps its library thinly, with that library's own defaults where it has some.  They hold the
library's objects, so they have no ``save``.
"""

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..prediction.density.mixture import PredictiveMixture
from .mlp import random_split
from .quantiles import QuantileAnswers

MOST_GP_ROWS = 5000
# Stages without gain on held-out rows after which boosting ends.
PATIENCE = 20


class OneOutcome:
    """A regressor that refuses more than one outcome."""

    def _single(self, y: np.ndarray) -> np.ndarray:
        if y.shape[1] != 1:
            raise ValueError(
                f"{type(self).__name__} takes one outcome; y has {y.shape[1]}: fit one model each"
            )
        return y[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.multi_output = False
        return tags


def gaussians(means: np.ndarray, variances: np.ndarray) -> PredictiveMixture:
    """Equal mixtures from means and variances (N, C)."""
    return PredictiveMixture.of(means[..., None], variances[..., None, None])


class NGBoostRegressor(OneOutcome, StandardizedRegressor):
    """Natural-gradient boosting with a Gaussian outcome.  Needs ngboost.

    Parameters
    ----------
    estimators : int
        Boosting stages at most; a tenth of the rows is held out to stop before.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    """

    def __init__(self, estimators=2000, standardize=True, random_state=None):
        self.estimators = estimators
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        from ngboost import NGBRegressor
        from sklearn.tree import DecisionTreeRegressor

        model = NGBRegressor(
            # As ngboost makes it, with a seed.
            Base=DecisionTreeRegressor(max_depth=3, random_state=seed),
            n_estimators=settings.count("estimators", self.estimators, 1),
            random_state=seed,
            verbose=False,
        )
        outcome, split = self._single(y), random_split(seed, len(x), 1, 0.1)
        train, held = split.train[0], split.held[0]
        judge = {"X_val": x[held], "Y_val": outcome[held], "early_stopping_rounds": PATIENCE}
        self.model_ = model.fit(x[train], outcome[train], **(judge if held.size else {}))

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        found = self.model_.pred_dist(x).params
        return gaussians(found["loc"][:, None], found["scale"][:, None] ** 2)


class BARTRegressor(OneOutcome, StandardizedRegressor):
    """Heteroscedastic Bayesian additive regression trees.  Needs stochtree.

    Parameters
    ----------
    draws : int
        Draws kept.
    burnin : int
        Draws before those.
    variance_trees : int
        Trees of the forest for the variance.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    """

    def __init__(
        self, draws=200, burnin=200, variance_trees=20, standardize=True, random_state=None
    ):
        self.draws = draws
        self.burnin = burnin
        self.variance_trees = variance_trees
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        from stochtree import BARTModel

        self.model_ = BARTModel()
        self.model_.sample(
            X_train=x,
            y_train=self._single(y),
            num_gfr=10,
            num_burnin=settings.count("burnin", self.burnin, 0),
            num_mcmc=settings.count("draws", self.draws, 1),
            general_params={"random_seed": seed, "sample_sigma2_global": False},
            variance_forest_params={
                "num_trees": settings.count("variance_trees", self.variance_trees, 1)
            },
        )

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        found = self.model_.predict(x)
        return gaussians(found["y_hat"], found["variance_forest_predictions"])


class QuantileForestRegressor(OneOutcome, QuantileAnswers, StandardizedRegressor):
    """Quantile regression forest; quantiles, no density.  Needs quantile-forest.

    Parameters
    ----------
    trees : int
        Trees of the forest.
    leaf : int
        The least number of rows in a leaf.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    """

    def __init__(self, trees=500, leaf=10, standardize=True, random_state=None):
        self.trees = trees
        self.leaf = leaf
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        from quantile_forest import RandomForestQuantileRegressor

        model = RandomForestQuantileRegressor(
            n_estimators=settings.count("trees", self.trees, 1),
            min_samples_leaf=settings.count("leaf", self.leaf, 1),
            random_state=seed,
        )
        self.model_ = model.fit(x, self._single(y))

    def _quantiles(self, x: np.ndarray, levels: np.ndarray) -> np.ndarray:
        return self.model_.predict(x, quantiles=list(levels)).reshape(len(x), len(levels), 1)


class GaussianProcessDensity(OneOutcome, StandardizedRegressor):
    """scikit-learn's Gaussian process: a squared-exponential kernel with a length a feature, noise.

    Parameters
    ----------
    restarts : int
        Starts of the optimiser beyond the first.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    """

    def __init__(self, restarts=1, standardize=True, random_state=None):
        self.restarts = restarts
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        if len(x) > MOST_GP_ROWS:
            raise ValueError(
                f"a Gaussian process takes at most {MOST_GP_ROWS} rows; X has {len(x)}"
            )
        lengths = RBF(np.ones(x.shape[1]), (1e-2, 1e4))
        kernel = ConstantKernel(1.0, (1e-3, 1e4)) * lengths + WhiteKernel(0.1, (1e-7, 10.0))
        restarts = settings.count("restarts", self.restarts, 0)
        model = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=seed)
        self.model_ = _quietly(lambda: model.fit(x, self._single(y)))

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        mean, sd = self.model_.predict(x, return_std=True)
        return gaussians(mean[:, None], sd[:, None] ** 2)


def _quietly(fit: Callable[[], Any]) -> Any:
    """A length at its bound, as for a feature without influence, is no reason to warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit()


class BDERegressor(OneOutcome, StandardizedRegressor):
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
