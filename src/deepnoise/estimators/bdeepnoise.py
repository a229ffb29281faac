"""``BDeepNoiseRegressor``: the paper's model behind scikit-learn's door."""

from typing import Any

import jax
import numpy as np
from sklearn.utils.validation import check_array

from ..inference.posterior import Posterior
from ..inference.warmstart import tied
from ..model.outcome import Window
from ..prediction.functionals import chain_weights
from ..prediction.guard import guarded
from ..prediction.mixture import GaussianMixture
from ..prediction.per_draw import DrawDensities
from ..prediction.predict import predictive
from . import settings
from .base import DensityRegressor
from .chains import PosteriorChains, windows_of
from .insight import PosteriorInsights
from .outcomes import as_window, check_observed, representative, taken, with_gaps

COMBINATIONS = ("equal", "stacked")


class BDeepNoiseRegressor(PosteriorChains, PosteriorInsights, DensityRegressor):
    """Density regression by a Bayesian neural network with noise in every layer.

    X may hold NaN, when fitting and when predicting: missing inputs are drawn with the rest.  y may
    hold NaN too, or be a ``Window`` of :func:`deepnoise.between`, ``rounded`` or
    ``right_censored`` where outcomes were not seen exactly.

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
    guard : float
        Share of each row's predictive density that is a normal around its mean with the variance of
        the training outcomes: what is left for a row that the chains did not foresee.  0 gives the
        posterior predictive alone.  Credible bands, decompositions and diagnostics are without it.
    combine : {"equal", "stacked"}
        Chains count equally, or by stacking of their leave-one-out densities of training rows.
    init : {"gradient", "prior"}
        Where chains start.
    sampler : {"interweaved", "gibbs"}
        "gibbs" is the paper's Algorithm 1; "interweaved" adds a Hamiltonian move between sweeps.
    standardize : bool or "scores"
        Fit in units in which every column has mean 0 and standard deviation 1; with "scores", the
        normal scores of skewed or heavy-tailed features are inputs too.
    dtype : {"float32", "float64"}
        Precision of the chains; predictions are float64.
    devices : int or "all"
        Devices of this process over which chains and rows are spread, or all devices of all
        processes of one program of ``jax.distributed``, each of which makes the same calls.
    checkpoint : path, optional
        Folder to which the chains are written every few seconds; a fit that it holds, of the same
        data and settings, is continued.
    memory_limit : int or str, optional
        Bytes, or "2GB", that all chains' latents and what is computed from them may take.  If they
        would take more, they lie on the disk of ``checkpoint`` (or of temporary files) and are
        drawn a block of rows at a time, to the same result; that needs sampler="gibbs" and data
        without gaps.  X and y themselves do not count.
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
        guard=0.001,
        combine="equal",
        init="gradient",
        sampler="interweaved",
        standardize=True,
        dtype="float32",
        devices=1,
        checkpoint=None,
        memory_limit=None,
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
        self.guard = guard
        self.combine = combine
        self.init = init
        self.sampler = sampler
        self.standardize = standardize
        self.dtype = dtype
        self.devices = devices
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.progress = progress
        self.random_state = random_state

    def _check_settings(self) -> None:
        settings.plan(self.get_params(deep=False), 0, 1)
        settings.count("paths", self.paths, 1)
        settings.share("guard", self.guard)
        settings.one_of("combine", self.combine, COMBINATIONS)
        settings.memory("memory_limit", self.memory_limit)

    def _seed(self) -> int:
        found = self._checkpoint_seed()
        return super()._seed() if found is None else found

    def _outcomes(self, y: Any) -> np.ndarray | Window:
        seen: Any = as_window(y)
        if seen is None:
            y = check_array(
                y,
                ensure_2d=False,
                dtype="numeric",
                input_name="y",
                estimator=self,
                ensure_all_finite="allow-nan",
            ).astype(np.float64)
            seen = with_gaps(y.reshape(len(y), -1))
        check_observed(seen)
        return seen

    def _fit(self, x: np.ndarray, y: Any, seed: int) -> None:
        ties = not isinstance(y, Window) and tied(y)
        plan = settings.plan(self.get_params(deep=False), seed, len(x), tied=ties)
        if self.combine == "stacked" and isinstance(y, Window) and y.lower.shape[1] > 1:
            raise ValueError("combine='stacked' needs y without gaps if there are several outcomes")
        values = np.nan_to_num(representative(y))
        self._begin(plan, x, values, windows_of(plan, y))

    def _density(self, x: np.ndarray) -> GaussianMixture:
        return guarded(self._posterior_density(x), self.guard, self._y.astype(float).var(axis=0))

    def _posterior_density(self, x: np.ndarray) -> GaussianMixture:
        plan = self.posterior_.plan
        weights, key, laws = self._draw_weights(), self._prediction_key(), self._input_laws(x)
        return predictive(key, self.posterior_.flat(), x, plan.h, self.paths, weights, laws)

    def _keep(self, posterior: Posterior) -> None:
        super()._keep(posterior)
        if self.combine == "stacked":
            densities, y = self._training_densities(slice(None))
            self.chain_weights_ = chain_weights(densities, y, len(self.chain_weights_))

    def _draw_densities(self, X: Any) -> DrawDensities:
        return self._draw_densities_at(self._rows(X))

    def _training_densities(self, rows: Any) -> tuple[DrawDensities, Any]:
        seen = taken(self._seen, rows)
        y = jax.tree.map(self._restored, seen)
        return self._draw_densities_at(self._x[rows]), y

    def _restored(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, float) * self.units_.y.scale + self.units_.y.mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
