"""Estimators that have quantiles and no density.

``ConformalQuantileRegressor`` has quantiles by a network, and intervals with a guarantee (CQR).
``QuantileAnswers`` is what all such estimators have in common.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..estimators import settings
from ..estimators.base import COVERAGES
from ..estimators.standardized import StandardizedRegressor
from ..estimators.units import Units
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..prediction.density.sums import padded
from . import mlp
from .mlp import Split, TrainedNetwork, Weights, forward, random_weights

LOWEST, HIGHEST = 0.005, 0.995
MIDDLES = (np.arange(100) + 0.5) / 100
# Lower halves of the central intervals, from the widest in, and the median.
LOWER = (LOWEST, 0.01, 0.025, 0.05, *np.arange(0.1, 0.5, 0.05).round(2).tolist())
LEVELS = np.array([*LOWER, 0.5, *(1 - level for level in reversed(LOWER))])
MEDIAN = len(LOWER)


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


@dataclass(frozen=True)
class QuantileNetwork:
    """Quantiles of y | x at ``LEVELS`` by one network, trained on the pinball loss."""

    hidden: tuple[int, ...]
    h: PiecewiseLinear

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        return random_weights(rng, (inputs, *self.hidden, len(LEVELS) * outcomes))

    def quantiles(self, weights: Weights, x) -> jax.Array:
        """(n, levels, Q), increasing in the level."""
        return jnp.sort(forward(weights, x, self.h).reshape(len(x), len(LEVELS), -1), axis=1)

    def held(self, weights: Weights, key, x, y) -> jax.Array:  # noqa: ARG002
        miss = y[:, None] - self.quantiles(weights, x)
        level = jnp.asarray(LEVELS, x.dtype)[:, None]
        return jnp.sum(jnp.mean(jnp.maximum(level * miss, (level - 1) * miss), axis=1), axis=-1)

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:  # noqa: ARG002
        return self.held(weights, key, x, y)

    def mixture(self, weights: Weights, key, x) -> NoReturn:
        raise NotImplementedError


class ConformalQuantileRegressor(QuantileAnswers, TrainedNetwork, StandardizedRegressor):
    """Conformalised quantile regression (Romano, Patterson and Candès 2019).

    Every central interval is widened, or narrowed, until it covers its share of rows set aside;
    its coverage of new rows is then at least nominal, whatever the law of the data, at levels for
    which enough rows were set aside (n of them serve up to n/(n + 1)).  It has
    quantiles between 0.5 % and 99.5 % but no density: ``predict_density`` and what needs one
    raise an error.

    Parameters
    ----------
    hidden : tuple of int
        See ``BackpropRegressor``.
    activation : str or PiecewiseLinear
        See ``BackpropRegressor``.
    steps : int, optional
        See ``BackpropRegressor``.
    validation : float
        See ``BackpropRegressor``.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    calibration : float
        Share of the rows set aside for calibration.

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis of length one
        ``"offset"`` (1, levels, Q) is what calibration adds to the quantiles, standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import ConformalQuantileRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = ConformalQuantileRegressor(hidden=(5,), steps=100, random_state=0)
    >>> model.fit(x, x[:, 0] ** 2).predict_interval(x, 0.9).shape
    (40, 2)
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        calibration=0.2,
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.calibration = calibration
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    def check_settings(self) -> None:
        super().check_settings()
        if settings.share("calibration", self.calibration) + self.validation >= 1:
            raise ValueError(
                "calibration and validation leave no rows to train on; lower one of them"
            )

    def _network(self) -> QuantileNetwork:
        return QuantileNetwork(*self._shape())

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        if len(x) < 4:
            raise ValueError(f"at least 4 rows are needed; got n_samples={len(x)}")
        apart = mlp.random_split(seed, len(x), 1, self.calibration)
        rest = mlp.random_split(seed + 1, apart.train.shape[1], 1, self.validation)
        split = Split(apart.train[:, rest.train[0]], apart.train[:, rest.held[0]])
        weights = mlp.fit(self._network(), self._training(len(x)), seed, x, y, split)
        self.weights_ = {**weights, "offset": np.zeros((1, len(LEVELS), y.shape[1]))}
        if apart.held.size:
            judges = apart.held[0]
            offset = conformal_offsets(self._quantile_table(x[judges]), y[judges])
            self.weights_["offset"] = offset[None]

    def _quantile_table(self, x: np.ndarray) -> np.ndarray:
        """Calibrated quantiles of standardised rows at all levels, (N, levels, Q)."""
        one = {name: np.asarray(a[0], float) for name, a in self.weights_.items()}
        with numerics():
            raw = np.asarray(_raw(self._network(), one, padded(np.asarray(x, float))))
        table = raw[: len(x)] + one["offset"]
        # Wider intervals hold the narrower ones: only ever wider, so coverage is kept.
        upper = np.maximum.accumulate(table[:, MEDIAN:], axis=1)
        lower = np.minimum.accumulate(table[:, MEDIAN::-1], axis=1)[:, ::-1]
        return np.concatenate([lower[:, :-1], upper], axis=1)

    def _quantiles(self, x: np.ndarray, levels: np.ndarray) -> np.ndarray:
        table = self._quantile_table(x)
        at = np.clip(np.searchsorted(LEVELS, levels, side="right") - 1, 0, len(LEVELS) - 2)
        share = ((levels - LEVELS[at]) / (LEVELS[at + 1] - LEVELS[at]))[:, None]
        return (1 - share) * table[:, at] + share * table[:, at + 1]


def conformal_offsets(quantiles: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What to add to every quantile, (levels, Q), from rows that the training has not seen.

    The interval between levels a and 1 - a grows by the ⌈(n + 1)(1 - 2a)⌉-th smallest of
    max(lower - y, y - upper), or by the largest where n is too small for that level.
    """
    n, offset = len(y), np.zeros(quantiles.shape[1:])
    for j, level in enumerate(LOWER):
        miss = np.maximum(quantiles[:, j] - y, y - quantiles[:, -1 - j])
        rank = min(int(np.ceil((n + 1) * (1 - 2 * level) - 1e-9)), n)
        grow = np.sort(miss, axis=0)[rank - 1]
        offset[j], offset[-1 - j] = -grow, grow
    return offset


_raw = jax.jit(lambda network, *args: network.quantiles(*args), static_argnums=0)
