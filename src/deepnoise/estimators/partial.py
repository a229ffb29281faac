"""Partial dependence, and the curve of each row, of anything that a density can say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..prediction.density.supported import Density
from .effects import POINTS, RANGE
from .encode import is_frame


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """What a density says of each row when one column is set to each of ``values``.

    Attributes
    ----------
    name : str
        Name of the column.
    values : tuple of float or of str
    individual : array (N, V), or (N, V, Q) for several outcomes
        One curve for each row (ICE).
    """

    name: str
    values: tuple
    individual: np.ndarray

    @property
    def average(self) -> np.ndarray:
        """The partial dependence, (V,): the mean of the curves."""
        return self.individual.mean(axis=0)


def partial_dependence(
    model: Any,
    X: Any,
    column: int | str,
    of: str | float | Callable[[Density], np.ndarray] = "mean",
    values: Sequence | None = None,
) -> PartialDependence:
    """Compute how mean, spread or any quantile changes with one column, row by row.

    Parameters
    ----------
    model : fitted density regressor
    X : table (N, P)
        Rows to start from; their other columns stay as they are.
    column : int or str
        Its number, or its name where the model was fitted on a frame.
    of : {"mean", "sd"}, float or function
        A number between 0 and 1 means the quantile at that level.  A function maps a density of N
        rows to an array (N,).
    values : list, optional
        What to set the column to.  By default eleven numbers over the middle 96 % of X, or the
        levels of a category.

    Returns
    -------
    PartialDependence

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BackpropRegressor, partial_dependence
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = BackpropRegressor(random_state=0).fit(x, x[:, 0])
    >>> found = partial_dependence(model, x, 0, of=0.9, values=[-0.5, 0.5])
    >>> found.individual.shape, bool(found.average[0] < found.average[1])
    ((40, 2), True)
    """
    check_density(model)
    X, columns = model.encoder_.select(X), model.encoder_.columns
    j = _place(columns, column)
    chosen = columns[j].levels or _numbers(X, j, columns[j].name) if values is None else values
    if len(chosen) == 0:
        raise ValueError("values must hold at least one value")
    read = _reader(of)
    found = [read(model.predict_density(_with(X, j, value))) for value in chosen]
    return PartialDependence(columns[j].name, tuple(chosen), np.stack(found, axis=1))


def check_density(model: Any) -> None:
    """An error unless the model is fitted and answers with densities."""
    check_is_fitted(model)
    if not hasattr(model, "predict_density"):
        raise ValueError(
            f"{type(model).__name__} has no densities; give a regressor or a survival model"
        )


def _place(columns: tuple, column: int | str) -> int:
    names = [part.name for part in columns]
    if column in names:
        return names.index(str(column))
    if isinstance(column, (int, np.integer)) and -len(names) <= column < len(names):
        return range(len(names))[column]
    raise ValueError(f"column must be one of {', '.join(names)}, or its number; got {column!r}")


def _reader(of: Any) -> Callable[[Density], np.ndarray]:
    if callable(of):
        return of
    if isinstance(of, str) and of in ("mean", "sd"):
        return lambda density: density.mean() if of == "mean" else np.sqrt(density.var())
    if isinstance(of, (float, int)) and 0 < of < 1:
        return lambda density: density.quantile(of)
    raise ValueError(f"of must be 'mean', 'sd', a level between 0 and 1 or a function; got {of!r}")


def _numbers(X: Any, j: int, name: str) -> tuple[float, ...]:
    seen = np.asarray(X[X.columns[j]] if is_frame(X) else np.asarray(X)[:, j], dtype=float)
    different = np.unique(seen[~np.isnan(seen)])
    if len(different) == 0:
        raise ValueError(f"column {name!r} of X has no value; give values")
    if len(different) > POINTS:
        low, high = np.nanquantile(seen, RANGE)
        different = np.linspace(low, high, POINTS)
    return tuple(different.tolist())


def _with(X: Any, j: int, value: Any) -> Any:
    """The table with one column set to a value."""
    if not is_frame(X):
        moved = np.array(X, dtype=float)
        moved[:, j] = value
        return moved
    name = X.columns[j]
    if hasattr(X, "with_columns"):
        import polars as pl

        return X.with_columns(pl.lit(value).alias(name))
    return X.assign(**{name: value})
