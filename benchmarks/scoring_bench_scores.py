"""ScoringBench's scores of a prediction, from its quantiles; lower is better, but for coverage.

Between two quantiles the density is flat, so the energy scores (CRPS is that of exponent 1) are
sums in closed form.  CRTS, pseudospherical and further density power scores are left to
ScoringBench.
"""

import numpy as np

from scoring_bench_wrapper import Quantiles

ENERGY_EXPONENTS = (0.5, 1.5)
COVERAGES = (90, 95)
# Gneiting and Ranjan (2011): which quantiles count.
WEIGHTS = {
    "left": lambda p: (1 - p) ** 2,
    "right": lambda p: p**2,
    "center": lambda p: p * (1 - p),
}
PINBALL_LEVELS = np.arange(1, 100) / 100


def scores(found: Quantiles, y: np.ndarray) -> dict[str, float]:
    """Means over rows."""
    result = {
        "rmse": float(np.sqrt(np.mean((found.mean - y) ** 2))),
        "mae": float(np.abs(at(found, [0.5])[:, 0] - y).mean()),
        "r2": float(1 - np.sum((found.mean - y) ** 2) / np.sum((y - y.mean()) ** 2)),
        "crps": float(energy(found, y, 1.0).mean()),
    }
    result |= {f"energy_{b}": float(energy(found, y, b).mean()) for b in ENERGY_EXPONENTS}
    result |= {f"wcrps_{side}": weighted_crps(found, y, side) for side in WEIGHTS}
    for coverage in COVERAGES:
        result |= interval(found, y, coverage)
    return result


def at(found: Quantiles, levels) -> np.ndarray:
    """Quantiles at some of the levels."""
    places = np.abs(found.levels[:, None] - np.asarray(levels)).argmin(axis=0)
    apart = np.abs(found.levels[places] - levels).max()
    if apart > 1e-9:
        raise ValueError(f"levels must hold {levels}; the nearest are {apart:g} off")
    return found.values[:, places]


def energy(found: Quantiles, y: np.ndarray, exponent: float) -> np.ndarray:
    """E|Y - y|^b - E|Y - Y'|^b / 2 of each row."""
    edges = found.values
    masses = np.diff(found.levels)
    masses[0] += found.levels[0]
    masses[-1] += 1 - found.levels[-1]
    widths = np.diff(edges, axis=1)
    heights = masses / np.maximum(widths, np.spacing(np.abs(edges).max(axis=1))[:, None])
    jumps = np.diff(heights, axis=1, prepend=0.0, append=0.0)
    from_y = edges - y[:, None]
    once = np.sign(from_y) * np.abs(from_y) ** (exponent + 1) / (exponent + 1)
    near = -np.einsum("ne,ne->n", jumps, once)
    far = [-row @ _twice(ends, exponent) @ row for row, ends in zip(jumps, edges, strict=True)]
    return near - np.array(far) / 2


def _twice(edges: np.ndarray, exponent: float) -> np.ndarray:
    """|d|^b integrated twice, at the distances of all pairs of edges."""
    apart = np.abs(edges[:, None] - edges[None])
    return apart ** (exponent + 2) / ((exponent + 1) * (exponent + 2))


def weighted_crps(found: Quantiles, y: np.ndarray, side: str) -> float:
    """Twice the pinball loss over the levels 0.01 to 0.99, weighted; exact quantiles."""
    apart = at(found, PINBALL_LEVELS) - y[:, None]
    pinball = 2 * ((apart >= 0) - PINBALL_LEVELS) * apart
    return float((pinball * WEIGHTS[side](PINBALL_LEVELS)).mean(axis=0).sum() / 100)


def interval(found: Quantiles, y: np.ndarray, coverage: int) -> dict[str, float]:
    miss = 1 - coverage / 100
    low, high = at(found, [miss / 2, 1 - miss / 2]).T
    below, above = np.maximum(low - y, 0), np.maximum(y - high, 0)
    return {
        f"coverage_{coverage}": float(((low <= y) & (y <= high)).mean()),
        f"interval_score_{coverage}": float((high - low + 2 / miss * (below + above)).mean()),
    }
