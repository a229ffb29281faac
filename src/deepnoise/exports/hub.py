"""``hub_table``: densities as the rows that forecast hubs (hubverse) collect."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..prediction.density.supported import Density

if TYPE_CHECKING:
    import pandas as pd

# Of the COVID-19 and influenza hubs.
HUB_LEVELS = (0.01, 0.025, *(round(0.05 * k, 2) for k in range(1, 20)), 0.975, 0.99)
OURS = ("output_type", "output_type_id", "value")


def hub_table(
    density: Density,
    tasks: Any,
    quantiles: ArrayLike = HUB_LEVELS,
    cdf: ArrayLike = (),
    mean: bool = False,
    median: bool = False,
    samples: int = 0,
    random_state: Any = None,
) -> "pd.DataFrame":
    """Write predictive densities as a table of a forecast hub.

    Columns are those of ``tasks``, then ``output_type``, ``output_type_id`` and ``value``, as
    hubverse defines them.  The identifier is the level of a quantile, the threshold of a cdf, and
    missing for mean and median.  With samples it is text, since samples are numbered: each draw
    has a number of its own, because draws of different rows do not belong together.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
        Of one outcome, from ``predict_density``.
    tasks : pandas frame
        One row for each density: location, horizon, target and so on; ``model_id`` if you want it.
    quantiles : array (M,)
        Levels between 0 and 1; by default the 23 of the COVID-19 hub.
    cdf : array (G,)
        Thresholds t of P(Y <= t).
    mean : bool
        Write the mean.
    median : bool
        Write the median.
    samples : int
        Draws for each row.
    random_state : int, numpy generator or JAX key, optional
        Seed of the draws.

    Returns
    -------
    pandas frame
        All the output of a task together, in the order of the arguments.

    Examples
    --------
    >>> import pandas as pd
    >>> from deepnoise import PredictiveMixture
    >>> from deepnoise.exports import hub_table
    >>> density = PredictiveMixture.of(means=[[[0.0]], [[5.0]]], covs=[[[[1.0]]], [[[4.0]]]])
    >>> tasks = pd.DataFrame({"location": ["01", "02"]})
    >>> hub_table(density, tasks, quantiles=[0.5], mean=True).round(3)
      location output_type  output_type_id  value
    0       01    quantile             0.5    0.0
    1       01        mean             NaN    0.0
    2       02    quantile             0.5    5.0
    3       02        mean             NaN    5.0
    """
    import pandas as pd

    _check(density, tasks)
    levels, thresholds = _levels(quantiles), _finite("cdf", cdf)
    kinds, ids, parts = [], [], []

    def add(kind: str, names: np.ndarray, values: np.ndarray) -> None:
        kinds.extend([kind] * len(names))
        ids.append(np.broadcast_to(names, (len(density), len(names))))
        parts.append(values.reshape(len(density), -1))

    if len(levels):
        add("quantile", levels, density.quantile(levels))
    if len(thresholds):
        add("cdf", thresholds, density.cdf_grid(thresholds))
    if mean:
        add("mean", np.array([np.nan]), density.mean())
    if median:
        add("median", np.array([np.nan]), density.quantile(0.5))
    if samples:
        numbers = np.arange(len(density) * samples, dtype=float).reshape(len(density), samples)
        kinds.extend(["sample"] * samples)
        ids.append(numbers)
        parts.append(density.sample(samples, random_state))
    if not kinds:
        raise ValueError("nothing to write: give quantiles, cdf, mean, median or samples")
    identifiers = np.concatenate(ids, axis=1).ravel()
    table = tasks.iloc[np.repeat(np.arange(len(tasks)), len(kinds))].reset_index(drop=True)
    return table.assign(
        output_type=np.tile(kinds, len(density)),
        output_type_id=_as_text(pd, identifiers) if samples else identifiers,
        value=np.concatenate(parts, axis=1).ravel(),
    )


def _check(density: Density, tasks: Any) -> None:
    if density.n_outcomes > 1:
        raise ValueError(
            f"density has {density.n_outcomes} outcomes, a table one: use density.marginal(k)"
        )
    if not hasattr(tasks, "iloc") or not hasattr(tasks, "columns"):
        raise ValueError("tasks must be a pandas frame with one row for each density")
    if len(tasks) != len(density):
        raise ValueError(f"tasks must have {len(density)} rows, as the density; got {len(tasks)}")
    taken = [name for name in OURS if name in tasks.columns]
    if taken:
        raise ValueError(f"tasks: the column {taken[0]!r} is one that is written; rename it")


def _levels(quantiles: ArrayLike) -> np.ndarray:
    levels = _finite("quantiles", quantiles)
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"quantiles must be levels between 0 and 1; got {quantiles!r}")
    return levels


def _finite(name: str, values: ArrayLike) -> np.ndarray:
    found = np.asarray(values, float).reshape(-1)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite numbers; got {values!r}")
    return found


def _as_text(pd: Any, identifiers: np.ndarray) -> Any:
    texts = [None if np.isnan(value) else f"{value:.12g}" for value in identifiers]
    return pd.array(texts, dtype="string")
