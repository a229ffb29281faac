"""The three synthetic laws of the paper's Table 1, with their exact quantiles and densities.

x ~ U[-1, 1], p ~ U(0, 1), y = m(x) + Q(p | x).  Every Q is made of straight pieces in p, so that y
given x is a mixture of uniforms.  Paper: sec:simulations, tab:simu.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

GRID_X = np.linspace(-1.0, 1.0, 100)
LEVELS = (np.arange(100) + 0.5) / 100
GRID_X.flags.writeable = LEVELS.flags.writeable = False


@dataclass(frozen=True)
class Pieces:
    """A quantile function: piece j goes straight from (p[j], low[j]) to (p[j + 1], high[j])."""

    p: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def quantile(self, level: np.ndarray) -> np.ndarray:
        p, low, high = (np.array(part) for part in (self.p, self.low, self.high))
        j = np.clip(np.searchsorted(p, level, side="right") - 1, 0, len(low) - 1)
        share = (level - p[j]) / (p[j + 1] - p[j])
        return (1 - share) * low[j] + share * high[j]

    def pdf(self, noise: np.ndarray) -> np.ndarray:
        heights = np.diff(self.p) / np.subtract(self.high, self.low)
        inside = [(noise >= a) & (noise < b) for a, b in zip(self.low, self.high, strict=True)]
        return np.select(inside, list(heights), 0.0)

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        weight, low, high = np.diff(self.p), np.array(self.low), np.array(self.high)
        mean = weight @ (low + high) / 2
        second = weight @ (low**2 + low * high + high**2) / 3
        return float(mean), float(second - mean**2)


@dataclass(frozen=True)
class NoiseLaw:
    """Q(p | x): ``special`` where ``where(x)`` holds, ``usual`` elsewhere."""

    where: Callable[[np.ndarray], np.ndarray]
    special: Pieces
    usual: Pieces


def _between(x: np.ndarray, low: float, high: float) -> np.ndarray:
    return (low < x) & (x < high)


LAWS: dict[str, NoiseLaw] = {
    "heteroscedastic": NoiseLaw(
        where=lambda x: (
            _between(x, -0.85, -0.65) | _between(x, -0.35, -0.15) | _between(x, 0.3, 0.7)
        ),
        special=Pieces((0.0, 1.0), (-0.5,), (0.5,)),
        usual=Pieces((0.0, 1.0), (-0.1,), (0.1,)),
    ),
    "skewed": NoiseLaw(
        where=lambda x: _between(x, -0.5, 0.0),
        special=Pieces((0.0, 0.5, 1.0), (-0.1, 0.0), (0.0, 0.8)),
        usual=Pieces((0.0, 0.5, 1.0), (-0.8, 0.0), (0.0, 0.1)),
    ),
    # Between the modes and the bridge lie gaps without mass: Q jumps at p = 0.3 and p = 0.7.
    "multimodal": NoiseLaw(
        where=lambda x: np.abs(x) < 0.5,
        special=Pieces((0.0, 0.3, 0.7, 1.0), (-0.55, -0.425, 0.475), (-0.475, 0.425, 0.55)),
        usual=Pieces((0.0, 1.0), (-0.125,), (0.125,)),
    ),
}
NAMES = tuple(LAWS)


def median_function(x: np.ndarray) -> np.ndarray:
    """m(x), the median of y given x under every law: x + 1 for x <= -1/2, else |x|."""
    x = np.asarray(x, dtype=float)
    return np.where(x <= -0.5, x + 1, np.abs(x))


def mean_function(name: str, x: np.ndarray) -> np.ndarray:
    """E[y | x]; differs from the median under the skewed law."""
    return median_function(x) + _by_regime(name, x, lambda pieces: pieces.moments()[0])


def var_function(name: str, x: np.ndarray) -> np.ndarray:
    """Var[y | x]."""
    return _by_regime(name, x, lambda pieces: pieces.moments()[1])


def true_quantile(name: str, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Quantile of y given x at levels p; shape (len(x), len(p))."""
    x, p = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(p, float))
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("levels p must lie in [0, 1]")
    noise = _by_regime(name, x[:, None], lambda pieces: pieces.quantile(p))
    return median_function(x)[:, None] + noise


def true_pdf(name: str, x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Density of y given x on a grid of y values; shape (len(x), len(grid))."""
    x, grid = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(grid, float))
    noise = grid - median_function(x)[:, None]
    return _by_regime(name, x[:, None], lambda pieces: pieces.pdf(noise))


def sample(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n pairs (x, y), each of shape (n,)."""
    if n < 0:
        raise ValueError(f"n must not be negative; got {n}")
    rng = np.random.default_rng(seed)
    x, p = rng.uniform(-1, 1, n), rng.uniform(0, 1, n)
    return x, median_function(x) + _by_regime(name, x, lambda pieces: pieces.quantile(p))


def _by_regime(name: str, x, value: Callable[[Pieces], np.ndarray | float]) -> np.ndarray:
    if name not in LAWS:
        raise ValueError(f"unknown synthetic law {name!r}; choose one of {', '.join(NAMES)}")
    law, x = LAWS[name], np.asarray(x, dtype=float)
    return np.where(law.where(x), value(law.special), value(law.usual))
