"""``BDeepNoiseRegressor``: the paper's model behind scikit-learn's door."""

import warnings
from typing import Any, Self

import jax
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from ..inference.posterior import Posterior
from ..inference.warmstart import tied
from ..model.outcome import Window
from ..prediction import credible
from ..prediction.credible import Centiles, centiles_of
from ..prediction.density.support import REAL, Support
from ..prediction.density.supported import Density
from ..prediction.influence import Influence
from ..prediction.uncertainty import EntropyParts, VarianceParts
from . import chains, held_out, insight, settings
from .adapt import adapted, site_places
from .base import DensityRegressor
from .files import estimator_header
from .folds import Folds, TrainingRows
from .held_out import Groups
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
    with_gaps,
)
from .predictive import PosteriorPredictive
from .sampled import SampledEstimator
from .scale import NetworkScale

COMBINATIONS = ("equal", "stacked")


class BDeepNoiseRegressor(SampledEstimator[PosteriorPredictive], DensityRegressor):
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
        default 5,000 if the chains choose trajectories of 50 or 100 steps, fewer if of 200 or
        rows are more than 1,000, and twice as many where chains are close to settling.
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
    predictive_ : PosteriorPredictive
        What predictions are made from, for whoever needs more than the methods below.
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

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
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
        settings.standardize(self.standardize)
        self.check_settings()
        self.__dict__.pop("seed_", None)
        if sample_weight is not None and self.cross_fit is not None:
            raise ValueError(
                "cross_fit needs sample_weight=None: rows that count twice are not like new rows"
            )
        self.encoder_, x, y = self._learn_table(X, y, sample_weight)
        self.support_ = learnt(declared(self.support, self.point_mass), y)
        scale, sites = self._scale(), self.encoder_.sites
        z = scale.of(x, y)
        self.units_, self.stretch_ = scale.units(x, z, sites), 1.0

        seed = chains.fit_seed(self.random_state, self.checkpoint)
        params = self.get_params(deep=False)
        inputs, z = scale.inputs(self.units_.x.apply(x), self.units_.x), self.units_.y.apply(z)
        ties = not isinstance(z, Window) and tied(z)
        plan = settings.plan(params, seed, len(x), tied=ties, sites=sites)
        if self.combine == "stacked" and isinstance(z, Window) and z.lower.shape[1] > 1:
            raise ValueError(
                "combine='stacked' needs y without missing values where there are several outcomes"
            )
        self.folds_ = Folds.drawn(x, y, scale, plan)
        self._warn_of_lattice(z)
        self.rows_ = TrainingRows.given(plan, inputs, z)
        self.chain_weights_ = np.full(plan.chains, 1 / plan.chains)
        header = estimator_header(self, seed)
        self._keep(chains.run(plan, params, self.rows_, self.folds_, header, self.predictive_of))
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

    def _scale(self) -> NetworkScale:
        place = exposure_place(self.exposure, self.encoder_)
        return NetworkScale(self.support_, place, self.standardize)

    def predictive_of(self, posterior: Posterior) -> PosteriorPredictive:
        """What predictions would be made from other draws; also of chains that still run."""
        return PosteriorPredictive(
            encoder=self.encoder_,
            units=self.units_,
            posterior=posterior,
            chain_weights=self.chain_weights_,
            rows=self.rows_,
            scale=self._scale(),
            paths=self.paths,
            folds=self.folds_,
            guard=self.guard,
            stretch=self.stretch_,
        )

    def predict_above(self, X: Any, c: ArrayLike, level: float = 0.95) -> np.ndarray:
        """Return P(y >= c | x) of each row, with a credible interval.

        Parameters
        ----------
        X : table (N, P)
        c : number, array (N,), or [[c_1, c_2, ...]]
            One threshold for all rows, one per row, or several at once.
        level : float
            Posterior probability that the interval holds P(y >= c | x, Θ).

        Returns
        -------
        array (N, 3)
            Probability under :meth:`predict_density`, and lower and upper end of its interval;
            (N, 3, Q) for several outcomes, (N, 3, M) for M thresholds.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> p, low, high = model.fit(X, X[:, 0] ** 2).predict_above([[0.0]], 0.5)[0]
        >>> bool(low <= p <= high)
        True
        """
        rows, density = self.encoded_rows(X), self.predict_density(X)
        return insight.above(self.predictive_, rows, density, c, level)

    def centiles(self, X: Any, y: ArrayLike, level: float = 0.95) -> Centiles:
        """Place observed outcomes among those expected at the same x: normative scores.

        Parameters
        ----------
        X : table (N, P)
        y : array (N,), or (N, Q) for several outcomes
            Observed outcomes, finite.
        level : float
            Posterior probability that an interval holds the score of the true density.

        Returns
        -------
        Centiles
            ``centile``, P(Y <= y | x), and ``z``, the standard normal deviate with that centile;
            each (N, 3): the score, and lower and upper end of its credible interval.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> found = model.fit(X, X[:, 0] ** 2).centiles([[0.0], [0.0]], [-9.0, 9.0])
        >>> found.z[:, 0].round() < 0
        array([ True, False])
        """
        values = np.asarray(y, dtype=float)
        if not np.isfinite(values).all():
            raise ValueError("y must be finite")
        if self.support_.discrete or self.support_.points:
            raise ValueError("centiles need an outcome without point masses; use predict_above")
        return centiles_of(self.predict_above(X, values, level))

    def density_bands(
        self,
        X: Any,
        grid: ArrayLike,
        level: float = 0.9,
        probabilities: ArrayLike = credible.PROBABILITIES,
        widen: ArrayLike = 0.0,
    ) -> credible.DensityBands:
        """Return credible bands of the density, the cdf and the quantile function of each row.

        Parameters
        ----------
        X : table (N, P)
        grid : array (G,)
            Values of y at which to evaluate density and cdf.
        level : float
            Posterior probability that a band holds the function at a point.
        probabilities : array (K,)
            Where to evaluate the quantile function; by default 0.05, 0.1, ..., 0.95.
        widen : number or array (N,)
            Standard deviation of normal noise to add to y, for smoother bands; see
            ``deepnoise.prediction.density.derived.bandwidths``.

        Returns
        -------
        DensityBands

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> bands = model.fit(X, X[:, 0] ** 2).density_bands([[0.0], [1.0]], [0.0, 0.5, 1.0])
        >>> bands.pdf.lower.shape
        (2, 3)
        """
        densities = self.predictive_.draw_densities(self.encoded_rows(X))
        return credible.bands(densities, grid, level, probabilities, widen, self.support_)

    def influence(self, X: Any, level: float = 0.95) -> Influence:
        """Measure how strongly, and which way, each column moves the mean and the spread of y.

        Parameters
        ----------
        X : table (N, P)
            Rows to average over, without missing values.
        level : float
            Posterior probability of the intervals, and probability that no column of pure noise
            passes the noise floor.

        Returns
        -------
        Influence
            ``on_mean`` and ``on_sd`` tell which columns stand out from noise; ``levels`` tells
            what each level of a category does.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> model.fit(X, X[:, 0] ** 2).influence(X).columns
        ('x0',)
        """
        rows = self.encoded_rows(X)
        return insight.influence(self.predictive_, rows, level)

    def decompose(self, X: Any) -> VarianceParts:
        """Split the predictive variance of each row by its sources.

        Parameters
        ----------
        X : table (N, P)

        Returns
        -------
        VarianceParts
            The epistemic part, which more data would reduce; the aleatoric part, which they would
            not; the share of each noise in it; and the paper's bound for each layer.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> parts = model.fit(X, X[:, 0] ** 2).decompose([[0.0], [1.0]])
        >>> (parts.epistemic + parts.aleatoric).shape
        (2,)
        """
        rows = self.encoded_rows(X)
        return insight.decompose(self.predictive_, rows)

    def decompose_entropy(self, X: Any) -> EntropyParts:
        """Split the predictive entropy of each row into an aleatoric and an epistemic part.

        The epistemic part is the mutual information of y and the parameters Θ.  It is computed
        from at most 200 posterior draws, evenly spaced.

        Parameters
        ----------
        X : table (N, P)

        Returns
        -------
        EntropyParts
        """
        rows = self.encoded_rows(X)
        return insight.decompose_entropy(self.predictive_, rows)

    def held_out_density(self) -> Density:
        """Return the density of each training row by chains that did not see it.

        It needs a fit with ``cross_fit``.  Chains count equally in it, whatever ``combine`` is, and
        :meth:`recalibrate` does not change it.

        Returns
        -------
        PredictiveMixture or SupportedDensity
            Of the training rows, in their order.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, cross_fit=2, warmup=50, draws=20, random_state=0
        ... )
        >>> len(model.fit(X, X[:, 0] ** 2).held_out_density())
        40
        """
        return held_out.held_out_density(self.predictive_)

    def held_out_report(self) -> dict[str, float]:
        """Judge the predictive densities on the training rows, each by chains that did not see it.

        It needs a fit with ``cross_fit``.  Each chain saw a share of 1 - 1/K of the rows, so a fit
        of all of them would do slightly better.

        Returns
        -------
        dict of str to float
            As of :meth:`score_report`.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, cross_fit=2, warmup=50, draws=20, random_state=0
        ... )
        >>> list(model.fit(X, X[:, 0] ** 2).held_out_report())[:3]
        ['rmse', 'nll', 'crps']
        """
        folds = held_out.folds_of(self.predictive_, "held_out_report")
        return self._scores(self.held_out_density(), folds.y)

    def recalibrate(self, X: Any = None, y: ArrayLike | None = None) -> Self:
        """Stretch all predictive densities about their means by one factor.

        The factor, ``stretch_``, is the one with the least negative log likelihood on these rows.
        Credible bands, decompositions and diagnostics do not change.  :meth:`fit` resets it to 1.

        Parameters
        ----------
        X : table (N, P), optional
            Rows that were not used to fit.  After a fit with ``cross_fit`` none are needed: then
            each training row is predicted by chains that did not see it.
        y : array (N,) or (N, Q), optional
            Their outcomes.

        Returns
        -------
        self
        """
        if X is not None and y is not None:
            return super().recalibrate(X, y)
        if X is not None or y is not None:
            raise ValueError("recalibrate needs both X and y, or, after a cross_fit, neither")
        folds = held_out.folds_of(self.predictive_, "recalibrate without X and y")
        self._stretch_by(self.held_out_density(), folds.y)
        return self

    def predict_conformal(
        self, X: Any, coverage: float = 0.9, groups: Groups = None, guaranteed: bool = True
    ) -> np.ndarray:
        """Return prediction intervals that hold what they promise, however wrong the model is.

        They are CV+ intervals of a fit with ``cross_fit``: the model's own intervals, made wider or
        narrower by how far the training rows lay outside those of chains that did not see them.
        If new rows are exchangeable with the training rows, the interval of a new row holds its
        outcome with probability ``coverage`` or more.  That is an average over training sets and
        new rows, of all kinds together: with ``groups``, of each group by itself.

        Parameters
        ----------
        X : table (N, P)
            Rows without missing values.
        coverage : float
            Probability of the interval.
        groups : str, int, or pair of arrays, optional
            A column of X, by name or number, each of whose values is a group; or the groups of the
            training rows and those of the rows of X.
        guaranteed : bool
            False gives shorter intervals, which cover about ``coverage`` in practice; what is
            certain of them is 2 coverage - 1.

        Returns
        -------
        array (N, 2), or (N, 2, Q) for several outcomes
            Lower and upper end; infinite, with a ``ConformalWarning``, where a group is too small.
            Several outcomes have an interval each, with its own guarantee.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 60)[:, None]
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, cross_fit=2, warmup=50, draws=20, random_state=0
        ... )
        >>> model.fit(X, X[:, 0] ** 2).predict_conformal([[0.5]], 0.9).shape
        (1, 2)
        """
        x = self._features(X)
        return held_out.conformal_intervals(self.predictive_, x, coverage, groups, guaranteed)

    def adapt(self, X: Any, y: Any, sweeps: int = 200) -> Self:
        """Return a copy of this model for a site that came later, from some of its rows.

        For each posterior draw, the weights of the new site are drawn given these rows; all other
        parameters stay as they are.  That is a cut posterior: what the rows say of anything but
        their site is not used, as it would be by a new fit.  The copy predicts the sites of the
        fit and this one.  This model does not change.

        Parameters
        ----------
        X : table (N, P)
            Rows without missing values, all of one site that was not there when fitting.
        y : array (N,) or (N, Q)
            Their outcomes, exact.
        sweeps : int
            Sweeps over these rows for each draw.

        Returns
        -------
        estimator
            Of the same class, fitted; it cannot be resumed or adapted again.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = pd.DataFrame({"age": np.linspace(-1, 1, 60), "site": ["a", "b", "c"] * 20})
        >>> y = X["age"] + X["site"].map({"a": 0.0, "b": 1.0, "c": 2.0})
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, warmup=50, draws=20, sites="site", random_state=0
        ... )
        >>> rows = pd.DataFrame({"age": [0.0, 0.5], "site": ["d", "d"]})
        >>> model.fit(X, y).adapt(rows, [0.5, 1.0]).encoder_.columns[1].levels
        ('a', 'b', 'c', 'd')
        """
        check_is_fitted(self)
        sweeps = settings.count("sweeps", sweeps, 1)
        site_places(self.encoder_)
        rows, outcomes = self.encoded_rows(X), self.check_outcomes(y)
        found = adapted(self.predictive_, X, rows, outcomes, sweeps)
        return self._changed(encoder_=found.encoder, posterior_=found.posterior)

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
