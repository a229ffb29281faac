"""``BDeepNoiseRegressor``: the paper's model behind scikit-learn's door."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import posterior as chains_of
from ..inference.posterior import Plan, Posterior
from ..inference.runtime import numerics
from ..prediction.mixture import GaussianMixture
from ..prediction.per_draw import DrawDensities
from ..prediction.predict import predictive
from . import files, settings
from .base import DensityRegressor
from .checkpoint import Checkpointer, checkpoint_seed, estimator_header
from .insight import PosteriorInsights
from .progress import reporting

# Chains use fold_in(key(seed), chain); this number is no chain's.
PREDICTION = 2**32 - 1
# Credible intervals need the law of each single draw, hence more paths than the predictive does.
PATHS_A_DRAW = 64
LARGEST_FLOAT32 = 1e15


class BDeepNoiseRegressor(PosteriorInsights, DensityRegressor):
    """Density regression by a Bayesian neural network with noise in every layer.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the hidden layers.
    activation : str or PiecewiseLinear
        "hard_tanh", "relu", "leaky_relu", "hard_sigmoid", "identity", or a smooth one that is
        approximated: "tanh", "sigmoid", "softplus".
    prior : str or dict
        "default", "paper", "anchored", or (a, b) of the inverse-gamma laws of the variances:
        ``{"weight": (a, b), "bias": (a, b), "preact": (a, b), "postact": (a, b)}``.
    chains, warmup, draws, thin : int
        Chains, sweeps of each before the first draw, draws kept of each, sweeps from draw to draw.
    paths : int
        Noise paths simulated per draw at prediction.
    init : {"gradient", "prior"}
        Where chains start.
    sampler : {"interweaved", "gibbs"}
        "gibbs" is the paper's Algorithm 1; "interweaved" adds a Hamiltonian move between sweeps.
    standardize : bool
        Fit in units in which every column has mean 0 and standard deviation 1.
    dtype : {"float32", "float64"}
        Precision of the chains; predictions are float64.
    checkpoint : path, optional
        Folder to which the chains are written every few seconds; a fit that it holds, of the same
        data and settings, is continued.
    progress : None, bool or function
        None shows a bar on a terminal or in a notebook, True also writes lines elsewhere; a
        function is called with (sweeps done, sweeps in all, posterior).
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    posterior_ : Posterior
        Draws of the parameters, in standardised units.
    encoder_, units_ : TableEncoder, Units
        How X becomes numbers, and the units of X and y.
    chain_weights_ : array (chains,)
        Probabilities of the chains in the predictive density.
    diagnostics_ : Diagnostics
        R-hat and effective sample sizes of predictive functionals, computed when first asked for.
    seed_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X was a table with named columns.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> density = model.fit(x, x[:, 0] ** 2).predict_density([[0.0], [1.0]])
    >>> density.quantile([0.05, 0.5, 0.95]).shape
    (2, 3)
    """

    def __init__(
        self,
        hidden=(20, 20),
        activation="hard_tanh",
        prior="default",
        chains=4,
        warmup=800,
        draws=200,
        thin=4,
        paths=10,
        init="gradient",
        sampler="interweaved",
        standardize=True,
        dtype="float32",
        checkpoint=None,
        progress=None,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.prior = prior
        self.chains = chains
        self.warmup = warmup
        self.draws = draws
        self.thin = thin
        self.paths = paths
        self.init = init
        self.sampler = sampler
        self.standardize = standardize
        self.dtype = dtype
        self.checkpoint = checkpoint
        self.progress = progress
        self.random_state = random_state

    def _check_settings(self) -> None:
        settings.plan(self.get_params(deep=False), 0, 1)
        settings.count("paths", self.paths, 1)

    def _seed(self) -> int:
        found = checkpoint_seed(self.checkpoint) if self.random_state is None else None
        return super()._seed() if found is None else found

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        plan = settings.plan(self.get_params(deep=False), seed, len(x))
        for name, values in (("X", x), ("y", y)):
            if plan.dtype == "float32" and np.abs(values).max() > LARGEST_FLOAT32:
                raise ValueError(
                    f"{name} holds values too large for float32; "
                    f"use standardize=True or dtype='float64'"
                )
        self._x, self._y = x.astype(plan.dtype), y.astype(plan.dtype)
        self.chain_weights_ = np.full(plan.chains, 1 / plan.chains)
        self._run(plan)

    def resume(self, draws: int) -> "BDeepNoiseRegressor":
        """Continue the chains until each has ``draws`` draws, as if they had never stopped."""
        check_is_fitted(self)
        plan = replace(self.posterior_.plan, draws=settings.count("draws", draws, 1))
        if draws > self.posterior_.run.n_draws:
            self._run(plan, replace(self.posterior_, plan=plan))
        return self

    def _run(self, plan: Plan, posterior: Posterior | None = None) -> None:
        """Draw, from the start, from a checkpoint or from ``posterior`` on, and keep the result."""
        save = None
        if self.checkpoint is not None:
            header = estimator_header(self, plan.seed)
            save = Checkpointer(self.checkpoint, plan, header, self._x, self._y)
            posterior = save.found if posterior is None else posterior
        with reporting(self.progress) as report:
            on_segment = _after_segments(plan, save, report)
            if posterior is None:
                posterior = chains_of.fit(plan, self._x, self._y, on_segment)
            else:
                posterior = chains_of.resume(posterior, self._x, self._y, plan.draws, on_segment)
        self._keep(posterior)
        if save is not None:
            save(posterior, last=True)

    def _keep(self, posterior: Posterior) -> None:
        # Arrays of JAX lose their 64 bits when pickled: numpy's do not.
        start, state = jax.tree.map(np.asarray, (posterior.start, posterior.run.state))
        posterior = replace(posterior, start=start, run=replace(posterior.run, state=state))
        if not all(np.isfinite(a).all() for a in jax.tree.leaves(posterior.draws)):
            raise ValueError("the chains left the range of numbers; try dtype='float64'")
        self.posterior_ = posterior
        self._diagnostics = None

    def save(self, path: str | Path) -> None:
        """Write the model to a folder, for ``deepnoise.load``."""
        files.save(self, path)

    def _draw_weights(self) -> np.ndarray:
        return np.repeat(self.chain_weights_, draws := self.posterior_.run.n_draws) / draws

    def _prediction_key(self) -> jax.Array:
        with numerics():
            return jax.random.fold_in(jax.random.key(self.posterior_.plan.seed), PREDICTION)

    def _density(self, x: np.ndarray) -> GaussianMixture:
        plan = self.posterior_.plan
        weights, key = self._draw_weights(), self._prediction_key()
        return predictive(key, self.posterior_.flat(), x, plan.h, self.paths, weights)

    def _draw_densities(self, X: Any) -> DrawDensities:
        return self._draw_densities_at(self._rows(X))

    def _draw_densities_at(self, x: np.ndarray) -> DrawDensities:
        return DrawDensities(
            key=self._prediction_key(),
            draws=self.posterior_.flat(),
            weights=self._draw_weights(),
            x=x,
            h=self.posterior_.plan.h,
            paths=max(self.paths, PATHS_A_DRAW),
            scale=np.array(self.units_.y.scale),
            shift=np.array(self.units_.y.mean),
        )

    def _training_densities(self, rows: Any) -> tuple[DrawDensities, np.ndarray]:
        check_is_fitted(self)
        y = self._y[rows].astype(float) * self.units_.y.scale + self.units_.y.mean
        return self._draw_densities_at(self._x[rows]), y


def _after_segments(plan: Plan, save, report):
    """A function that writes checkpoints and shows progress; None if there is neither."""
    if save is None and report is None:
        return None
    total = (-(-plan.warmup // plan.thin) + plan.draws) * plan.thin

    def on_segment(posterior: Posterior) -> None:
        if save is not None:
            save(posterior)
        if report is not None:
            report(posterior.run.t, total, posterior)

    return on_segment
