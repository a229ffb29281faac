"""How far apart the cdfs of two mixtures are: a bound that holds between the points of a grid too.

Between two points h apart, a difference D of cdfs exceeds its values there by at most
h² sup|D''| / 8, and |D''| <= max|φ'| (Σ w_c / s_c² of the one + that of the other).
"""

import numpy as np

from .sums import Law, cdf, evaluate

# max|φ'| = φ(1)
STEEPEST = float(np.exp(-0.5) / np.sqrt(2 * np.pi))
FAR_SDS = 6.5
# Φ(-6.5), what may lie beyond the grid.
BEYOND = 5e-11
BETWEEN = 2e-4
MOST_POINTS = 4096


def cdf_distance(one: Law, other: Law) -> np.ndarray:
    """An upper bound of sup_y |F(y) - G(y)| of each row; (B,).

    It is at most BETWEEN above the supremum, unless that would need more than MOST_POINTS points.
    """
    low, high = _ends(one, other)
    curvature = STEEPEST * (_mean_precision(one) + _mean_precision(other))
    step = np.sqrt(8 * BETWEEN / curvature)
    count = int(min(np.ceil(((high - low) / step).max()) + 1, MOST_POINTS))
    grid = np.linspace(low, high, count, axis=1)
    apart = np.abs(evaluate(cdf, one, grid) - evaluate(cdf, other, grid)).max(-1)
    between = curvature * ((high - low) / (count - 1)) ** 2 / 8
    return np.minimum(apart + between + BEYOND, 1.0)


def _ends(*laws: Law) -> tuple[np.ndarray, np.ndarray]:
    lows = [(law.means - FAR_SDS * law.sds).min(-1) for law in laws]
    highs = [(law.means + FAR_SDS * law.sds).max(-1) for law in laws]
    return np.minimum(*lows), np.maximum(*highs)


def _mean_precision(law: Law) -> np.ndarray:
    return np.sum(law.weights / law.sds**2, -1)
