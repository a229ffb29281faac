"""What else a group would try: ridge regression, a random forest, a deep ensemble.

The first two predict a mean; their densities are Gaussian around it, with the variance of residuals
that the fit has not seen: five-fold for ridge, out of bag for the forest, and for both five-fold by
whole groups where there are any.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ...baselines.backprop import DeepEnsembleRegressor
from ...prediction.density.mixture import PredictiveMixture
from ...prediction.density.supported import Density

PENALTIES = np.logspace(-2, 5, 22)
TREES = 300
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Task:
    """Training subjects, test subjects, a seed, widths of networks, groups of training subjects."""

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    seed: int
    hidden: tuple[int, ...]
    groups: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Rival:
    """Predictive densities of the test subjects; |weight| of each feature, for ridge."""

    density: Density
    weights: pd.Series | None = None


def gaussian(mean: np.ndarray, variance: float) -> PredictiveMixture:
    return PredictiveMixture.of(np.reshape(mean, (-1, 1, 1)), np.full((1, 1, 1, 1), variance))


def unseen_variance(model: Any, task: Task) -> float:
    """Mean squared residual of training subjects, predicted from other folds."""
    folds: Any = FOLDS
    if task.groups is not None:
        folds = GroupKFold(min(FOLDS, len(np.unique(task.groups))))
    found = cross_val_predict(model, task.X, task.y, groups=task.groups, cv=folds)
    return float(np.mean((task.y - found) ** 2))


def ridge(task: Task) -> Rival:
    """The penalty by leave-one-out."""
    model = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
    variance = unseen_variance(model, task)
    model.fit(task.X, task.y)
    weights = pd.Series(np.abs(model[-1].coef_), index=task.X.columns)
    return Rival(gaussian(model.predict(task.X_test), variance), weights)


def forest(task: Task) -> Rival:
    model = RandomForestRegressor(
        TREES, max_features=1 / 3, min_samples_leaf=3, oob_score=True, random_state=task.seed
    ).fit(task.X, task.y)
    variance = float(np.mean((task.y - model.oob_prediction_) ** 2))
    if task.groups is not None:
        variance = unseen_variance(clone(model), task)
    return Rival(gaussian(model.predict(task.X_test), variance))


def ensemble(task: Task) -> Rival:
    """Networks as wide as ours."""
    model = DeepEnsembleRegressor(hidden=task.hidden, random_state=task.seed)
    return Rival(model.fit(task.X, task.y).predict_density(task.X_test))


OPPONENTS: dict[str, Callable[[Task], Rival]] = {
    "ridge": ridge,
    "random forest": forest,
    "deep ensemble": ensemble,
}
