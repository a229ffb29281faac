"""SHAP values of anything that a density can say, through the ``shap`` package."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..prediction.density.mixture import PredictiveMixture
from .effects import check_density, reader
from .encode import is_frame
from .settings import count


def shap_values(
    model: Any,
    X: Any,
    background: Any,
    of: str | float | Callable[[PredictiveMixture], np.ndarray] = "mean",
    permutations: int = 10,
) -> Any:
    """Split what a density says of each row among its columns, by Shapley values.

    Works with text, categories and missing values: columns are exchanged as they stand.  For each
    row it asks for 2 × ``permutations`` × (P + 1) predictions of the whole background, so give few
    rows and thin the model first.

    Parameters
    ----------
    model : fitted density regressor
        Of one outcome.
    X : table (N, P)
        Rows to explain.
    background : table (M, P)
        Rows that stand for columns that are left out; a few dozen.
    of : {"mean", "sd"}, float or function
        A number between 0 and 1 means the quantile at that level.  A function maps a density of N
        rows to an array (N,).
    permutations : int
        Orders of the columns, each taken forwards and backwards.

    Returns
    -------
    shap.Explanation
        ``values`` (N, P) and ``base_values`` (N,); their sum over columns is what the density says
        of the row.  The plots of ``shap`` take it.

    Raises
    ------
    ImportError
        If ``shap`` is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BackpropRegressor, shap_values
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = BackpropRegressor(steps=100, random_state=0).fit(X, X[:, 0])
    >>> shap_values(model, X[:3], X[:20]).values.shape  # doctest: +SKIP
    (3, 2)
    """
    check_density(model)
    count("permutations", permutations, 1)
    read, shap = reader(of), _shap()
    rows, others = model.encoder_.select(X), model.encoder_.select(background)
    names = [column.name for column in model.encoder_.columns]
    for what, table in (("X", rows), ("background", others)):
        if not len(table) or np.shape(table)[1] != len(names):
            raise ValueError(f"{what} must have rows, and {len(names)} columns")
    pool = _joined(others, rows)
    # To shap a cell is the number of the row of the pool that it comes from.
    numbers = np.tile(np.arange(len(pool), dtype=float)[:, None], len(names))

    def says(cells: np.ndarray) -> np.ndarray:
        found = np.asarray(read(model.predict_density(_mixed(pool, cells.astype(int)))))
        if found.shape != (len(cells),):
            raise ValueError("shap_values needs one number for each row, of one outcome")
        return found

    masker = shap.maskers.Independent(numbers[: len(others)], max_samples=len(others))
    explain = shap.explainers.Permutation(says, masker, feature_names=names, seed=0)
    evaluations = permutations * (2 * len(names) + 1)
    found = explain(numbers[len(others) :], max_evals=evaluations, silent=True)
    found.data = _values(rows)
    return found


def _shap() -> Any:
    try:
        return import_module("shap")
    except ImportError as error:
        raise ImportError("shap is not installed: pip install 'deepnoise[shap]'") from error


def _joined(first: Any, then: Any) -> Any:
    if not is_frame(first) or not is_frame(then):
        return np.concatenate([np.asarray(first, float), np.asarray(then, float)])
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat([first, then], ignore_index=True)
    return first.vstack(then)


def _mixed(pool: Any, cells: np.ndarray) -> Any:
    """The table whose cell (i, j) is that of row ``cells[i, j]`` of the pool."""
    if not is_frame(pool):
        return pool[cells, np.arange(cells.shape[1])]
    if hasattr(pool, "iloc"):
        parts = [pool.iloc[cells[:, j], j].reset_index(drop=True) for j in range(cells.shape[1])]
    else:
        parts = [pool[:, j].gather(cells[:, j]) for j in range(cells.shape[1])]
    return type(pool)(dict(zip(pool.columns, parts, strict=True)))


def _values(rows: Any) -> np.ndarray:
    return rows.to_numpy() if is_frame(rows) else np.asarray(rows)
