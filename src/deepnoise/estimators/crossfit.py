"""Rows judged by fits that have not seen them."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..model.outcome import Window
from ..prediction.selection import LOSSES, Losses


def held_out_losses(
    estimator: Any, X: Any, y: np.ndarray, folds: int, loss: str, seed: int
) -> Losses:
    """Losses with and without inputs, (N, Q) each; every fold is judged by a fit of the others.

    y (N, Q) and the losses are NaN where an outcome is missing.
    """
    from sklearn.model_selection import KFold  # half a second that a fit does not need

    blank = clone(estimator)
    if "checkpoint" in blank.get_params():
        blank.set_params(checkpoint=None)  # its folder holds one fit, and there are many here
    with_inputs, without = np.empty(y.shape), np.empty(y.shape)
    for seen, held in KFold(folds, shuffle=True, random_state=seed).split(y):
        model = clone(blank).fit(_safe_indexing(X, seen), y[seen])
        density = model.predict_density(_safe_indexing(X, held))
        with_inputs[held], without[held] = LOSSES[loss](density, y[held], y[seen])
    return with_inputs, without


def seen_or_missing(y: np.ndarray | Window) -> np.ndarray:
    """Outcomes (N, Q), NaN where missing; what was seen through a window only is an error."""
    if not isinstance(y, Window):
        return y
    missing = np.isneginf(y.lower) & np.isposinf(y.upper)
    if not (missing | (y.lower == y.upper)).all():
        raise ValueError(
            "y: select_outcomes needs exact or missing values, not censored or rounded ones"
        )
    return np.where(missing, np.nan, y.lower)


def outcome_names(y: Any, outcomes: int) -> tuple[str, ...]:
    """Names of the columns of a frame or series, otherwise y0, y1, ..."""
    given = getattr(y, "columns", [getattr(y, "name", None)])
    if len(given) == outcomes and all(isinstance(name, str) and name for name in given):
        return tuple(given)
    return tuple(f"y{q}" for q in range(outcomes))
