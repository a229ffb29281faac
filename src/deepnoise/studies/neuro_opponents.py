"""What else a group would try: ridge regression, a random forest, a deep ensemble.

The first two predict a mean; their densities are Gaussian around it, with the variance of residuals
that the fit has not seen (five-fold, and out of bag).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators.ensemble import DeepEnsembleRegressor
from ..prediction.mixture import GaussianMixture

PENALTIES = np.logspace(-2, 5, 22)
TREES = 300


@dataclass(frozen=True, eq=False)
class Task:
    """Training subjects, test subjects, a seed, and the widths of networks."""

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    seed: int
    hidden: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Rival:
    """Predictive densities of the test subjects; |weight| of each feature, for ridge."""

    density: GaussianMixture
    weights: pd.Series | None = None


def gaussian(mean: np.ndarray, variance: float) -> GaussianMixture:
    return GaussianMixture.of(np.reshape(mean, (-1, 1, 1)), np.full((1, 1, 1, 1), variance))


def ridge(task: Task) -> Rival:
    """The penalty by leave-one-out."""
    model = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
    unseen = task.y - cross_val_predict(model, task.X, task.y, cv=5)
    model.fit(task.X, task.y)
    weights = pd.Series(np.abs(model[-1].coef_), index=task.X.columns)
    return Rival(gaussian(model.predict(task.X_test), float(np.mean(unseen**2))), weights)


def forest(task: Task) -> Rival:
    model = RandomForestRegressor(
        TREES, max_features=1 / 3, min_samples_leaf=3, oob_score=True, random_state=task.seed
    ).fit(task.X, task.y)
    unseen = task.y - model.oob_prediction_
    return Rival(gaussian(model.predict(task.X_test), float(np.mean(unseen**2))))


def ensemble(task: Task) -> Rival:
    """Networks as wide as ours."""
    model = DeepEnsembleRegressor(hidden=task.hidden, random_state=task.seed)
    return Rival(model.fit(task.X, task.y).predict_density(task.X_test))


OPPONENTS: dict[str, Callable[[Task], Rival]] = {
    "ridge": ridge,
    "random forest": forest,
    "deep ensemble": ensemble,
}
