"""Density regressors for skpro.  Needs skpro: ``pip install 'deepnoise[skpro]'``."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.utils import check_random_state

try:
    import pandas as pd
    from skpro.distributions.base import BaseDistribution
    from skpro.regression.base import BaseProbaRegressor
except ImportError as error:
    raise ImportError("skpro is not installed: pip install 'deepnoise[skpro]'") from error

from ..prediction.density.components import Components
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.supported import Density, SupportedDensity
from .bdeepnoise import BDeepNoiseRegressor

ROWS = 256


class MixtureDistribution(BaseDistribution):
    """A ``PredictiveMixture`` as skpro wants it: one distribution an entry of a frame.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
        Its rows and outcomes are the rows and columns of the frame.
    index : pandas Index, optional
    columns : pandas Index, optional

    Examples
    --------
    >>> from deepnoise import PredictiveMixture
    >>> from deepnoise.estimators.skpro import MixtureDistribution
    >>> density = PredictiveMixture.of(means=[[[0.0]], [[5.0]]], covs=[[[[1.0]]], [[[4.0]]]])
    >>> MixtureDistribution(density).mean()
         0
    0  0.0
    1  5.0
    """

    _tags = {  # noqa: RUF012
        "capabilities:approx": ["pdfnorm"],
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf", "energy"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    def __init__(self, density, index=None, columns=None):
        self.density = density
        if index is None and columns is None and (density.n_rows, density.n_outcomes) != (1, 1):
            index, columns = pd.RangeIndex(density.n_rows), pd.RangeIndex(density.n_outcomes)
        super().__init__(index=index, columns=columns)

    def _subset_params(self, rowidx, colidx, coerce_scalar=False):  # noqa: ARG002
        density = self.density
        if rowidx is not None:
            density = density[np.atleast_1d(rowidx)]
        if colidx is not None:
            density = _outcomes(density, np.atleast_1d(np.arange(density.n_outcomes)[colidx]))
        return {"density": density}

    def _mean(self):
        return self._shaped(self.density.mean())

    def _var(self):
        return self._shaped(self.density.var())

    def _log_pdf(self, x):
        return self._entrywise(x, lambda marginal, value: marginal.log_prob(value))

    def _pdf(self, x):
        return np.exp(self._log_pdf(x))

    def _cdf(self, x):
        return self._entrywise(x, lambda marginal, value: marginal.cdf(value))

    def _ppf(self, p):
        return self._entrywise(p, _quantile)

    def _energy_self(self):
        # CRPS(y) = E|Y - y| - E|Y - Y'| / 2, at any y
        centre = self._frame(self.density.mean())
        at_centre = self._columns(centre, _distance) - self._columns(centre, _crps)
        return self._energy(2 * at_centre)

    def _energy_x(self, x):
        return self._energy(self._columns(self._frame(x), _distance))

    def _sample(self, n_samples=None):
        seed = check_random_state(None).randint(2**31 - 1)
        rows, outcomes = self.density.n_rows, self.density.n_outcomes
        drawn = self.density.sample(n_samples or 1, seed).reshape(rows, -1, outcomes)
        if self.ndim == 0:
            return drawn[0, 0, 0] if n_samples is None else pd.DataFrame(drawn[0])
        frames = [pd.DataFrame(part, self.index, self.columns) for part in drawn.swapaxes(0, 1)]
        return frames[0] if n_samples is None else pd.concat(frames, keys=range(n_samples))

    def _entrywise(self, values, function):
        return self._shaped(self._columns(self._frame(values), function))

    def _columns(self, values: np.ndarray, function) -> np.ndarray:
        """function(marginal, values) of every outcome; (N, Q)."""
        return np.stack(
            [function(self.density.marginal(q), values[:, q]) for q in range(values.shape[1])], -1
        )

    def _frame(self, values) -> np.ndarray:
        return np.reshape(np.asarray(values, float), (self.density.n_rows, self.density.n_outcomes))

    def _shaped(self, values: np.ndarray):
        return float(np.squeeze(values)) if self.ndim == 0 else self._frame(values)

    def _energy(self, values: np.ndarray):
        total = values.sum(axis=1, keepdims=True)
        return float(total[0, 0]) if self.ndim == 0 else total

    @classmethod
    def get_test_params(cls, parameter_set="default"):  # noqa: ARG003
        """Settings for skpro's own tests."""
        rng = np.random.default_rng(0)
        frame = PredictiveMixture.of(rng.normal(size=(4, 3, 2)), np.tile(np.eye(2), (4, 3, 1, 1)))
        scalar = PredictiveMixture.of([[[-1.0], [1.0]]], [[[[0.5]], [[1.0]]]])
        return [
            {"density": frame, "index": pd.Index([1, 2, 5, 7]), "columns": pd.Index(["a", "b"])},
            {"density": scalar},
        ]


