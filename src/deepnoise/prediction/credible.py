"""How sure the posterior is of the density itself: credible intervals across draws of Theta."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from .density.mixture import PredictiveMixture
from .density.support import REAL, Support
from .per_draw import DrawDensities

PROBABILITIES = np.linspace(0.05, 0.95, 19)
# Probabilities are kept this far from 0 and 1, where a deviate would be infinite.
SMALLEST = 1e-16


@dataclass(frozen=True, eq=False)
class Band:
    """Mean over the posterior draws, and lower and upper end of the central credible interval."""

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class DensityBands:
    """Credible bands of each row; with Q > 1 outcomes, of the marginals, with a last axis Q.

    Attributes
    ----------
    grid : array (G,)
    probabilities : array (K,)
    level : float
        Posterior probability of a band at each point.
    pdf : Band
        Of the density on ``grid``, (N, G).
    cdf : Band
        Of the cumulative distribution function on ``grid``, (N, G).
    quantile : Band
        Of the quantiles at ``probabilities``, (N, K).
    """

    grid: np.ndarray
    probabilities: np.ndarray
    level: float
    pdf: Band
    cdf: Band
    quantile: Band


def above(densities: DrawDensities, c: ArrayLike, level: float) -> Band:
    """P(y >= c | x, Θ) across draws; (N,), or (N, Q) for more outcomes than one."""
    check_level(level)
    c = _per_row(c, len(densities.x), densities.n_outcomes)
    sds = _sds(densities)
    parts = []
    for rows, means in densities.blocks():
        probability = ndtr((means - c[rows, None, None]) / sds).mean(axis=2)
        parts.append(band(densities, probability, level))
    return joined(parts, densities.n_outcomes)


def above_each(densities: DrawDensities, grid: ArrayLike, level: float) -> Band:
    """P(y >= g | x, Θ) across draws for every g of a grid (G,), of one outcome; (N, G)."""
    check_level(level)
    points, sds = _grid(grid, 1)[:, 0], _sds(densities)[..., 0]
    parts = []
    for _, means in densities.blocks(len(points)):
        above = [ndtr((means[..., 0] - point) / sds).mean(axis=2) for point in points]
        parts.append(band(densities, np.stack(above, axis=-1), level))
    return joined(parts, outcomes=2)


def bands(
    densities: DrawDensities,
    grid: ArrayLike,
    level: float,
    probabilities: ArrayLike = PROBABILITIES,
    widen: ArrayLike = 0.0,
    support: Support = REAL,
) -> DensityBands:
    """Bands of pdf, cdf and quantile function across draws.

    They are of y and independent normal noise of standard deviations ``widen`` (N,); of outcomes
    with a support, noise is added to the z behind y.
    """
    check_level(level)
    points, probabilities = _grid(grid, densities.n_outcomes), np.asarray(probabilities, float)
    if probabilities.ndim != 1 or not ((probabilities > 0) & (probabilities < 1)).all():
        raise ValueError("probabilities must be a list of numbers between 0 and 1")
    own, extra = _sds(densities), np.broadcast_to(np.asarray(widen, float), len(densities.x))
    parts: tuple[list[Band], ...] = ([], [], [])
    for rows, means in densities.blocks(len(points) + len(probabilities)):
        sds = np.hypot(own, extra[rows, None, None, None])
        quantiles = support.value(_quantiles(means, sds, probabilities))
        values = (*_on_support(means, sds, points, support), quantiles)
        for part, value in zip(parts, values, strict=True):
            part.append(band(densities, value, level))
    whole = [joined(part, densities.n_outcomes) for part in parts]
    grid = points[:, 0] if densities.n_outcomes == 1 else points
    return DensityBands(grid, probabilities, level, *whole)


def _on_support(means, sds, points, support: Support) -> tuple[np.ndarray, np.ndarray]:
    """pdf, or probability at values with a point mass, and cdf of every draw."""
    low, high = support.least(points), support.most(points)
    pdf, cdf = _on_grid(means, sds, high)
    if support.is_real:
        return pdf, cdf
    smooth = low == high
    slopes = np.exp(np.where(smooth, support.log_slope(points), 0.0))
    if smooth.all():
        return pdf * slopes, cdf
    _, below = _on_grid(means, sds, low)
    return np.where(smooth, pdf * slopes, cdf - below), cdf


def _on_grid(means, sds, points) -> tuple[np.ndarray, np.ndarray]:
    """pdf and cdf of every draw at every point: (B, M, G, Q) each, a point at a time."""
    shape = (*means.shape[:2], *points.shape)
    pdf, cdf = np.empty(shape), np.empty(shape)
    for g, point in enumerate(points):
        z = (point - means) / sds
        pdf[:, :, g] = np.mean(np.exp(-(z**2) / 2), axis=2) / (sds[:, :, 0] * np.sqrt(2 * np.pi))
        cdf[:, :, g] = ndtr(z).mean(axis=2)
    return pdf, cdf


def _quantiles(means, sds, probabilities) -> np.ndarray:
    """Quantiles of every draw: (B, M, K, Q)."""
    rows, draws, paths, outcomes = means.shape
    found = []
    for q in range(outcomes):
        variances = np.broadcast_to(sds[..., q] ** 2, (rows, draws, paths))
        mixture = PredictiveMixture.of(
            means[..., q].reshape(-1, paths, 1), variances.reshape(-1, paths, 1, 1)
        )
        found.append(mixture.quantile(probabilities).reshape(rows, draws, -1))
    return np.stack(found, axis=-1)


def band(densities: DrawDensities, values: np.ndarray, level: float, axis: int = 1) -> Band:
    """The band of values that carry the draws on ``axis``."""
    lower, upper = densities.credible(values, level, axis)
    return Band(densities.average(values, axis), lower, upper)


def joined(parts: list[Band], outcomes: int) -> Band:
    """Bands of blocks of rows, one after the other; a single outcome loses its axis."""
    fields = [
        np.concatenate([getattr(p, name) for p in parts]) for name in ("mean", "lower", "upper")
    ]
    return Band(*(field[..., 0] if outcomes == 1 else field for field in fields))


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")


def _sds(densities: DrawDensities) -> np.ndarray:
    """(M, 1, Q), to broadcast over paths."""
    return np.sqrt(np.diagonal(densities.covs(), axis1=1, axis2=2))[:, None]


def _per_row(c: ArrayLike, rows: int, outcomes: int) -> np.ndarray:
    """(N, Q) from a number, one a row, one an outcome, or all of them."""
    c = np.asarray(c, float)
    given = c[:, None] if outcomes == 1 and c.ndim == 1 else c
    if np.isnan(c).any():
        raise ValueError("c must not contain nan")
    try:
        return np.broadcast_to(given, (rows, outcomes))
    except ValueError:
        raise ValueError(
            f"c must fit {(rows, outcomes)} (rows, outcomes), or be [[c1, c2]] for several "
            f"thresholds of one outcome; got {c.shape}"
        ) from None


def _grid(grid: ArrayLike, outcomes: int) -> np.ndarray:
    """(G, Q) from (G,), the same for all outcomes, or (G, Q)."""
    points = np.asarray(grid, float)
    if points.ndim == 1:
        points = np.repeat(points[:, None], outcomes, axis=1)
    if points.ndim != 2 or points.shape[1] != outcomes or not len(points):
        raise ValueError(f"grid must be (points,) or (points, {outcomes}); got {np.shape(grid)}")
    if not np.isfinite(points).all():
        raise ValueError("grid must be finite")
    return points


@dataclass(frozen=True)
class Centiles:
    """``centile`` P(Y <= y | x) and ``z``, its standard normal deviate.

    Shapes: (N, 3), or (N, 3, Q): the score, and lower and upper end of its credible interval.
    """

    centile: np.ndarray
    z: np.ndarray


def centiles_of(above: np.ndarray) -> Centiles:
    """From P(Y >= y | x) and the ends of its interval, on axis 1."""
    above = np.clip(above[:, [0, 2, 1]], SMALLEST, 1 - SMALLEST)
    return Centiles(1 - above, -ndtri(above))
