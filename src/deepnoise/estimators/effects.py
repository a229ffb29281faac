"""How the mean of y moves with one column, the others being as they are."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..prediction.credible import Band, band, check_level
from ..prediction.per_draw import DrawDensities, thinned

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
    encoded = model.encoder_.encode(X, "nan")
    found, j = [], 0
    for column in model.encoder_.columns:
        width = len(column.encoded_names)
        values, settings = _settings(model, column, j)
        moved = np.repeat(encoded[None], len(values), axis=0)
        moved[:, :, j : j + width] = settings[:, None]
        x = model.units_.x.apply(moved.reshape(-1, encoded.shape[1]))
        densities = thinned(model.draw_densities_at(model.network_rows(x)), DRAWS)
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