class BDeepNoiseProba(BaseProbaRegressor):
    """A density regressor behind skpro's door; ``predict_proba`` gives a MixtureDistribution.

    Parameters
    ----------
    regressor : DensityRegressor, optional
        ``BDeepNoiseRegressor()`` by default.

    Examples
    --------
    >>> import pandas as pd
    >>> from deepnoise import BDeepNoiseRegressor
    >>> from deepnoise.estimators.skpro import BDeepNoiseProba
    >>> small = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> X, y = pd.DataFrame({"x": range(20)}), pd.DataFrame({"y": range(20)})
    >>> BDeepNoiseProba(small).fit(X, y).predict_proba(X).shape
    (20, 1)
    """

    _tags = {  # noqa: RUF012
        "capability:multioutput": True,
        "capability:missing": False,
        "python_dependencies": ["jax", "blackjax", "optax"],
    }

    def __init__(self, regressor=None):
        self.regressor = regressor
        super().__init__()

    def _fit(self, X, y):
        regressor = BDeepNoiseRegressor() if self.regressor is None else clone(self.regressor)
        self.regressor_ = regressor.fit(_with_text_names(X), y.to_numpy())
        self.outcomes_ = y.columns
        return self

    def _predict_proba(self, X):
        density = self.regressor_.predict_density(_with_text_names(X))
        return MixtureDistribution(density, index=X.index, columns=self.outcomes_)

    @classmethod
    def get_test_params(cls, parameter_set="default"):  # noqa: ARG003
        """Settings for skpro's own tests."""
        tiny = {"hidden": (2,), "chains": 2, "warmup": 5, "draws": 5, "random_state": 0}
        tiny |= {"init": "prior", "sampler": "gibbs"}
        return [{"regressor": BDeepNoiseRegressor(**tiny, paths=paths)} for paths in (3, 5)]


def _with_text_names(X: Any) -> Any:
    """scikit-learn wants the names of columns to be text, skpro does not."""
    return X.set_axis([str(name) for name in X.columns], axis=1)


def _outcomes(density: Density, chosen: np.ndarray) -> Density:
    """The mixture of some outcomes."""
    if isinstance(density, SupportedDensity):
        return density
    read = partial(_read_outcomes, density.read, chosen)
    return PredictiveMixture.from_blocks(density.n_rows, len(chosen), density.n_components, read)


def _read_outcomes(read: Any, chosen: np.ndarray, start: int, stop: int) -> Components:
    weights, means, covs = read(start, stop)
    return Components(weights, means[..., chosen], covs[..., chosen[:, None], chosen])


def _crps(marginal: Density, y: np.ndarray) -> np.ndarray:
    return marginal.crps(y)


def _quantile(marginal: Density, levels: np.ndarray) -> np.ndarray:
    """A quantile a row: rows of the same level together."""
    found = np.empty(len(levels))
    for level in np.unique(levels):
        rows = np.flatnonzero(levels == level)
        found[rows] = marginal[rows].quantile(level)
    return found


def _distance_of_row(one: SupportedDensity, y: float) -> float:
    return float(one.expect(lambda t: np.abs(t - y))[0])


def _distance(marginal: Density, y: np.ndarray) -> np.ndarray:
    """E|Y - y| of every row: Σ_c w_c [z s (2 Φ(z) - 1) + 2 s φ(z)], z = (m_c - y) / s."""
    if isinstance(marginal, SupportedDensity):
        return np.array([_distance_of_row(marginal[n], float(value)) for n, value in enumerate(y)])
    found = []
    for start in range(0, len(y), ROWS):
        rows = slice(start, start + ROWS)
        weights, means, covs = marginal[rows].components()
        sds = np.sqrt(covs[..., 0, 0])
        z = (means[..., 0] - y[rows, None]) / sds
        kernel = z * (2 * ndtr(z) - 1) + 2 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        found.append(np.sum(weights * sds * kernel, axis=1))
    return np.concatenate(found)
