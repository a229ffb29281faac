"""``BDeepNoiseRegressor``: the paper's model behind scikit-learn's door."""

import warnings
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from ..inference.posterior import Posterior
from ..inference.warmstart import tied
from ..model.outcome import Window
from ..prediction.comparison import one_normal
from ..prediction.density.derived import guarded
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.support import REAL, Support
from ..prediction.density.supported import Density, SupportedDensity, moved
from ..prediction.per_draw import DrawDensities, chain_weights
from ..prediction.predict import predictive
from . import settings
from .adapt import AdaptsSites
from .base import DensityRegressor
from .chains import PosteriorChains, windows_of
from .held_out import CrossFitted
from .insight import PosteriorInsights
from .outcomes import (
    LatticeWarning,
    as_window,
    check_observed,
    check_within,
    declared,
    even_width,
    exposure_place,
    lattice_step,
    learnt,
    log_exposure,
    representative,
    taken,
    with_gaps,
)
from .units import Standardizer, Units

COMBINATIONS = ("equal", "stacked")


class BDeepNoiseRegressor(
    CrossFitted, PosteriorChains, PosteriorInsights, AdaptsSites, DensityRegressor
):
    """Predict the density of y by a Bayesian neural network with noise in every layer.

    X may hold NaN, in ``fit`` and in prediction: missing inputs are drawn like other unknowns.  y
    may hold NaN too.  Where outcomes are censored or rounded, y is a ``Window``, which
    :func:`deepnoise.between`, ``rounded`` and ``right_censored`` make.

    Parameters
    ----------
    hidden : tuple of int, or int
        Widths of the hidden layers; 20 is one layer of 20.
    activation : str or PiecewiseLinear
        "hard_tanh", "relu", "leaky_relu", "hard_sigmoid" or "identity"; or "tanh", "sigmoid" or
        "softplus", which are approximated by straight pieces.
    prior : str or dict
        "default", which learns the scales of noise and weights; "wide", the same with larger
        weights, from which chains agree later; "fixed"; "paper"; "anchored"; or
        the parameters (a, b) of the inverse-gamma laws of the variances:
        ``{"weight": (a, b), "bias": (a, b), "preact": (a, b), "postact": (a, b)}``.
    chains : int
        Number of chains.  Their agreement shows whether they ran long enough.
    warmup : int, optional
        Sweeps of each chain before its first draw, in which the sampler is tuned.
    draws : int, optional
        Draws to keep from each chain.
    thin : int, optional
        Sweeps from one draw to the next.  If warmup, draws and thin are all None, chains run in
        rounds that double their length, until ``diagnostics_.settled`` is true.
    max_sweeps : int, optional
        The most sweeps of each chain, where warmup, draws and thin do not fix their number.  By
        default 4,000; fewer for more than 1,000 rows, but at least 1,600; and twice as many
        where chains are close to settling.
    paths : int
        Noise paths to simulate for each posterior draw at prediction.
    guard : float
        Weight of a wide normal in each predictive density: it has the row's mean and the variance
        of the training outcomes, and limits the loss on rows that surprise the model.  0 gives
        the posterior predictive alone.  Credible bands, decompositions and diagnostics never
        include it.
    combine : {"equal", "stacked"}
        Chains count equally, or by stacking of their leave-one-out densities at training rows; with
        ``cross_fit``, of their densities at the rows that they left out.
    cross_fit : int, optional
        Number K of folds of the rows.  Chain c leaves fold c mod K out altogether, so that each
        training row has an honest density by chains that did not see it: for
        :meth:`held_out_report`, :meth:`recalibrate` without other rows and
        :meth:`predict_conformal`.  ``chains`` must be a multiple of K.  The length of the chains is
        then fixed, as if ``warmup`` were given: a rule that stops them would look at all rows.  It
        needs X without gaps, one device and ``init="prior"``, and goes with neither
        ``memory_limit``, ``point_mass``, ``sites``, sample weights nor ``standardize="scores"``.
    init : {"prior", "gradient"}
        Where chains start: at draws of the prior, or at gradient fits.
    sampler : {"interweaved", "gibbs"}
        "gibbs" is the paper's Algorithm 1; "interweaved" adds a Hamiltonian move between sweeps.
    support : None, "positive", "counts" or (low, high)
        Where outcomes can lie, so that no density reaches further: anywhere, above 0, at the whole
        numbers from 0 on, or between two ends.  The network then predicts z, a logarithm or logit
        of y; influence, decompositions, diagnostics and leave-one-out are of z.
    point_mass : float or tuple of float, optional
        Values that y takes with a probability of their own, such as 0 of amounts that are often 0.
    exposure : str or int, optional
        Column of X by which rates are multiplied, such as the years that a count is of: the name
        of a frame's column, or its number.  For support="counts" and "positive".  It is no other
        input of the network.
    sites : str or int, optional
        Column of X with the site, scanner or batch of each row: text, categories or whole numbers.
        How much sites differ is learnt, and rows of a site that was not there when fitting get
        densities as wide as that asks for.  Needs prior="default" or "wide".
    standardize : bool or "scores"
        Scale each column to mean 0 and standard deviation 1 before fitting.  "scores" also adds
        the normal scores of skewed or heavy-tailed features as inputs.
    dtype : {"float32", "float64"}
        Precision of the chains; predictions are float64.
    devices : int or "all"
        Number of devices of this process over which to spread chains and rows.  "all" takes all
        devices of all processes of a ``jax.distributed`` program; each must make the same calls.
    checkpoint : path, optional
        Folder to which the chains are written every few seconds.  If it holds an unfinished fit
        of the same data and settings, that fit is continued.
    memory_limit : int or str, optional
        Memory for the latent variables of all chains, in bytes or as "2GB".  If they need more,
        they are kept on the disk of ``checkpoint`` (or of temporary files) and drawn in blocks of
        rows, with the same result.  That needs sampler="gibbs" and data without missing values.
        X and y themselves do not count.
    progress : None, bool or function
        None shows a bar on a terminal or in a notebook; True also writes lines elsewhere; False
        shows nothing.  A function is called with (sweeps done, sweeps in all, posterior).
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    posterior_ : Posterior
        Posterior draws of the parameters, in standardised units; with ``cross_fit`` in those of
        the rows that a chain saw.
    encoder_ : TableEncoder
        How X becomes numbers.
    units_ : Units
        The units of X and y.
    rows_ : TrainingRows
        The training rows, in standardised units.
    folds_ : Folds or None
        The folds of the rows and their units, with ``cross_fit``.
    chain_weights_ : array (chains,)
        Weight of each chain in the predictive density.
    diagnostics_ : Diagnostics
        R-hat and effective sample sizes of predictions, computed at first use.
    support_ : Support
        Where outcomes can lie.
    seed_ : int
        Seed of this fit.
    n_features_in_ : int
        Number of columns of X.
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
        warmup=None,
        draws=None,
        thin=None,
        max_sweeps=None,
        paths=10,
        guard=0.001,
        combine="equal",
        cross_fit=None,
        init="prior",
        sampler="interweaved",
        support=None,
        point_mass=None,
        exposure=None,
        sites=None,
        standardize=True,
        dtype="float32",
        devices=1,
        checkpoint=None,
        memory_limit=None,
        progress=None,
        random_state=None,
    ):
        self.hidden, self.activation, self.prior = hidden, activation, prior
        self.chains = chains
        self.warmup, self.draws, self.thin = warmup, draws, thin
        self.max_sweeps = max_sweeps
        self.paths = paths
        self.guard = guard
        self.combine = combine
        self.cross_fit = cross_fit
        self.init = init
        self.sampler = sampler
        self.support = support
        self.point_mass = point_mass
        self.exposure = exposure
        self.sites = sites
        self.standardize = standardize
        self.dtype = dtype
        self.devices = devices
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.progress = progress
        self.random_state = random_state

    def check_settings(self) -> None:
        settings.plan(self.get_params(deep=False), 0, 1)
        settings.count("paths", self.paths, 1)
        settings.share("guard", self.guard)
        settings.one_of("combine", self.combine, COMBINATIONS)
        settings.memory("memory_limit", self.memory_limit)
        settings.sites(self.sites, self.prior)
        support = declared(self.support, self.point_mass)
        if self.exposure is not None and not support.logarithmic:
            raise ValueError("exposure needs support='counts' or 'positive' without point_mass")

    def _seed(self) -> int:
        found = self._checkpoint_seed()
        return super()._seed() if found is None else found

    def check_outcomes(self, y: Any) -> np.ndarray | Window:
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
        if hasattr(self, "seed_"):
            check_within(self.support_, seen)
        return seen

    def _on_network_scale(self, x: np.ndarray, outcomes: Any) -> Any:
        self.support_ = learnt(declared(self.support, self.point_mass), outcomes)
        self._given = x, outcomes
        return self._latent(x, outcomes)

    def _latent(self, x: np.ndarray, outcomes: Any) -> Any:
        """What the network is of: z, on a scale without bounds, less the log of the exposure."""
        z, place = self.support_.window(outcomes), self._exposure_place()
        if place is None:
            return z
        return jax.tree.map(lambda a: a - log_exposure(x[:, place])[:, None], z)

    def _learnt_units(self, x: np.ndarray, z: Any, units: Any) -> Units:
        found = super()._learnt_units(x, z, units)
        known = isinstance(z, Window) and np.isfinite(z.lower).any()
        if self.support_.is_real or not known or not units:
            return found
        # Where z has no lower end, as of every count of 0, the ends say little of where it lies.
        mean, sd = one_normal(z)
        return replace(found, y=Standardizer((mean,), (sd,)))

    def _on_fitted_scale(self, rows: np.ndarray, outcomes: Any) -> Any:
        """What the fitted network predicts, of outcomes at standardised rows."""
        z, offset = self.support_.window(outcomes), self.exposure_offset(rows)
        return z if offset is None else jax.tree.map(lambda a: a - offset[:, None], z)

    def as_outcomes(self, density: PredictiveMixture, rows: np.ndarray) -> Density:
        if self.support_.is_real:
            return density
        offset = self.exposure_offset(rows)
        z = density if offset is None else moved(density, offset)
        return SupportedDensity(z, self.support_)

    def _exposure_place(self) -> int | None:
        return exposure_place(self.exposure, self.encoder_)

    def exposure_offset(self, rows: np.ndarray) -> np.ndarray | None:
        """What is added to z at standardised rows; None without exposures."""
        place = self._exposure_place()
        if place is None:
            return None
        units = self.units_.x
        return log_exposure(rows[:, place] * units.scale[place] + units.mean[place])

    def network_rows(self, rows: np.ndarray) -> np.ndarray:
        """Inputs of the network: exposures count nothing."""
        if not (constant := self._constant_inputs()):
            return rows
        rows = rows.copy()
        rows[:, list(constant)] = 0.0
        return rows

    def _constant_inputs(self) -> tuple[int, ...]:
        place, units = self._exposure_place(), self.units_.x
        if place is None:
            return ()
        scores = (i for i, s in enumerate(units.scores, len(units.scale)) if s.column == place)
        return place, *scores

    def _repeated(self, sample_weight: Any, rows: int) -> np.ndarray:
        if self.cross_fit is not None:
            raise ValueError(
                "cross_fit needs sample_weight=None: rows that count twice are not like new rows"
            )
        return super()._repeated(sample_weight, rows)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> "BDeepNoiseRegressor":
        """Draw from the posterior of the network given X and y.

        Parameters
        ----------
        X : array (N, P), pandas or polars frame
            Columns of frames are remembered by name; text and categories are one-hot encoded.
        y : array (N,) or (N, Q), or a ``Window``
            Outcomes, or what is known of them.
        sample_weight : array (N,) of whole numbers, optional
            A row of weight k counts as k equal rows, and a row of weight 0 not at all.

        Returns
        -------
        self
            The fitted estimator.
        """
        x, z = self._learn_rows(X, y, sample_weight)
        x, seed = self.network_rows(x), self._seed()
        ties = not isinstance(z, Window) and tied(z)
        params, sites = self.get_params(deep=False), self.encoder_.sites
        plan = settings.plan(params, seed, len(x), tied=ties, sites=sites)
        if self.combine == "stacked" and isinstance(z, Window) and z.lower.shape[1] > 1:
            raise ValueError(
                "combine='stacked' needs y without missing values where there are several outcomes"
            )
        self._make_folds(plan)
        self._warn_of_lattice(z)
        self._take_rows(plan, x, np.nan_to_num(representative(z)), windows_of(plan, z))
        self._run(plan)
        self.seed_ = seed
        return self

    def _warn_of_lattice(self, z: Any) -> None:
        step = None if isinstance(z, Window) else self._step(z)
        if step is not None:
            warnings.warn(
                f"y takes only {len(np.unique(z))} values, {step:g} apart, so its density can have "
                f"a spike at each. If y was rounded, fit deepnoise.rounded(y, {step:g}). Compare "
                f"models by nll_rounded.",
                LatticeWarning,
                stacklevel=3,
            )

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        variance = self._guard_variance(self.rows_.y.astype(float))
        return guarded(self.posterior_density(x), self.guard, variance)

    def _guard_variance(self, y: np.ndarray) -> np.ndarray:
        """Variances (Q,) of the guard, from numbers for standardised outcomes."""
        if not self.support_.is_real and self.standardize:
            return np.ones(1)
        return y.var(axis=0)

    def posterior_density(self, x: np.ndarray) -> PredictiveMixture:
        """The posterior predictive alone, without a guard, in standardised units."""
        plan, x = self.posterior_.plan, self.network_rows(x)
        weights, key, laws = self.draw_weights(), self.prediction_key(), self._laws_of_gaps(x)
        return predictive(
            key, self.posterior_in_units().flat(), x, plan.h, self.paths, weights, laws
        )

    def _keep(self, posterior: Posterior) -> None:
        super()._keep(posterior)
        if self.combine == "stacked" and self.folds_ is not None:
            self.chain_weights_ = self._stacked_by_fold()
        elif self.combine == "stacked":
            densities, y = self._training_densities(slice(None))
            self.chain_weights_ = chain_weights(densities, y, len(self.chain_weights_))

    def draw_densities(self, X: Any) -> DrawDensities:
        rows = self.encoded_rows(X)
        found, offset = self.draw_densities_at(self.network_rows(rows)), self.exposure_offset(rows)
        return found if offset is None else replace(found, shift=found.shift + offset[:, None])

    def _training_densities(self, rows: Any) -> tuple[DrawDensities, Any]:
        seen = taken(self.rows_.seen, rows)
        y = jax.tree.map(self.units_.y.undo, seen)
        return self.draw_densities_at(self.rows_.x[rows]), y

    def _lattice_step(self) -> float | None:
        if not isinstance(self.rows_.seen, Window):
            return self._step(self.rows_.y)
        if not self.support_.is_real:
            return None
        return even_width(jax.tree.map(self.units_.y.undo, self.rows_.seen))

    def _step(self, y: np.ndarray) -> float | None:
        return lattice_step(self.units_.y.undo(y)) if self.support_.is_real else None

    def header(self) -> dict[str, Any]:
        return {**super().header(), "support": self.support_.to_dict()}

    def restore(self, header: dict[str, Any]) -> None:
        super().restore(header)
        self.support_ = Support.from_dict(header["support"]) if "support" in header else REAL

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
