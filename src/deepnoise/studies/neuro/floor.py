"""The floor of influence: what a region has whose images say nothing.

Influence averages an absolute value and is never 0.  The model is fitted once more, after the
images of the training subjects were dealt out to them at random: what its regions have is chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from ...datasets.neuro.features import NeuroTable
from .fit import NeuroPlan, SplitFit, features, fit_model, input_scale

FALSE_ALARM = 0.05
# Part of the largest influence below which one is as good as 0, and has no logarithm.
NOTHING = 1e-6


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
