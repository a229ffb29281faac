"""Predictions of a model as columns of numbers, whatever it predicts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..estimators.classifier import BDeepNoiseClassifier
from ..estimators.survival import BDeepNoiseSurvival


def predicted_columns(
    model: Any, X: Any, levels: ArrayLike, thresholds: ArrayLike, grid: ArrayLike
) -> dict[str, np.ndarray]:
    """Mean, sd, quantiles, P(y >= c) and densities at the grid, by names such as q05.

    Of times there is no mean and sd; of classes, there are the likeliest and its probabilities.
    """
    if isinstance(model, BDeepNoiseClassifier):
        return _classes(model, X)
    levels, thresholds, grid = (
        np.asarray(part, float).reshape(-1) for part in (levels, thresholds, grid)
    )
    density, times = model.predict_density(X), isinstance(model, BDeepNoiseSurvival)
    if times and not (np.concatenate([thresholds, grid]) > 0).all():
        raise ValueError("thresholds and grid must be positive: the model predicts times")
    there, back = (np.log, np.exp) if times else (np.asarray, np.asarray)
    columns = {} if times else {"mean": density.mean(), "sd": np.sqrt(density.var())}
    if len(levels):
        found = back(density.quantile(levels))
        columns |= {_quantile_name(level): q for level, q in zip(levels, found.T, strict=True)}
    if len(thresholds):
        found = density.probability_above_grid(there(thresholds))
        columns |= _named("p_above", thresholds, found)
    if len(grid):
        found = density.pdf_grid(there(grid))
        # p(t) = p(log t) / t
        columns |= _named("pdf", grid, found / grid if times else found)
    return columns


def _classes(model: BDeepNoiseClassifier, X: Any) -> dict[str, np.ndarray]:
    p = model.predict_proba(X)
    likeliest = {"predicted": model.classes_[p.argmax(axis=1)]}
    return likeliest | {f"p_{name}": column for name, column in zip(model.classes_, p.T)}


def _named(prefix: str, points: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{prefix}_{c:.12g}": column for c, column in zip(points, values.T, strict=True)}


def _quantile_name(level: float) -> str:
    """0.05 is q05, 0.5 is q50, 0.975 is q97.5, as in ``deepnoise predict``."""
    whole, dot, rest = f"{100 * level:.10g}".partition(".")
    return f"q{whole:0>2}{dot}{rest}"
