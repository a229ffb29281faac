"""How what a density says moves with one column, the others being as they are.

``effects`` are credible bands of the mean of y for every column; ``partial_dependence`` is one
column's curve, and that of each row, of anything that a density can say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..prediction.credible import Band, band, check_level
from ..prediction.density.supported import Density
from ..prediction.per_draw import DrawDensities, thinned
from .encode import is_frame

POINTS = 11
DRAWS = 200
# Columns of numbers with at most so many different values are moved from one to the next.
FEW_VALUES = 5
RANGE = (0.02, 0.98)


@dataclass(frozen=True, eq=False)
class Effect:
    """The mean of E[y | x, Θ] over rows in which one column is set to each of ``values``.

    Attributes
    ----------
    name : str
        Name of the column.
    values : tuple of float or of str
        Numbers, or the levels of a category.
    curve : Band
        Mean over the draws and ends of the credible interval, one for each value.
    """

    name: str
    values: tuple[float, ...] | tuple[str, ...]
    curve: Band

    @property
    def is_category(self) -> bool:
        """Whether the column is a category."""
        return isinstance(self.values[0], str)

    @property
    def span(self) -> float:
        """Distance from the lowest to the highest point of the curve."""
        return float(np.ptp(self.curve.mean))


def effects(model: Any, X: Any, level: float = 0.9) -> tuple[Effect, ...]:
    """Compute how the mean of y changes with each column, the other columns staying as they are.

    Of outcomes with a support it is the mean of the z that the network predicts; an exposure, which
    is no input of the network, has no effect on it.

    Numeric columns move over the middle 96 % of their training values.  At most 200 posterior
    draws are used.

    Parameters
    ----------
    model : fitted ``BDeepNoiseRegressor``
    X : table (N, P)
        Rows to average over, without missing values.
    level : float
        Posterior probability of the credible band.

    Returns
    -------
    tuple of Effect
        One for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> small = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> [effect.name for effect in effects(small.fit(x, x[:, 0]), x[::8])]
    ['x0']
    """
    check_level(level)
    encoded, fitted = model.encoder_.encode(X, "nan"), model.predictive_
    found, j = [], 0
    for column in model.encoder_.columns:
        width = len(column.encoded_names)
        values, settings = _settings(model, column, j)
        moved = np.repeat(encoded[None], len(values), axis=0)
        moved[:, :, j : j + width] = settings[:, None]
        x = model.units_.x.apply(moved.reshape(-1, encoded.shape[1]))
        densities = thinned(fitted.draw_densities_at(fitted.network_rows(x)), DRAWS)
        densities.refuse_gaps("an effect")
        found.append(Effect(column.name, values, _curve(densities, model.paths, len(X), level)))
        j += width
    return tuple(found)


def _settings(model: Any, column: Any, j: int) -> tuple[tuple, np.ndarray]:
    """Values of a column, and what each is encoded as; (values, width)."""
    if column.levels is not None:
        return column.levels, np.eye(len(column.levels))
    seen = model.rows_.x[:, j].astype(float) * model.units_.x.scale[j] + model.units_.x.mean[j]
    different = np.unique(seen[~np.isnan(seen)])
    if len(different) > FEW_VALUES:
        low, high = np.nanquantile(seen, RANGE)
        different = np.linspace(low, high, POINTS)
    return tuple(different.tolist()), different[:, None]


def _curve(densities: DrawDensities, paths: int, rows: int, level: float) -> Band:
    """Means over groups of ``rows`` rows, for every draw, and their band; one outcome."""
    densities = replace(densities, paths=paths)
    means = [means[..., 0].mean(axis=2) for _, means in densities.blocks()]
    a_draw = np.concatenate(means)
    groups = a_draw.reshape(-1, rows, a_draw.shape[1]).mean(axis=1)
    return band(densities, groups, level)


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
    read = reader(of)
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


def reader(of: Any) -> Callable[[Density], np.ndarray]:
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
