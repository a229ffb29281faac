"""Fits of the neuroimaging study: with and without the images, beside three opponents."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from ...datasets.neuro.features import NeuroTable
from ...estimators.bdeepnoise import BDeepNoiseRegressor
from ...estimators.encode import TableEncoder
from ...prediction.density.supported import Density
from ...prediction.influence import Influence
from .opponents import OPPONENTS, Task

WITH, WITHOUT = "B-DeepNoise", "B-DeepNoise without images"
CREDIBLE = 0.95
FEWEST = 20


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
