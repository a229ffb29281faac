"""Estimators that are quick to fit."""

import numpy as np

from deepnoise import BDeepNoiseRegressor
from deepnoise.estimators.standardized import StandardizedRegressor
from deepnoise.prediction.density.mixture import PredictiveMixture

# The settings that compile fastest.  Plain Gibbs sweeps move weights by noise/√N: with more noise
# than by default, a few dozen lead somewhere.
NOISY = {"weight": (5, 5), "bias": (5, 5), "preact": (2, 0.005), "postact": (2, 0.005)}
PLAIN = {"init": "prior", "sampler": "gibbs", "prior": NOISY}
# The one of scikit-learn's checks that what is random cannot pass; Line does: weights replicate.
SHUFFLED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "shuffles the rows, and what is random depends on their order, as it does on the seed"
    )
}


def small(**settings):
    """The real estimator, tiny; tests share this size, and so what it compiles."""
    given = {"hidden": (2,), "chains": 2, "warmup": 40, "draws": 20, "paths": 4, "random_state": 0}
    return BDeepNoiseRegressor(**{**given, **settings})


def unguarded(model, X):
    """The posterior predictive of a table alone."""
    return model.predictive_.unguarded(model.encoded_rows(X))


def sloped():
    """Thirty rows: y rises by 10 with the first of two columns, with noise of sd 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(5, 2, size=(30, 2))
    return X, 100 + 10 * X[:, 0] + rng.normal(size=30)


class Line(StandardizedRegressor):
    """The smallest density regressor: a straight line with Gaussian noise."""

    def __init__(self, ridge=1e-6, standardize=True, random_state=None):
        self.ridge = ridge
        self.standardize = standardize
        self.random_state = random_state

    def check_settings(self):
        if not self.ridge > 0:
            raise ValueError(f"ridge must be positive; got {self.ridge}")

    def _fit(self, x, y, seed):
        design = np.c_[x, np.ones(len(x))]
        gram = design.T @ design + self.ridge * np.eye(design.shape[1])
        self.coef_ = np.linalg.solve(gram, design.T @ y)
        residual = y - design @ self.coef_
        self.cov_ = residual.T @ residual / len(y) + 1e-6 * np.eye(y.shape[1])

    def _density(self, x):
        means = np.c_[x, np.ones(len(x))] @ self.coef_
        return PredictiveMixture.of(means[:, None], self.cov_[None, None])
