"""A normal given that it lies in a window: its log mass there, its mean and its variance."""

import numpy as np
from scipy.special import log_ndtr

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
# Windows narrower than this many standard deviations count as a point.
NARROW = 1e-6


def within(
    lower: np.ndarray, upper: np.ndarray, mean: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log P(lower <= y <= upper), E[y] and Var[y] given that, for y ~ N(mean, sd²).

    Where both ends are equal the first is the log density there.
    """
    point = ~(upper - lower > NARROW * sd)
    middle = np.where(point, lower, 0.0)
    density = -0.5 * ((middle - mean) / sd) ** 2 - LOG_SQRT_2PI - np.log(sd)
    low, high = (np.where(point, end, (e - mean) / sd) for e, end in ((lower, -1.0), (upper, 1.0)))
    log_mass, first, variance = _truncated(low, high)
    inside = np.clip(mean + sd * first, np.where(point, -np.inf, lower), upper)
    return (
        np.where(point, density, log_mass),
        np.where(point, lower, inside),
        np.where(point, 0.0, sd**2 * variance),
    )


def _truncated(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a standard normal; seen from its far side, which is reflected, log Φ keeps its digits."""
    flip = high > -low
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    log_high = log_ndtr(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mass = log_high + np.log1p(-np.exp(log_ndtr(a) - log_high))
    at_a, at_b = (np.exp(-0.5 * end**2 - LOG_SQRT_2PI - log_mass) for end in (a, b))
    finite_a, finite_b = (np.where(np.isfinite(end), end, 0.0) for end in (a, b))
    first = at_a - at_b
    variance = np.clip(1 + finite_a * at_a - finite_b * at_b - first**2, 0.0, 1.0)
    return log_mass, np.where(flip, -first, first), variance
