"""Fits of the neuroimaging study: with and without the images, beside three opponents.

Opponents are what else a group would try: ridge regression, a random forest, a deep ensemble.  The
first two predict a mean; their densities are Gaussian around it, with the variance of residuals
that the fit has not seen: five-fold for ridge, out of bag for the forest, and for both five-fold by
whole groups where there are any.

The floor of influence is what a region has whose images say nothing.  Influence averages an
absolute value and is never 0.  The model is fitted once more, after the images of the training
subjects were dealt out to them at random: what its regions have is chance.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, ShuffleSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ...baselines.backprop import DeepEnsembleRegressor
from ...datasets.neuro.features import NeuroTable
from ...estimators.bdeepnoise import BDeepNoiseRegressor
from ...estimators.encode import TableEncoder
from ...prediction.density.mixture import PredictiveMixture
from ...prediction.density.supported import Density
from ...prediction.influence import Influence

WITH, WITHOUT = "B-DeepNoise", "B-DeepNoise without images"
CREDIBLE = 0.95
FEWEST = 20
FALSE_ALARM = 0.05
# Part of the largest influence below which one is as good as 0, and has no logarithm.
NOTHING = 1e-6
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


def gaussian(mean: np.ndarray, variance: float) -> PredictiveMixture:
    return PredictiveMixture.of(np.reshape(mean, (-1, 1, 1)), np.full((1, 1, 1, 1), variance))


def unseen_variance(model: Any, task: Task) -> float:
    """Mean squared residual of training subjects, predicted from other folds."""
    folds: Any = FOLDS
    if task.groups is not None:
        folds = GroupKFold(min(FOLDS, len(np.unique(task.groups))))
    found = cross_val_predict(model, task.X, task.y, groups=task.groups, cv=folds)
    return float(np.mean((task.y - found) ** 2))


OPPONENTS: dict[str, Callable[[Task], Rival]] = {
    "ridge": ridge,
    "random forest": forest,
    "deep ensemble": ensemble,
}


@dataclass(frozen=True)
class NeuroPlan:
    """How the study is run; ``model`` are arguments of ``BDeepNoiseRegressor``."""

    splits: int = 1
    test_share: float = 0.1
    level: float = 0.9
    seed: int = 0
    opponents: tuple[str, ...] = tuple(OPPONENTS)
    model: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.splits < 1:
            raise ValueError(f"splits must be at least 1; got {self.splits}")
        for name in ("test_share", "level"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be between 0 and 1; got {getattr(self, name)}")
        unknown = set(self.opponents) - set(OPPONENTS)
        if unknown:
            raise ValueError(f"opponents must be of {', '.join(OPPONENTS)}; got {unknown.pop()!r}")
        BDeepNoiseRegressor(**self.model).check_settings()


@dataclass(frozen=True, eq=False)
class SplitFit:
    """One split: rows of the table, outcomes of the test rows, and what every method says of them.

    ``units`` are the subjects of the test rows, or their groups where there are any.
    """

    number: int
    train: np.ndarray
    test: np.ndarray
    y: np.ndarray
    units: np.ndarray
    densities: dict[str, Density]
    models: dict[str, BDeepNoiseRegressor]
    influence: Influence
    ridge_weights: pd.Series | None

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the features of the model with images."""
        return input_scale(self.models[WITH])


def fit_splits(
    table: NeuroTable, plan: NeuroPlan, say: Callable[[str], None], progress: Any = False
) -> Iterator[SplitFit]:
    """Fit everything on every split, one after the other."""
    if len(table) < FEWEST:
        raise ValueError(f"the study needs at least {FEWEST} subjects; {len(table)} can be used")
    if not np.ptp(table.outcome.to_numpy()) > 0:
        raise ValueError(f"the outcome {table.outcome.name!r} is the same for every subject")
    for number, (train, test) in enumerate(split_rows(table, plan)):
        say(f"split {number + 1} of {plan.splits}: {len(train)} subjects, {len(test)} held out")
        yield _fit_split(table, plan, number, np.sort(train), np.sort(test), say, progress)


