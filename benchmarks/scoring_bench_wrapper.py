"""deepnoise behind ScoringBench's interface, made of what its checkout has or of stand-ins.

ScoringBench (Landsgesell and Knoll 2026, arXiv:2603.29928) asks of a model a subclass of its
``ProbabilisticWrapper`` with ``fit(X, y)``, ``predict(X)`` and ``predict_distribution(X)``.  Models
that know their quantiles hand them to its ``quantiles_to_distribution``, which makes the bins that
its scores read.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from deepnoise import BDeepNoiseRegressor

# Every 1/200, which holds the ends of all its intervals, and further out on both sides: what lies
# beyond the outermost quantiles counts as lying at them.
FAR = np.array([1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 2.5e-3])
LEVELS = np.concatenate([FAR, np.arange(1, 200) / 200, 1 - FAR[::-1]])


@dataclass(frozen=True, eq=False)
class Quantiles:
    """What the scores here read of a prediction: (rows, levels), and the mean of each row."""

    values: np.ndarray
    levels: np.ndarray
    mean: np.ndarray


class StandIn:
    """ScoringBench's base class, as far as a wrapper needs it."""

    _y_train_range: tuple[float, float] | None = None

    def _set_train_range(self, y) -> None:
        self._y_train_range = (float(np.min(y)), float(np.max(y)))


def stand_in(q, alphas, mean=None, *, train_range) -> Quantiles:
    """ScoringBench's ``quantiles_to_distribution``, without its bins."""
    if train_range is None or not train_range[0] < train_range[1]:
        raise ValueError(f"train_range must be two rising numbers; got {train_range}")
    return Quantiles(np.asarray(q), np.asarray(alphas), np.asarray(mean))


def numbers(X: Any) -> np.ndarray:
    """Features as floats; what is not finite is missing."""
    X = np.asarray(X, dtype=float)
    return np.where(np.isfinite(X), X, np.nan)


def wrapper_class(base: type = StandIn, to_distribution=stand_in) -> type:
    """The wrapper, as a subclass of ScoringBench's ``ProbabilisticWrapper``.

    With a checkout on the path: ``base`` and ``to_distribution`` are ``ProbabilisticWrapper`` and
    ``quantiles_to_distribution`` of ``scoringbench.univariate.wrappers``.
    """

    class DeepNoiseWrapper(base):
        """Any estimator with ``predict_density``; without one, B-DeepNoise and its defaults."""

        def __init__(self, estimator=None):
            self.estimator = estimator

        def fit(self, X, y):
            y = np.asarray(y, dtype=float).reshape(-1)
            seen = np.isfinite(y)
            self._set_train_range(y[seen])
            plain = BDeepNoiseRegressor(random_state=0, progress=False)
            self.model_ = clone(plain if self.estimator is None else self.estimator)
            self.model_.fit(numbers(X)[seen], y[seen])
            return self

        def density(self, X):
            return self.model_.predict_density(numbers(X))

        def predict(self, X):
            return self.density(X).mean()

        def predict_distribution(self, X):
            return self.distribution(self.density(X))

        def distribution(self, density):
            quantiles = density.quantile(LEVELS)
            mean = density.mean()
            return to_distribution(quantiles, LEVELS, mean=mean, train_range=self._y_train_range)

    return DeepNoiseWrapper
