"""``QuantileAnswers``: estimators that have quantiles and no density."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ..estimators.base import COVERAGES
from ..estimators.units import Units

LOWEST, HIGHEST = 0.005, 0.995
MIDDLES = (np.arange(100) + 0.5) / 100


class QuantileAnswers:
    """Methods for an estimator that writes ``_quantiles`` at levels of [0.005, 0.995].

    ``predict_density``, and what needs one, is an error.
    """

    units_: Units
    encoded_rows: Any

    def _quantiles(self, x: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Quantiles of standardised rows, (N, M, Q), in standardised units."""
        raise NotImplementedError

    def row_mean(self, x: np.ndarray) -> np.ndarray:
        return self._quantiles(x, MIDDLES).mean(axis=1)

    def _density(self, x: np.ndarray) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__} has quantiles, not densities: use predict_quantiles or "
            f"predict_interval, or another estimator"
        )

    def predict_quantiles(self, X: Any, levels: ArrayLike = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Predictive quantiles; (N, M) at M levels, (N,) at a single one."""
        wanted = np.asarray(levels, dtype=float)
        if wanted.ndim > 1 or not ((wanted >= LOWEST) & (wanted <= HIGHEST)).all():
            raise ValueError(f"levels must be in [{LOWEST}, {HIGHEST}]; got {levels!r}")
        found = self._restored(self._quantiles(self.encoded_rows(X), np.atleast_1d(wanted)))
        return found if wanted.ndim else found[:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.95) -> np.ndarray:
        """Ends of the central predictive interval; (N, 2)."""
        if not 0 < coverage <= HIGHEST - LOWEST:
            raise ValueError(f"coverage must be in (0, {HIGHEST - LOWEST}]; got {coverage!r}")
        return self.predict_quantiles(X, [(1 - coverage) / 2, (1 + coverage) / 2])

    def predict(self, X: Any) -> np.ndarray:
        """Mean of the predictive quantiles; (N,)."""
        return self._restored(self.row_mean(self.encoded_rows(X)))

    def _restored(self, values: np.ndarray) -> np.ndarray:
        values = values * np.array(self.units_.y.scale) + np.array(self.units_.y.mean)
        return values[..., 0] if values.shape[-1] == 1 else values

    def score_report(self, X: Any, y: ArrayLike) -> dict[str, float]:
        """rmse, crps (twice the mean pinball loss) and coverage at 50, 80, 90 and 95 %."""
        mean = self.predict(X)
        y = np.asarray(y, dtype=float).reshape(len(mean), -1)
        miss = y[:, None] - self.predict_quantiles(X, MIDDLES).reshape(len(y), len(MIDDLES), -1)
        pinball = np.maximum(MIDDLES[:, None] * miss, (MIDDLES[:, None] - 1) * miss)
        error = y - mean.reshape(y.shape)
        report = {"rmse": float(np.sqrt(np.mean(error**2))), "crps": 2 * float(np.mean(pinball))}
        for level in COVERAGES:
            ends = self.predict_interval(X, level).reshape(len(y), 2, -1)
            covered = (ends[:, 0] <= y) & (y <= ends[:, 1])
            report[f"coverage_{round(100 * level)}"] = float(np.mean(covered))
        return report
