"""``DensityRegressor``: one scikit-learn door for every method that answers with densities."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from ..prediction import metrics
from ..prediction.density.derived import best_stretch
from ..prediction.density.supported import Density
from ..prediction.selection import LOSSES, OutcomeSelection, select
from .encode import TableEncoder
from .last import recall, remember
from .outcomes import (
    as_window,
    exact_rows,
    outcome_names,
    representative,
    seen_or_missing,
    taken,
)
from .predictive import Predictive
from .scoring import held_out_losses
from .settings import count, draw_seed, one_of
from .table import TableInputs

COVERAGES = (0.5, 0.8, 0.9, 0.95)


class DensityRegressor(RegressorMixin, TableInputs, ABC):
    """What a user asks of every regressor that has a predictive density.

    A method writes ``fit``, which sets ``encoder_``, ``units_``, ``stretch_`` and last ``seed_``,
    and ``predictive_``.  It has the parameter ``random_state``, and may check its parameters in
    ``check_settings``.

    Results are numpy float64.  With one outcome they have no axis for it, whether y was (N,) or
    (N, 1); with Q > 1 outcomes they carry a last axis Q.
    """

    random_state: Any
    stretch_: float

    @abstractmethod
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "DensityRegressor":
        """Learn the density of y given X."""

    @property
    @abstractmethod
    def predictive_(self) -> Predictive:
        """What predictions are made from."""

    def check_settings(self) -> None:
        """Raise a ValueError that names the argument and the fix."""

    def _learn_table(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[TableEncoder, np.ndarray, Any]:
        """The encoder of a table, and its rows and outcomes, each as often as its weight says."""
        X = self._checked(X) if y is not None else self._checked(X, y)
        outcomes = self.check_outcomes(y)
        values = representative(outcomes)
        check_consistent_length(X, values)
        if values.shape[1] == 0:
            raise ValueError("y has no columns; give at least one outcome")
        encoder, x = self._learn_inputs(X)
        if sample_weight is None:
            return encoder, x, outcomes
        rows = replicated(sample_weight, len(x))
        return encoder, x[rows], taken(outcomes, rows)

    def check_outcomes(self, y: Any) -> Any:
        """Outcomes (N, Q), or windows of them where a method has a use for them."""
        if as_window(y) is not None:
            raise ValueError(
                f"{type(self).__name__} needs exact values of y; BDeepNoiseRegressor takes "
                f"censored, rounded and missing ones"
            )
        outcomes = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=self)
        return outcomes.astype(np.float64).reshape(len(outcomes), -1)

    def predict_density(self, X: Any) -> Density:
        """Return the predictive density of each row, in the units of y.

        Its components are computed in blocks of rows when they are needed, so X may be large, and
        the density keeps up to 1 GB of them.  The last density of a model is remembered if it needs
        no more than 256 MB: a mean and then an interval of the same rows simulate once.  Replace
        ``posterior_`` or ``weights_`` rather than edit them in place, which is not seen.

        Parameters
        ----------
        X : table (N, P)
            Columns as in :meth:`fit`.

        Returns
        -------
        PredictiveMixture
            Densities, quantiles, probabilities, moments and draws of each row.  Of outcomes with a
            support, a ``SupportedDensity``, which has the same methods.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> density = model.fit(X, X[:, 0] ** 2).predict_density([[0.0], [1.0]])
        >>> density.mean().shape, density.pdf_grid([0.0, 0.5, 1.0]).shape
        ((2,), (2, 3))
        """
        rows = self.encoded_rows(X)
        density = recall(self, rows)
        if density is None:
            density = self.predictive_.density(rows)
            remember(self, rows, density)
        return density

    def recalibrate(self, X: Any, y: ArrayLike) -> "DensityRegressor":
        """Stretch all predictive densities about their means by one factor.

        The factor, ``stretch_``, is the one with the least negative log likelihood on these rows.
        Credible bands, decompositions and diagnostics do not change.  :meth:`fit` resets it to 1.

        Parameters
        ----------
        X : table (N, P)
            Rows that were not used to fit.
        y : array (N,) or (N, Q)
            Their outcomes.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        seen, predictive = self.check_outcomes(y), cast("Any", self.predictive_)
        self._stretch_by(replace(predictive, stretch=1.0).density(self.encoded_rows(X)), seen)
        return self

    def _stretch_by(self, density: Density, seen: Any) -> None:
        """Learn ``stretch_`` from densities that are not stretched."""
        if not exact_rows(seen).all():
            raise ValueError("y: recalibrate needs exact values, not windows; leave other rows out")
        self.stretch_ = best_stretch(*metrics.on_latent_scale(density, representative(seen)))

    def header(self) -> dict[str, Any]:
        return {**super().header(), "stretch": getattr(self, "stretch_", 1.0)}

    def restore(self, header: dict[str, Any]) -> None:
        super().restore(header)
        self.stretch_ = float(header.get("stretch", 1.0))

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictive mean of each row.

        Parameters
        ----------
        X : table (N, P)

        Returns
        -------
        array (N,), or (N, Q) for several outcomes
        """
        return self.predict_density(X).mean()

    def predict_interval(self, X: Any, coverage: float = 0.95) -> np.ndarray:
        """Return the central prediction interval of each row.

        Parameters
        ----------
        X : table (N, P)
        coverage : float
            Probability of the interval.

        Returns
        -------
        array (N, 2), or (N, 2, Q) for several outcomes
            Lower and upper end.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> low, high = model.fit(X, X[:, 0] ** 2).predict_interval([[0.5]], 0.9)[0]
        >>> bool(low < 0.25 < high)
        True
        """
        return self.predict_density(X).interval(coverage)

    def predict_quantiles(self, X: Any, levels: ArrayLike = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Return predictive quantiles of each row.

        Parameters
        ----------
        X : table (N, P)
        levels : number or array (M,)
            Probabilities from 0 to 1.

        Returns
        -------
        array (N,) for one level, (N, M) for M levels
        """
        return self.predict_density(X).quantile(levels)

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw outcomes from the predictive density of each row.

        Parameters
        ----------
        X : table (N, P)
        n : int
            Draws per row.
        random_state : int, RandomState or None
            Seed of the draws; None gives the same draws at every call.

        Returns
        -------
        array (N, n), or (N, n, Q) for several outcomes
        """
        density = self.predict_density(X)
        return density.sample(n, self.seed_ if random_state is None else draw_seed(random_state))

    def score_report(self, X: Any, y: ArrayLike) -> dict[str, float]:
        """Judge the predictive densities on rows with known outcomes.

        Some outcomes are only known to lie in a window.  Their nll is that of the window's
        probability, and they count as covered by the share of this probability that lies in the
        interval.  They do not count in rmse and crps.

        ``score`` is the coefficient of determination R² of the predictive mean, as for every
        scikit-learn regressor.

        Parameters
        ----------
        X : table (N, P)
            Rows that were not used to fit.
        y : array (N,) or (N, Q), or a ``Window``
            Their outcomes.

        Returns
        -------
        dict of str to float
            rmse of the mean; nll, the mean negative log density; crps; and coverage_50,
            coverage_80, coverage_90 and coverage_95, the shares of rows in central intervals.
            ``BDeepNoiseRegressor`` adds nll_rounded where the training outcomes take few, evenly
            spaced values: it scores the probability within half a step of y, so narrow spikes of
            a density earn nothing.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> list(model.fit(X, X[:, 0] ** 2).score_report(X, X[:, 0] ** 2))[:3]
        ['rmse', 'nll', 'crps']
        """
        return self._scores(self.predict_density(X), self.check_outcomes(y))

    def _scores(self, density: Density, seen: Any) -> dict[str, float]:
        """What ``score_report`` says of densities and of what was seen."""
        nll, exact = metrics.nll_seen(density, seen), exact_rows(seen)
        covered = coverage_report(density, seen)
        if not exact.any():
            return {"nll": nll, **covered}
        if not exact.all():
            density = density[exact]
        y = representative(seen)[exact]
        report = {"rmse": metrics.rmse(density, y), "nll": nll, "crps": metrics.crps(density, y)}
        if (step := self._lattice_step()) is not None:
            report["nll_rounded"] = metrics.lattice_nll(density, y, step)
        return report | covered

    def _lattice_step(self) -> float | None:
        """The distance of the values of y if it takes few."""
        return None

    def select_outcomes(
        self,
        X: Any,
        y: ArrayLike,
        folds: int = 10,
        loss: str = "squared",
        threshold: float = 0.0,
        certainty: float = 0.95,
    ) -> OutcomeSelection:
        """Find out which outcomes the inputs can predict at all.

        Cross-validation: for each fold, a copy of this estimator is fitted to the other rows and
        judged on those of the fold.  This estimator itself does not change.

        Parameters
        ----------
        X : table (N, P)
            As in :meth:`fit`.
        y : array (N, Q)
            As in :meth:`fit`.
        folds : int
            Number of folds, and of fits.
        loss : {"squared", "crps"}
            "squared" asks whether the mean can be predicted; its skill is R².  "crps" sees any
            change of the density, also of its spread alone.
        threshold : float
            The least skill that counts, as a share of the loss without inputs.
        certainty : float
            An outcome is predictable if its skill exceeds ``threshold`` with this posterior
            probability or more.

        Returns
        -------
        OutcomeSelection
        """
        one_of("loss", loss, tuple(LOSSES))
        if not 0 < certainty < 1 or not 0 <= threshold < 1:
            raise ValueError(
                f"certainty must be between 0 and 1, and threshold at least 0 and below 1; "
                f"got {certainty} and {threshold}"
            )
        outcomes = seen_or_missing(clone(self)._learn_table(X, y)[2])
        if not 2 <= count("folds", folds, 2) <= len(outcomes):
            raise ValueError(
                f"folds must be from 2 to {len(outcomes)}, the number of rows; got {folds}"
            )
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
        raise ValueError(
            f"sample_weight must have one value per row, ({rows},); got {weights.shape}"
        )
    wrong = weights[(weights < 0) | (weights % 1 != 0)]
    if wrong.size or not weights.any():
        raise ValueError(
            f"sample_weight must be whole numbers: how many equal rows each row stands for; "
            f"got {wrong[0] if wrong.size else 'zeros only'}"
        )
    return np.repeat(np.arange(rows), weights.astype(int))


def coverage_report(density: Density, seen: Any) -> dict[str, float]:
    """Coverage of central intervals by name."""
    found = metrics.coverages_seen(density, seen, COVERAGES)
    return {f"coverage_{round(100 * p)}": share for p, share in zip(COVERAGES, found, strict=True)}
