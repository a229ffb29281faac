"""Posterior → ArviZ, for its plots and tables, and PSIS-LOO through it; for arviz 0.23 and 1.x.

ArviZ is an optional extra and slow to import: it is loaded here, when first asked for.
"""

import importlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .diagnostics import ess, split
from .posterior import Posterior

PARTS = ("beta", "gamma", "tau2", "sigma2")
ROWS_FOR_EFFICIENCY = 200
# Log density of a new row, as elpd over the number of rows: the mean of what this returns.
KFOLD = 'cross_val_score(model, X, y, cv=10, scoring=deepnoise.scorer("nll"))'


def to_arviz(
    posterior: Posterior,
    log_likelihood: ArrayLike | None = None,
    observed: ArrayLike | Mapping[str, ArrayLike] | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
) -> Any:
    """An ``InferenceData`` (arviz 0.23) or ``DataTree`` (1.x) of the draws.

    Parameters
    ----------
    posterior : Posterior
        Becomes ``beta_0``, ``gamma_0``, ... with axes named after layers.
    log_likelihood : array (chain, draw, N), optional
        Of every row.
    observed : array (N,) or (N, Q), or arrays (N,) by name, optional
    names : mapping, optional
        Names of the ``"inputs"`` and of the ``"outcomes"``.
    values : mapping of arrays (chain, draw, ...), optional
        More to keep beside the parameters, such as predictive functionals.
    """
    draws = posterior.draws
    layers = ["inputs", *(f"hidden_{l}" for l in range(draws.L)), "outcomes"]
    arrays, dims = {}, {}
    for part in PARTS:
        for l, array in enumerate(getattr(draws, part)):
            arrays[f"{part}_{l}"] = np.asarray(array)
            dims[f"{part}_{l}"] = [layers[l + 1], layers[l]][: array.ndim - 2]
    sizes = (draws.beta[0].shape[-1], *(a.shape[-1] for a in draws.gamma))
    coords: dict[str, Any] = {
        layer: np.arange(size) for layer, size in zip(layers, sizes, strict=True)
    }
    coords |= {layer: list(given) for layer, given in (names or {}).items()}
    groups: dict[str, dict] = {"posterior": {**arrays, **_arrays(values)}}
    if log_likelihood is not None:
        groups["log_likelihood"] = {"y": np.asarray(log_likelihood)}
        dims["y"] = ["row"]
    if observed is not None:
        groups["observed_data"] = _observed(observed, coords["outcomes"])
        dims |= {name: ["row"] for name in groups["observed_data"]}
    return _from_groups(groups, coords, dims)


@dataclass(frozen=True)
class Loo:
    """Leave-one-out predictive fit: the expected log density of new rows, and how far to trust it.

    ``elpd`` is the sum of ``pointwise`` (N,), ``se`` its standard error, ``p`` the effective number
    of parameters; rows whose ``pareto_k`` exceeds ``limit`` are too influential for the method.
    """

    elpd: float
    se: float
    p: float
    pointwise: np.ndarray
    pareto_k: np.ndarray
    limit: float

    @property
    def bad_rows(self) -> np.ndarray:
        return np.flatnonzero(~(self.pareto_k <= self.limit))

    @property
    def verdict(self) -> str:
        bad = len(self.bad_rows)
        if not bad:
            return "reliable: no row is too influential"
        return (
            f"not reliable: {bad} of {len(self.pareto_k)} rows are too influential (Pareto k over "
            f"{self.limit:.2f}). Fit anew without them instead, ten times: {KFOLD}. "
            f"Of a censored y: fit with cross_fit=2, and ask held_out_report()"
        )

    def __str__(self) -> str:
        return f"elpd {self.elpd:.1f} ± {self.se:.1f}, p {self.p:.1f}; {self.verdict}"


def loo(log_likelihood: ArrayLike) -> Loo:
    """PSIS-LOO from the log likelihood (chain, draw, N) of every row."""
    values = np.asarray(log_likelihood, float)
    if values.ndim != 3 or not np.isfinite(values).all():
        raise ValueError("loo needs finite log likelihoods of shape (chain, draw, N)")
    groups = {
        "posterior": {"mean": values.mean(axis=2)},
        "log_likelihood": {"y": values},
    }
    data = _from_groups(groups, {}, {"y": ["row"]})
    with warnings.catch_warnings():
        # What ArviZ warns of is said by the verdict.
        warnings.simplefilter("ignore", UserWarning)
        result = _arviz().loo(data, pointwise=True, reff=relative_efficiency(values))
    # The two lines of ArviZ differ in names and in the divisor of the standard error.
    pointwise = np.asarray(result.elpd_i if hasattr(result, "elpd_i") else result.loo_i)
    draws, rows = values[..., 0].size, values.shape[2]
    fit = special.logsumexp(values, axis=(0, 1)) - np.log(draws)
    return Loo(
        elpd=float(pointwise.sum()),
        se=float(np.sqrt(rows) * pointwise.std(ddof=1)) if rows > 1 else math.nan,
        p=float((fit - pointwise).sum()),
        pointwise=pointwise,
        pareto_k=np.asarray(result.pareto_k),
        limit=min(1 - 1 / math.log10(draws), 0.7),
    )


def relative_efficiency(log_likelihood: np.ndarray) -> float:
    """Effective over actual number of draws of the likelihood, on average over rows."""
    step = -(-log_likelihood.shape[2] // ROWS_FOR_EFFICIENCY)
    rows = np.moveaxis(log_likelihood[:, :, ::step], 2, 0)
    sizes = [ess(split(np.exp(row - row.max()))) for row in rows]
    return min(float(np.mean(sizes)) / log_likelihood[..., 0].size, 1.0)


def _arviz() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return importlib.import_module("arviz")
    except ImportError as error:
        raise ImportError("ArviZ is not installed: pip install 'deepnoise[arviz]'") from error


def _from_groups(groups: dict[str, dict], coords: dict, dims: dict) -> Any:
    arviz = _arviz()
    if int(arviz.__version__.partition(".")[0]) >= 1:
        return arviz.from_dict(groups, coords=coords, dims=dims)
    return arviz.from_dict(**groups, coords=coords, dims=dims)


def _arrays(values: Mapping[str, ArrayLike] | None) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in (values or {}).items()}


def _observed(seen: Any, outcomes: Sequence) -> dict[str, np.ndarray]:
    """One variable an outcome: the joint log likelihood has no axis for it."""
    if isinstance(seen, Mapping):
        return _arrays(seen)
    y = np.asarray(seen)
    columns = y.reshape(len(y), -1).T
    if len(columns) == 1:
        return {"y": columns[0]}
    return {f"y_{name}": column for name, column in zip(outcomes, columns, strict=True)}
