"""What a posterior can say beyond its predictive density, as methods of an estimator.

And what pictures and influence need to know of a fitted model.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..model.outcome import Window
from ..prediction import credible
from ..prediction.credible import Centiles, centiles_of
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.support import Support
from ..prediction.density.supported import Density, SupportedDensity
from ..prediction.influence import Category, Influence, influence
from ..prediction.per_draw import DrawDensities, chain_likelihoods, predictive_functionals, thinned
from ..prediction.uncertainty import EntropyParts, VarianceParts, decompose, entropy_parts
from .convergence import ChainInsights
from .units import Units

# With these, mutual information was within 0.01 nats of what many more paths gave.
ENTROPY_DRAWS, ENTROPY_PATHS = 200, 512
# Thresholds that no outcome reaches, as numbers.
FAR = 1e300
# A mixture of so many components, smoothed within the tolerance of ``density.derived``, has no
# wiggle that can be seen.
COMPONENTS = 8000


class PosteriorInsights(ChainInsights):
    """Methods for a density regressor that has draws; it has what is named here."""

    paths: int
    predict_density: Callable[[Any], Density]
    guard: float
    support_: Support
    units_: Units
    as_outcomes: Callable[[PredictiveMixture, np.ndarray], Density]
    encoded_rows: Callable[[Any], np.ndarray]
    posterior_density: Callable[[np.ndarray], PredictiveMixture]

    def draw_densities(self, X: Any) -> DrawDensities:
        """The law of every draw at the rows of X."""
        raise NotImplementedError

    def _training_densities(self, rows: Any) -> tuple[DrawDensities, np.ndarray]:
        """The law of every draw at training rows, and their y (n, Q) in the user's units."""
        raise NotImplementedError

    def _without_guard(self, X: Any) -> Density:
        """The posterior predictive alone, in the user's units."""
        rows = self.encoded_rows(X)
        return self.as_outcomes(self.units_.y.restore(self.posterior_density(rows)), rows)

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
        densities, density = self.draw_densities(X), self.predict_density(X)
        cut = np.clip(self.support_.least(c), -FAR, FAR)
        if densities.n_outcomes == 1 and np.ndim(c) == 2 and np.shape(c)[0] == 1:
            found = credible.above_each(densities, np.ravel(cut), level)
            probability = density.probability_above_grid(c)
            own = self._without_guard(X).probability_above_grid(c)
        else:
            found = credible.above(densities, cut, level)
            probability = density.probability_above(c)
            own = self._without_guard(X).probability_above(c)
        ends = [(1 - self.guard) * (end - own) + probability for end in (found.lower, found.upper)]
        return np.stack([probability, *ends], axis=1)

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
        densities = self.draw_densities(X)
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
        densities = self.draw_densities(X)
        names, inputs = self.encoder_.feature_names, self.units_.x
        scored = [score.column for score in inputs.scores]
        slopes, scale = inputs.slopes(densities.x), np.array(inputs.scale)
        return influence(densities, names, slopes, scored, level, scale, categories(self))

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
        densities = self.draw_densities(X)
        # Its noise differs from draw to draw: few paths of each are enough.
        return decompose(replace(densities, paths=self.paths))

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
        densities = thinned(self.draw_densities(X), ENTROPY_DRAWS)
        whole = self._without_guard(X)
        mixture = whole.latent if isinstance(whole, SupportedDensity) else whole
        return entropy_parts(mixture, replace(densities, paths=ENTROPY_PATHS))

    def _functionals(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        densities, y = self._training_densities(rows)
        return predictive_functionals(densities, y, len(self.chain_weights_), rows.tolist())

    def _log_likelihood(self) -> np.ndarray:
        densities, y = self._training_densities(slice(None))
        return chain_likelihoods(densities, y, len(self.chain_weights_))

    def _observed(self) -> Any:
        _, y = self._training_densities(slice(None))
        if not isinstance(y, Window):
            return y
        return {"y_lower": y.lower[:, 0], "y_upper": y.upper[:, 0]}


def to_draw(model: Any) -> Any:
    """The same fit with as many noise paths as pictures of its densities need."""
    if not hasattr(model, "posterior_"):
        return model
    drawn = len(model.chain_weights_) * model.posterior_.run.n_draws
    many = copy(model)
    many.paths = max(model.paths, -(-COMPONENTS // drawn))
    return many


def categories(model: Any) -> list[Category]:
    """The columns of text: where their inputs are, what these are, and how frequent."""
    found, first = [], 0
    mean, scale = np.array(model.units_.x.mean), np.array(model.units_.x.scale)
    for column in model.encoder_.columns:
        places = np.arange(first, first := first + len(column.encoded_names))
        if column.levels is not None:
            inputs = (np.eye(len(places)) - mean[places]) / scale[places]
            seen = np.nanmean(np.asarray(model.rows_.x[:, places], float), axis=0)
            shares = seen * scale[places] + mean[places]
            shares /= shares.sum()
            found.append(Category(column.name, column.levels, places, inputs, shares))
    return found