def split_rows(table: NeuroTable, plan: NeuroPlan) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of every split; whole groups go to one side."""
    settings = {"test_size": plan.test_share, "random_state": plan.seed}
    if table.groups is None:
        yield from ShuffleSplit(plan.splits, **settings).split(table.outcome)
        return
    column, groups = table.groups.name, table.groups.to_numpy()
    count = len(np.unique(groups))
    left = count - int(np.ceil(plan.test_share * count))
    if left < 2:
        raise ValueError(
            f"groups: column {column!r} has {count} of them, of which {max(left, 0)} would be left "
            f"to fit; name a column of smaller groups, or a smaller test_share"
        )
    yield from GroupShuffleSplit(plan.splits, **settings).split(table.outcome, groups=groups)


def _fit_split(
    table: NeuroTable,
    plan: NeuroPlan,
    number: int,
    train: np.ndarray,
    test: np.ndarray,
    say: Callable[[str], None],
    progress: Any,
) -> SplitFit:
    y = table.outcome.to_numpy(dtype=float)
    seed = plan.seed + number
    densities, models, weights = {}, {}, None
    for name in (WITH, WITHOUT):
        X = features(table, train, images=name == WITH)
        say(f"fitting {name} to {X.shape[1]} features")
        models[name] = fit_model(X.iloc[train], y[train], plan, seed, progress)
        densities[name] = models[name].predict_density(X.iloc[test]).stored()
    X = features(table, train, images=True)
    groups = None if table.groups is None else table.groups.to_numpy()[train]
    task = Task(X.iloc[train], y[train], X.iloc[test], seed, models[WITH].hidden, groups)
    for name in plan.opponents:
        say(f"fitting {name}")
        rival = OPPONENTS[name](task)
        densities[name] = rival.density.stored()
        weights = rival.weights if rival.weights is not None else weights
    influence = models[WITH].influence(X.iloc[test], level=CREDIBLE)
    units = table.outcome.index.to_numpy() if table.groups is None else table.groups.to_numpy()
    return SplitFit(
        number, train, test, y[test], units[test], densities, models, influence, weights
    )


def fit_model(
    X: pd.DataFrame, y: np.ndarray, plan: NeuroPlan, seed: int, progress: Any
) -> BDeepNoiseRegressor:
    """The plan's model; interrupted chains end the study."""
    model = BDeepNoiseRegressor(**{**plan.model, "random_state": seed})
    model.set_params(progress=progress(model) if callable(progress) else progress)
    model.fit(X, y)
    if model.posterior_.run.n_draws < model.posterior_.plan.draws:
        # The estimator keeps what it has after Ctrl-C; a study of short chains is no study.
        raise KeyboardInterrupt
    return model


def input_scale(model: BDeepNoiseRegressor) -> np.ndarray:
    """Standard deviations of a model's features."""
    return np.array(model.units_.x.scale)


def features(table: NeuroTable, train: np.ndarray, images: bool) -> pd.DataFrame:
    """Numbers for every subject: region means if wanted, covariates filled and encoded."""
    covariates = filled(table.covariates, train)
    encoder = TableEncoder.learn(covariates)
    names = list(encoder.feature_names)
    encoded = pd.DataFrame(encoder.encode(covariates), index=covariates.index, columns=names)
    return pd.concat([table.imaging, encoded], axis=1) if images else encoded


def filled(covariates: pd.DataFrame, train: np.ndarray) -> pd.DataFrame:
    """Missing numbers become the median of the training subjects, and a column says which.

    A missing category is a level of its own, "missing".
    """
    columns = {}
    for name, values in covariates.items():
        gone = values.isna()
        if not pd.api.types.is_numeric_dtype(values):
            columns[name] = values.astype(object).where(~gone, "missing")
            continue
        if gone.iloc[train].all():
            raise ValueError(f"covariate {name!r} is missing for every training subject")
        columns[name] = values.fillna(values.iloc[train].median())
        if gone.any():
            columns[f"{name} missing"] = gone.astype(float)
    return pd.DataFrame(columns, index=covariates.index)


@dataclass(frozen=True)
class Floor:
    """Influence of regions by chance: the middle one's, and the most that chance allows."""

    typical: float
    most: float


def influence_floor(
    table: NeuroTable,
    plan: NeuroPlan,
    fit: SplitFit,
    say: Callable[[str], None],
    progress: Any = False,
) -> dict[str, Floor]:
    """Floors of the influence on "mean" and "spread", per standard deviation, in one split."""
    say("fitting the model to images dealt out at random, for the floor of influence")
    X = dealt(features(table, fit.train, images=True), table, fit.train, plan.seed)
    y = table.outcome.to_numpy(dtype=float)
    model = fit_model(X.iloc[fit.train], y[fit.train], plan, plan.seed + fit.number, progress)
    found = model.influence(X.iloc[fit.test])
    regions = [found.names.index(name) for name in table.imaging.columns]
    scale = input_scale(model)[regions]
    parts = {"mean": found.mean, "spread": found.sd}
    return {part: floor_of(band.mean[regions] * scale) for part, band in parts.items()}


def dealt(X: pd.DataFrame, table: NeuroTable, train: np.ndarray, seed: int) -> pd.DataFrame:
    """The features, with whole images of training subjects given to others of them."""
    order = np.random.default_rng(seed).permutation(train)
    X, names = X.copy(), list(table.imaging.columns)
    X.iloc[train, X.columns.get_indexer(names)] = table.imaging.iloc[order].to_numpy()
    return X


def floor_of(values: np.ndarray) -> Floor:
    """From influences by chance, one a region, taken as log-normal.

    As many regions without influence all stay below ``most`` with 95 % probability or more.
    """
    count, largest = len(values), values.max()
    typical = float(np.median(values))
    if count < 2 or largest == 0:
        return Floor(typical, np.inf if count < 2 else 0.0)
    logs = np.log(np.maximum(values, NOTHING * largest))
    reach = t.ppf(1 - FALSE_ALARM / count, count - 1) * np.sqrt(1 + 1 / count)
    return Floor(typical, float(np.exp(logs.mean() + reach * logs.std(ddof=1))))
