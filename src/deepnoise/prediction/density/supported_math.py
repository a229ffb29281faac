"""Quadrature and highest-density regions of outcomes with a support."""

import numpy as np

# Of the mass of a row, what may lie beyond the values that sums and integrals visit.
BEYOND = 1e-9
NODES = 8


def levels_within(between: int = 11) -> np.ndarray:
    """Levels between whose quantiles a cdf is as good as a polynomial; so many in the middle."""
    tail = np.array([BEYOND, 1e-6, 1e-4, 1e-3, 0.01, 0.03])
    return np.concatenate([tail, np.linspace(0.07, 0.93, between), 1 - tail[::-1]])


def tail_levels(level: float, side: str) -> np.ndarray:
    """The same of the part beyond one level, and of an end of the other part."""
    share = np.array([BEYOND, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85])
    return 1 - (1 - level) * share[::-1] if side == "upper" else level * share


def legendre(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (N, J) of Gauss-Legendre quadrature between neighbouring edges (N, E)."""
    at, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges, axis=1)[..., None] / 2
    middle = edges[:, :-1, None] + half
    rows = len(edges)
    return (middle + half * at).reshape(rows, -1), (half * weights).reshape(rows, -1)


def heaviest(mass: np.ndarray, height: np.ndarray, coverage: float) -> np.ndarray:
    """Places, in order, of the highest cells that hold the coverage together."""
    order = np.argsort(-height, kind="stable")
    held = np.cumsum(mass[order])
    needed = int(np.searchsorted(held, coverage * held[-1] - 1e-12)) + 1
    return np.sort(order[:needed])


def joined(low: np.ndarray, high: np.ndarray, apart: float) -> np.ndarray:
    """Neighbours, at most ``apart`` from each other, as one interval; (k, 2)."""
    new = np.append(True, low[1:] - high[:-1] > apart + 1e-12)
    last = np.append(new[1:], True)
    return np.column_stack([low[new], high[last]])
