"""The smallest density regressor: a straight line with Gaussian noise."""

import numpy as np

from deepnoise.estimators.base import DensityRegressor
from deepnoise.prediction.mixture import GaussianMixture


class Line(DensityRegressor):
    def __init__(self, ridge=1e-6, standardize=True, random_state=None):
        self.ridge = ridge
        self.standardize = standardize
        self.random_state = random_state

    def _check_settings(self):
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
        return GaussianMixture.of(means[:, None], self.cov_[None, None])
