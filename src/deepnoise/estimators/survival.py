"""``BDeepNoiseSurvival``: times to an event, some of them censored, on a log scale."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..model.outcome import Window
from ..prediction import metrics
from ..prediction.credible import Band, Centiles, above_each
from ..prediction.density.supported import Density
from ..prediction.metrics import concordance
from .base import coverage_report
from .bdeepnoise import BDeepNoiseRegressor
from .outcomes import survival


class BDeepNoiseSurvival(BDeepNoiseRegressor):
    """Predict the density of a time to an event, from data in which some times are censored.

    Parameters are those of :class:`BDeepNoiseRegressor` but ``support``, ``point_mass`` and
    ``exposure``, which must be None.  ``fit`` takes y as (time, event), as a
    structured array of scikit-survival, or as a frame with one column of each.  The model is of
    log time: ``predict_density`` and the other methods of the regressor are in log time.  The
    methods below are in the unit of time itself.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseSurvival
    >>> rng = np.random.default_rng(0)
    >>> X, time = rng.normal(size=(40, 1)), rng.exponential(size=40)
    >>> model = BDeepNoiseSurvival(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> model.fit(X, (np.minimum(time, 1.0), time <= 1.0)).predict_survival(X[:2], [0.5, 1.0]).shape
    (2, 2)
    """

    def check_settings(self) -> None:
        super().check_settings()
        given = {name: getattr(self, name) for name in ("support", "point_mass", "exposure")}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{name} is not for BDeepNoiseSurvival, as times lie above 0 already; "
                    f"got {value!r}"
                )

    def check_outcomes(self, y: Any) -> Any:
        window = y if isinstance(y, Window) else survival(y)
        if not (window.lower > 0).all():
            row = int(np.argmin(window.lower))
            raise ValueError(
                f"y: every time must be positive; in row {row} it is {window.lower[row]}"
            )
        if (window.lower < window.upper).all():
            raise ValueError("y: event is never True; at least one time must end in an event")
        return super().check_outcomes(Window(np.log(window.lower), np.log(window.upper)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the median time of each row, (N,).

        Parameters
        ----------
        X : table (N, P)
        """
        return np.exp(self.predict_density(X).quantile(0.5))

    def predict_survival(self, X: Any, times: ArrayLike) -> np.ndarray:
        """Return P(time > t | x) of each row at each of ``times``, (N, T).

        Parameters
        ----------
        X : table (N, P)
        times : number or array (T,)
            Positive times.
        """
        return self.predict_density(X).probability_above_grid(_log_times(times))

    def survival_bands(self, X: Any, times: ArrayLike, level: float = 0.95) -> Band:
        """Return P(time > t | x, Θ) of each row with credible intervals.

        Parameters
        ----------
        X : table (N, P)
        times : number or array (T,)
            Positive times.
        level : float
            Posterior probability of the interval.

        Returns
        -------
        Band
            Mean over the draws, lower and upper end; (N, T) each.
        """
        densities = self.predictive_.draw_densities(self.encoded_rows(X))
        return above_each(densities, _log_times(times), level)

    def centiles(self, X: Any, y: Any, level: float = 0.95) -> Centiles:
        """Place observed times among those expected at the same x.

        A score says where the time lies, so the time must be known: rows that were censored are an
        error.  Their score is only known to exceed that of the time at which they were cut off;
        leave them out, or ask :meth:`predict_survival` for P(time > t).

        Parameters
        ----------
        X : table (N, P)
        y : array (N,) of times, or (time, event), as in ``fit``
            Times that ended in an event.
        level : float
            Posterior probability that an interval holds the score of the true density.

        Returns
        -------
        Centiles
            ``centile``, P(time <= t | x), and ``z``, the standard normal deviate with that
            centile; each (N, 3): the score, and lower and upper end of its credible interval.
        """
        times = None if isinstance(y, tuple | Window) else np.asarray(y)
        if times is not None and times.ndim == 1 and times.dtype.kind in "iuf":
            return super().centiles(X, _log_times(times), level)
        window = self.check_outcomes(y)
        censored = np.flatnonzero((window.lower < window.upper)[:, 0])
        if censored.size:
            raise ValueError(
                f"y: centiles need times that ended in an event; row {censored[0]} was censored, "
                f"leave such rows out"
            )
        return super().centiles(X, window.lower[:, 0], level)

    def score(self, X: Any, y: Any) -> float:
        """Return Harrell's concordance of the median times: 1 is perfect order, 0.5 is chance.

        Parameters
        ----------
        X : table (N, P)
        y : (time, event), as in ``fit``
        """
        return self._concordance(self.predict_density(X), self.check_outcomes(y))

    def _concordance(self, density: Density, window: Window) -> float:
        medians, seen = density.quantile(0.5), window.lower == window.upper
        return concordance(medians, window.lower[:, 0], seen)

    def score_report(self, X: Any, y: Any) -> dict[str, float]:
        """Judge the predictive densities on rows with known times.

        A censored time counts as covered by the share of its remaining probability that lies in
        the interval.

        Parameters
        ----------
        X : table (N, P)
            Rows that were not used to fit.
        y : (time, event), as in ``fit``

        Returns
        -------
        dict of str to float
            concordance; nll, the mean negative log density of times in their own unit, and of
            P(time > t) where they are censored; and coverage_50, coverage_80, coverage_90 and
            coverage_95.
        """
        return self._scores(self.predict_density(X), self.check_outcomes(y))

    def _scores(self, density: Density, seen: Any) -> dict[str, float]:
        window = seen
        events = (window.lower == window.upper)[:, 0]
        times = window.lower[:, 0]
        # p(t) = p(log t) / t
        nll = metrics.nll_seen(density, window) + float(np.sum(times[events]) / len(times))
        order = self._concordance(density, window)
        return {"concordance": order, "nll": nll, **coverage_report(density, window)}


def _log_times(times: ArrayLike) -> np.ndarray:
    values = np.atleast_1d(np.asarray(times, dtype=float))
    if values.ndim != 1 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("times must be positive, finite numbers")
    return np.log(values)
