"""Some outcomes of a Gaussian mixture once others are known."""

from collections.abc import Mapping
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from .components import Components, Read, per_row

# A value farther from a component is taken to be there: squares must not overflow.
FARTHEST = 1e150


def observed(given: Mapping[int, ArrayLike], rows: int, outcomes: int) -> dict[int, np.ndarray]:
    """Values (N,) of the known outcomes by number, checked."""
    if not isinstance(given, Mapping) or not given:
        raise ValueError("given must map outcomes to their values, such as {1: y1}")
    known = {}
    for outcome, value in given.items():
        name = f"given[{outcome!r}]"
        place = _place(outcome, outcomes)
        if place in known:
            raise ValueError(f"{name}: outcome {place} is given twice")
        known[place] = per_row(value, name, rows, 1)[:, 0]
        if not np.isfinite(known[place]).all():
            raise ValueError(f"{name} must be finite")
    if len(known) == outcomes:
        raise ValueError(f"given must leave out at least one outcome; it has all {outcomes}")
    return known


def _place(outcome: int, outcomes: int) -> int:
    try:
        return range(outcomes)[index(outcome)]
    except (IndexError, TypeError):
        message = f"given: there is no outcome {outcome!r}; they are 0 to {outcomes - 1}"
        raise ValueError(message) from None


def read_conditional(
    read: Read, known: Mapping[int, np.ndarray], start: int, stop: int
) -> Components:
    """Components given the known outcomes, one of them after the other.

    Given y_a, component c has weight w_c N(y_a; m_a, V_aa), means m + g (y_a - m_a) and covariances
    V - g V_a, where g = V_a / V_aa.  Weights are kept in logs to the end.
    """
    weights, means, covs = (np.asarray(part, dtype=np.float64) for part in read(start, stop))
    # Of outcomes that determine each other, rounding leaves no less of a variance than this.
    least = np.finfo(float).eps * np.diagonal(covs, axis1=-2, axis2=-1)
    every = np.arange(means.shape[-1])
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    for outcome, values in known.items():
        variance = covs[..., outcome, outcome]
        apart = values[start:stop, None] - means[..., outcome]
        z = np.clip(apart / np.sqrt(variance), -FARTHEST, FARTHEST)
        log_weights = log_weights - z**2 / 2 - np.log(variance) / 2
        gain = covs[..., outcome] / variance[..., None]
        means = means + gain * apart[..., None]
        covs = covs - gain[..., None] * covs[..., None, outcome, :]
        covs[..., every, every] = np.maximum(covs[..., every, every], least)
    left = [q for q in range(means.shape[-1]) if q not in known]
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return Components(weights, means[..., left], covs[..., left, :][..., left])
