"""What a posterior can say beyond its predictive density, as methods of an estimator."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..inference import arviz, notebook
from ..inference.diagnostics import Diagnostics, diagnose
from ..inference.posterior import Posterior
from ..prediction import credible
from ..prediction.decompose import VarianceParts, decompose
from ..prediction.entropy import EntropyParts, entropy_parts
from ..prediction.functionals import chain_likelihoods, predictive_functionals
from ..prediction.influence import Influence, influence
from ..prediction.mixture import GaussianMixture
from ..prediction.per_draw import DrawDensities, thinned
from .encode import TableEncoder
from .units import Units

DIAGNOSED_ROWS = 50
# With these, mutual information was within 0.01 nats of what many more paths gave.
ENTROPY_DRAWS, ENTROPY_PATHS = 200, 512


class PosteriorInsights:
    """Methods for a density regressor that has draws; it has what is named here."""

    encoder_: TableEncoder
    units_: Units
    posterior_: Posterior
    chain_weights_: np.ndarray
    paths: int
    probability_above: Callable[[Any, ArrayLike], np.ndarray]
    guard: float
    _rows: Callable[[Any], np.ndarray]
    _posterior_density: Callable[[np.ndarray], GaussianMixture]
    _y: np.ndarray
    _diagnostics: Diagnostics | None

    def _draw_densities(self, X: Any) -> DrawDensities:
        """The law of every draw at the rows of X."""
        raise NotImplementedError

    def _training_densities(self, rows: Any) -> tuple[DrawDensities, np.ndarray]:
        """The law of every draw at training rows, and their y (n, Q) in the user's units."""
        raise NotImplementedError

    def _without_guard(self, X: Any) -> GaussianMixture:
        """The posterior predictive alone, in the user's units."""
        return self.units_.y.restore(self._posterior_density(self._rows(X)))

    def _html_repr(self) -> str:
        """scikit-learn's own picture of an estimator, and below it what was fitted."""
        # A mixin left of scikit-learn's base, which has the method.
        theirs: str = super()._html_repr()  # type: ignore[misc]
        if not hasattr(self, "seed_"):
            return theirs
        found = self._diagnostics
        draws = self.posterior_.run.n_draws
        pairs = {
            "fitted on": f"{len(self._y):,} rows, {len(self.encoder_.columns)} columns",
            "posterior": f"{len(self.chain_weights_)} chains, {draws} draws each",
            "seed": self.posterior_.plan.seed,
            "chains": "not judged yet: see .diagnostics_" if found is None else found.verdict,
        }
        return theirs + notebook.facts("Fitted", pairs.items())

    def predict_above(self, X: Any, c: ArrayLike, level: float = 0.95) -> np.ndarray:
        """P(y >= c | x) with a credible interval.

        Parameters
        ----------
        X : table (N, P)
        c : number, or one a row
        level : float
            Probability that the interval holds P(y >= c | x, Θ), given the data.

        Returns
        -------
        array (N, 3)
            Probability, as of :meth:`predict_density`, lower and upper end; (N, 3, Q) with more
            outcomes than one.
        """
        found = credible.above(self._draw_densities(X), c, level)
        probability = self.probability_above(X, c)
        own = self._without_guard(X).probability_above(c)
        ends = [(1 - self.guard) * (end - own) + probability for end in (found.lower, found.upper)]
        return np.stack([probability, *ends], axis=1)

    def density_bands(
        self,
        X: Any,
        grid: ArrayLike,
        level: float = 0.9,
        probabilities: ArrayLike = credible.PROBABILITIES,
    ) -> credible.DensityBands:
        """Credible bands of the density, the cdf and the quantile function of every row.

        Parameters
        ----------
        X : table (N, P)
        grid : array (G,)
            Values of y at which density and cdf are wanted.
        level : float
            Probability that a band holds the function at a point, given the data.
        probabilities : array (K,)
            Where the quantile function is wanted.
        """
        return credible.bands(self._draw_densities(X), grid, level, probabilities)

    def influence(self, X: Any, level: float = 0.95) -> Influence:
        """How strongly each encoded feature moves the mean and the spread of y, averaged over X."""
        densities = self._draw_densities(X)
        names, inputs = self.encoder_.feature_names, self.units_.x
        scored = [score.column for score in inputs.scores]
        return influence(densities, names, inputs.slopes(densities.x), scored, level)

    def decompose(self, X: Any) -> VarianceParts:
        """Predictive variance of every row: epistemic, aleatoric, and the share of each noise.

        With it comes the paper's bound on what the noise of each layer can add.
        """
        densities = self._draw_densities(X)
        # Its noise differs from draw to draw: few paths of each are enough.
        return decompose(replace(densities, paths=self.paths))

    def decompose_entropy(self, X: Any) -> EntropyParts:
        """Predictive entropy of every row: of the noise, and what knowing Theta would tell of y.

        The second part is computed from at most 200 draws, evenly spaced.
        """
        densities = thinned(self._draw_densities(X), ENTROPY_DRAWS)
        return entropy_parts(self._without_guard(X), replace(densities, paths=ENTROPY_PATHS))

    def predictive_functionals(self, rows: Sequence[int] | None = None) -> dict[str, np.ndarray]:
        """Predictive mean, sd and log density at training rows, draw by draw.

        Parameters
        ----------
        rows : list of int, optional
            Numbers of training rows; by default 50 of them, evenly spaced.

        Returns
        -------
        dict of arrays (chain, draw)
            Under the names "mean[n]", "sd[n]" and "log_density[n]" of training row n.
        """
        check_is_fitted(self)
        total, chains = len(self._y), len(self.chain_weights_)
        spread = np.linspace(0, total - 1, min(total, DIAGNOSED_ROWS)).astype(int)
        chosen = np.unique(spread) if rows is None else np.asarray(rows)
        densities, y = self._training_densities(chosen)
        return predictive_functionals(densities, y, chains, chosen.tolist())

    @property
    def diagnostics_(self) -> Diagnostics:
        """R-hat and effective sample sizes of predictive functionals, with a verdict in words."""
        check_is_fitted(self)
        if self._diagnostics is None:
            self._diagnostics = diagnose(self.predictive_functionals())
        return self._diagnostics

    def loo(self) -> arviz.Loo:
        """Leave-one-out log predictive density of the training rows, by PSIS; needs ArviZ.

        Chains count equally.
        """
        check_is_fitted(self)
        return arviz.loo(self._log_likelihood()[0])

    def to_arviz(self) -> Any:
        """Draws, log likelihood and observed y as ArviZ's own type; needs ArviZ."""
        check_is_fitted(self)
        log_likelihood, y = self._log_likelihood()
        names = {"inputs": self.units_.x.names(self.encoder_.feature_names)}
        posterior = self.posterior_
        return arviz.to_arviz(posterior, log_likelihood, y, names)

    def _log_likelihood(self) -> tuple[np.ndarray, np.ndarray]:
        """log p(y | x, Θ) of the training rows, (chain, draw, N), and their y."""
        densities, y = self._training_densities(slice(None))
        return chain_likelihoods(densities, y, len(self.chain_weights_)), y
