"""``BDeepNoiseSurvival``: times to an event, some of them censored, on a log scale."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ..model.outcome import Window
from ..prediction.concordance import concordance
from ..prediction.credible import Band, band, check_level, joined
from .bdeepnoise import BDeepNoiseRegressor
from .outcomes import survival


class BDeepNoiseSurvival(BDeepNoiseRegressor):
    """Densities of the logarithm of a time to an event, of which some were not seen to the end.

    Parameters are those of :class:`BDeepNoiseRegressor`.  ``fit`` takes y as (time, event), as a
    structured array of scikit-survival, or as a frame with a column of each; ``predict_density``
    and the other methods of the regressor speak of log time.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseSurvival
    >>> rng = np.random.default_rng(0)
    >>> X, time = rng.normal(size=(30, 1)), rng.exponential(size=30)
    >>> model = BDeepNoiseSurvival(hidden=(2,), chains=2, warmup=20, draws=10, random_state=0)
    >>> model.fit(X, (np.minimum(time, 1.0), time <= 1.0)).predict_survival(X[:2], [0.5, 1.0]).shape
    (2, 2)
    """

    def _outcomes(self, y: Any) -> Any:
        window = y if isinstance(y, Window) else survival(y)
        if not (window.lower > 0).all():
            row = int(np.argmin(window.lower))
            raise ValueError(f"time must be positive; in row {row} it is {window.lower[row]}")
        if (window.lower < window.upper).all():
            raise ValueError("event is never True: no time was seen to its end")
        return super()._outcomes(Window(np.log(window.lower), np.log(window.upper)))

    def predict(self, X: Any) -> np.ndarray:
        """Median time; (N,)."""
        return np.exp(self.predict_density(X).quantile(0.5))

    def predict_survival(self, X: Any, times: ArrayLike) -> np.ndarray:
        """P(time > t | x) at every t of ``times``; (N, T)."""
        density, log_times = self.predict_density(X), _log_times(times)
        return np.stack([density.probability_above(t) for t in log_times], axis=1)

    def survival_bands(self, X: Any, times: ArrayLike, level: float = 0.95) -> Band:
        """P(time > t | x, Θ) across draws: mean and ends of the credible interval, (N, T) each."""
        check_level(level)
        densities, log_times = self._draw_densities(X), _log_times(times)
        sds = np.sqrt(densities.covs())[:, :, 0]
        parts = []
        for _, means in densities.blocks(len(log_times)):
            above = [ndtr((means[..., 0] - t) / sds).mean(axis=2) for t in log_times]
            parts.append(band(densities, np.stack(above, axis=-1), level))
        return joined(parts, outcomes=2)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance of the median times: 1 is perfect order, 0.5 is chance."""
        window = self._outcomes(y)
        return concordance(self.predict(X), window.lower[:, 0], window.lower == window.upper)


def _log_times(times: ArrayLike) -> np.ndarray:
    values = np.atleast_1d(np.asarray(times, dtype=float))
    if values.ndim != 1 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("times must be positive numbers")
    return np.log(values)
