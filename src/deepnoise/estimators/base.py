"""``DensityRegressor``: one scikit-learn door for every method that answers with densities."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from ..prediction import metrics
from ..prediction.mixture import GaussianMixture
from ..prediction.selection import LOSSES, OutcomeSelection, select
from ..prediction.stretch import best_stretch, stretched
from .crossfit import held_out_losses, outcome_names, seen_or_missing
from .encode import TableEncoder
from .outcomes import as_window, exact_rows, representative, taken
from .settings import count, one_of, standardize
from .table import TableInputs
from .units import Units

COVERAGES = (0.5, 0.8, 0.9, 0.95)


class DensityRegressor(TableInputs, RegressorMixin, BaseEstimator, ABC):
    """Encoding, units and seeds around a density model.

    A method writes ``_fit`` and ``_density``, both in standardised units, has the parameters
    ``standardize`` and ``random_state``, and may check its others in ``_check_settings``.

    Results are numpy float64.  With one outcome they have no axis for it, whether y was (N,) or
    (N, 1); with Q > 1 outcomes they carry a last axis Q.
    """

    standardize: Any
    random_state: Any
    stretch_: float

    @abstractmethod
    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        """Learn from standardised rows x (N, P) and y (N, Q)."""

    @abstractmethod
    def _density(self, x: np.ndarray) -> GaussianMixture:
        """Predictive densities of standardised rows x, in standardised units."""

    def _check_settings(self) -> None:
        """Raise a ValueError that names the argument and the fix."""

    def _seed(self) -> int:
        return draw_seed(self.random_state)

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "DensityRegressor":
        """Learn the density of y given X.

        Parameters
        ----------
        X : array (N, P), pandas or polars frame
            Columns of frames are remembered by name; text and categories are one-hot encoded.
        y : array (N,) or (N, Q)
        sample_weight : array (N,) of whole numbers, optional
            A row of weight k counts as k equal rows, one of weight 0 not at all.  Only replication
            has a clear meaning for a posterior; other weights are refused.

        Returns
        -------
        self
        """
        units = standardize(self.standardize)
        self._check_settings()
        self.__dict__.pop("seed_", None)
        self.encoder_, x, outcomes = self._learn_table(X, y)
        if sample_weight is not None:
            rows = replicated(sample_weight, len(x))
            x, outcomes = x[rows], taken(outcomes, rows)
        self.units_ = Units.learn(x, outcomes, units)
        self.stretch_ = 1.0
        seed = self._seed()
        self._fit(self.units_.x.apply(x), self.units_.y.apply(outcomes), seed)
        self.seed_ = seed
        return self

    def __sklearn_is_fitted__(self) -> bool:
        # The seed is set last: a fit that failed leaves no half-fitted estimator.
        return hasattr(self, "seed_")

    def _learn_table(self, X: Any, y: Any) -> tuple[TableEncoder, np.ndarray, Any]:
        X = self._checked(X) if y is not None else self._checked(X, y)
        outcomes = self._outcomes(y)
        values = representative(outcomes)
        check_consistent_length(X, values)
        if values.shape[1] == 0:
            raise ValueError("y has no columns")
        return *self._learn_inputs(X), outcomes

    def _outcomes(self, y: Any) -> Any:
        """Outcomes (N, Q), or windows of them where a method has a use for them."""
        if as_window(y) is not None:
            raise ValueError(f"{type(self).__name__} needs outcomes that were seen exactly")
        outcomes = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=self)
        return outcomes.astype(np.float64).reshape(len(outcomes), -1)

    def predict_density(self, X: Any) -> GaussianMixture:
        """Predictive density of every row, in the units of y.

        Its components are computed block by block when asked for, so X may be large.
        """
        rows = self._rows(X)
        density = self.units_.y.restore(self._density(rows))
        return density if self.stretch_ == 1 else stretched(density, self.stretch_)

    def recalibrate(self, X: Any, y: ArrayLike) -> "DensityRegressor":
        """Stretch all predictive densities about their means, by what suits these rows best.

        The rows must be others than those of the fit.  One factor, of least NLL, is learnt:
        ``stretch_``.  Credible bands and what else is said of the posterior itself stay as they
        are; :meth:`fit` forgets the factor.
        """
        check_is_fitted(self)
        seen = self._outcomes(y)
        exact = exact_rows(seen)
        if not exact.all():
            raise ValueError("y: recalibration needs outcomes that were seen exactly")
        self.stretch_ = 1.0
        self.stretch_ = best_stretch(self.predict_density(X), representative(seen))
        return self

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "stretch": getattr(self, "stretch_", 1.0)}

    def _restore(self, header: dict[str, Any]) -> None:
        super()._restore(header)
        self.stretch_ = float(header.get("stretch", 1.0))

    def predict(self, X: Any) -> np.ndarray:
        """Predictive mean; (N,)."""
        return self.predict_density(X).mean()

    def predict_interval(self, X: Any, coverage: float = 0.95) -> np.ndarray:
        """Ends of the central predictive interval; (N, 2)."""
        return self.predict_density(X).interval(coverage)

    def predict_quantiles(self, X: Any, levels: ArrayLike = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Predictive quantiles; (N, M) at M levels, (N,) at a single one."""
        return self.predict_density(X).quantile(levels)

    def probability_above(self, X: Any, c: ArrayLike) -> np.ndarray:
        """P(y >= c | x), c a number or one a row; (N,)."""
        return self.predict_density(X).probability_above(c)

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """n draws of y for every row; (N, n).  Without ``random_state``, the same at every call."""
        density = self.predict_density(X)
        return density.sample(self.seed_ if random_state is None else draw_seed(random_state), n)

    def score_report(self, X: Any, y: ArrayLike) -> dict[str, float]:
        """How good the densities are: rmse, nll, crps, and coverage at 50, 80, 90 and 95 %.

        The nll of an outcome that is only known to lie in a window is that of the window's mass;
        the other scores are of the rows that were seen exactly.

        ``score`` is the coefficient of determination R² of the predictive mean, as for every
        scikit-learn regressor.
        """
        density, seen = self.predict_density(X), self._outcomes(y)
        nll, exact = metrics.nll_seen(density, seen), exact_rows(seen)
        if not exact.any():
            return {"nll": nll}
        if not exact.all():
            density = density[exact]
        y = representative(seen)[exact]
        report = {"rmse": metrics.rmse(density, y), "nll": nll, "crps": metrics.crps(density, y)}
        off_centre = np.abs(2 * metrics.pit(density, y) - 1)
        for level in COVERAGES:
            report[f"coverage_{round(100 * level)}"] = float(np.mean(off_centre <= level))
        return report

    def select_outcomes(
        self,
        X: Any,
        y: ArrayLike,
        folds: int = 10,
        loss: str = "squared",
        threshold: float = 0.0,
        certainty: float = 0.95,
    ) -> OutcomeSelection:
        """Which outcomes the inputs can predict at all, as a posterior probability.

        Fits anew on all rows but those of a fold, for every fold, and judges each row by the fit
        that has not seen it; this estimator is left as it is.

        Parameters
        ----------
        X, y : as for :meth:`fit`
        folds : int
            Number of fits.
        loss : {"squared", "crps"}
            "squared" asks whether the mean can be predicted; its skill is R².  "crps" sees any
            change of the density, also of its spread alone.
        threshold : float
            Skill, the share of the loss that the inputs must take away, that counts.
        certainty : float
            Posterior probability of more than that from which on an outcome is predictable.
        """
        one_of("loss", loss, tuple(LOSSES))
        if not 0 < certainty < 1 or not 0 <= threshold < 1:
            raise ValueError(
                f"certainty must be between 0 and 1, threshold at least 0 and below 1; "
                f"got {certainty} and {threshold}"
            )
        outcomes = seen_or_missing(clone(self)._learn_table(X, y)[2])
        if not 2 <= count("folds", folds, 2) <= len(outcomes):
            raise ValueError(f"folds must be from 2 to the {len(outcomes)} rows; got {folds}")
        names = outcome_names(y, outcomes.shape[1])
        varies = np.nanmin(outcomes, axis=0) < np.nanmax(outcomes, axis=0)
        constant = [name for name, yes in zip(names, varies, strict=True) if not yes]
        if constant:
            raise ValueError(f"y: {', '.join(constant)} never varies; leave it out")
        seed = draw_seed(self.random_state)
        losses = held_out_losses(self, X, outcomes, folds, loss, seed)
        return select(losses, names, loss, threshold, certainty, seed)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.categorical = False
        return tags


def replicated(sample_weight: ArrayLike, rows: int) -> np.ndarray:
    """Numbers of rows, each as often as its weight says."""
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight must have one value a row, ({rows},); got {weights.shape}")
    wrong = weights[(weights < 0) | (weights % 1 != 0)]
    if wrong.size or not weights.any():
        raise ValueError(
            f"sample_weight must be whole numbers, how many equal rows each row stands for; "
            f"got {wrong[0] if wrong.size else 'zeros only'}"
        )
    return np.repeat(np.arange(rows), weights.astype(int))


def draw_seed(random_state: Any) -> int:
    """A whole number is the seed itself; otherwise one is drawn, as scikit-learn does."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**32:
            raise ValueError(f"random_state must be from 0 to 2**32 - 1; got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
