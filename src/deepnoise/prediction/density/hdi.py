"""Highest-density regions of Gaussian mixtures, {y : f(y) >= t} with mass the coverage.

A grid of exact F and log f is refined where f crosses the threshold, until the cells in which it
does hold next to no mass.  So any number of modes will do, joined, parted or just touching.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .quantile import spread_sample
from .sums import Law, cdf, density, evaluate, take_rows

NODES = 160
MASS_TOLERANCE = 1e-9
ROUNDS = 40
CELLS_A_ROUND = 8
BISECTIONS = 50
FAR_SDS = 38.0
TINY = np.finfo(float).tiny


class Grid(NamedTuple):
    """Sorted points of each row, with F and log f there; all (B, G)."""

    x: np.ndarray
    mass: np.ndarray
    log_f: np.ndarray


def hdi(law: Law, coverage: float) -> list[np.ndarray]:
    """Each row's highest-density region as the ends (k, 2) of k disjoint intervals, in order.

    Its mass is the coverage to 1e-9, or as near as rounding of y allows.  A mode with less than
    about 1/80 of the mass may go unseen.
    """
    regions: list[np.ndarray] = [np.empty((0, 2))] * len(law.means)
    rows, grid = np.arange(len(law.means)), _look(law, _first_points(law, coverage))
    for turn in range(ROUNDS):
        level = _level(grid, coverage)
        crossed, doubtful = _doubtful(grid, level)
        settled = np.sum(crossed, -1) <= MASS_TOLERANCE
        for n in np.flatnonzero(settled | (turn == ROUNDS - 1)):
            regions[rows[n]] = _ends(grid.x[n], grid.log_f[n], level[n])
        if settled.all():
            break
        if np.mean(settled) >= 0.75:
            keep = np.flatnonzero(~settled)
            law, rows, level, doubtful = (
                take_rows(law, keep),
                rows[keep],
                level[keep],
                doubtful[keep],
            )
            grid = Grid(*(part[keep] for part in grid))
        grid = _merge(grid, _look(law, _new_points(grid, level, doubtful)))
    return regions


def _look(law: Law, x: np.ndarray) -> Grid:
    log_f = np.log(np.maximum(evaluate(density, law, x), TINY))
    return Grid(x, evaluate(cdf, law, x), log_f)


def _merge(one: Grid, other: Grid) -> Grid:
    order = np.argsort(np.concatenate([one.x, other.x], -1), -1, kind="stable")
    return Grid(
        *(np.take_along_axis(np.concatenate(pair, -1), order, -1) for pair in zip(one, other))
    )


def _first_points(law: Law, coverage: float) -> np.ndarray:
    """Half where the mass is, half evenly over the main body, and two where no density is left."""
    z = ndtri((1 - coverage) / 20)
    low, high = ((law.means + z * law.sds).min(-1), (law.means - z * law.sds).max(-1))
    even = np.linspace(low, high, NODES // 2 - 2, axis=-1)
    far = np.stack(
        [(law.means - FAR_SDS * law.sds).min(-1), (law.means + FAR_SDS * law.sds).max(-1)], -1
    )
    return np.sort(np.concatenate([spread_sample(law, NODES // 2), even, far], -1), -1)


@np.errstate(over="ignore")
def _level(grid: Grid, coverage: float) -> np.ndarray:
    """log t for f exponential between points: f >= t on (f₁ - t) / (f₁ - f₀) of a cell's mass."""
    f, mass = np.exp(grid.log_f), np.diff(grid.mass)
    least, most = np.minimum(f[:, :-1], f[:, 1:]), np.maximum(f[:, :-1], f[:, 1:])
    drop = np.maximum(most - least, TINY)
    low, high = grid.log_f.min(-1), grid.log_f.max(-1)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        share = np.clip((most - np.exp(middle)[:, None]) / drop, 0, 1)
        enough = np.sum(mass * share, -1) >= coverage
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return low


def _doubtful(grid: Grid, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass of the cells that f crosses the level in, and also of those it may; (B, G - 1) each.

    It may beside a local extreme that is no further from the level than from its neighbours.
    """
    mass, above = np.diff(grid.mass), grid.log_f >= level[:, None]
    rise = np.diff(grid.log_f)
    crossed = np.where(above[:, 1:] != above[:, :-1], mass, 0.0)
    extreme = (rise[:, 1:] * rise[:, :-1] < 0) & (
        np.abs(grid.log_f[:, 1:-1] - level[:, None])
        <= np.maximum(np.abs(rise[:, 1:]), np.abs(rise[:, :-1]))
    )
    beside = np.pad(extreme, ((0, 0), (1, 0))) | np.pad(extreme, ((0, 0), (0, 1)))
    return crossed, np.maximum(crossed, np.where(beside, 0.5 * mass, 0.0))


def _new_points(grid: Grid, level: np.ndarray, doubtful: np.ndarray) -> np.ndarray:
    """In the most doubtful cells: the likely crossing, points near it on either side, and midway.

    A cell so becomes a tenth as wide where the guess is good, and at most half in any case.
    """
    most = np.max(np.sum(doubtful > 0.01 * MASS_TOLERANCE, -1))
    count = min(CELLS_A_ROUND, int(most))
    cells = np.argsort(-doubtful, -1)[:, :count]
    left, right = (np.take_along_axis(grid.x, cells + i, -1) for i in (0, 1))
    share = _crossing(
        *(np.take_along_axis(grid.log_f, cells + i, -1) for i in (0, 1)), level[:, None]
    )
    shares = [share / 2, 0.95 * share, share, share + 0.05 * (1 - share), (1 + share) / 2]
    return np.concatenate([left + part * (right - left) for part in shares], -1)


def _crossing(left: np.ndarray, right: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Share of the way from left to right at which log f, straight in between, is the level."""
    rise = right - left
    share = (level - left) / np.where(rise == 0, 1.0, rise)
    return np.where((share > 0) & (share < 1), share, 0.5)


def _ends(x: np.ndarray, log_f: np.ndarray, level: float) -> np.ndarray:
    """Intervals (k, 2) of one row where log f, straight between points, is above the level."""
    above = log_f >= level
    left = np.flatnonzero(above[1:] != above[:-1])
    share = _crossing(log_f[left], log_f[left + 1], level)
    ends = (x[left] + share * (x[left + 1] - x[left])).reshape(-1, 2)
    return ends[ends[:, 1] > ends[:, 0]]
