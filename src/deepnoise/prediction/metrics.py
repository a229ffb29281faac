"""How good densities are at outcomes: (density, y) -> number."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..model.outcome import Window
from .density.mixture import PredictiveMixture
from .density.supported import Density, SupportedDensity

# The central intervals of the forecast hubs, eleven of them.
HUB_COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
# Of a grid on which a density is integrated.
MOST_POINTS = 1_000_000


def _outcomes(density: Density, y: ArrayLike) -> np.ndarray:
    """y in the shape of ``density.mean()``, finite."""
    shape = (len(density),) if density.n_outcomes == 1 else (len(density), density.n_outcomes)
    values = np.asarray(y, dtype=float)
    if density.n_outcomes == 1 and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != shape:
        raise ValueError(f"y must be {shape}; got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("y must be finite")
    return values


def on_latent_scale(
    density: Density, y: ArrayLike | Window
) -> tuple[PredictiveMixture, np.ndarray | Window]:
    """The mixture behind a density, and what is known of its z: a window at point masses.

    Ranks among counts, and coverage of them, are then those of continuous outcomes.
    """
    if not isinstance(density, SupportedDensity):
        return density, y if isinstance(y, Window) else np.asarray(y, dtype=float)
    seen = y if isinstance(y, Window) else _outcomes(density, y)[:, None]
    return density.latent, density.support.window(seen)


def rmse(density: Density, y: ArrayLike) -> float:
    """√ mean (y - E[y|x])²."""
    return float(np.sqrt(np.mean((_outcomes(density, y) - density.mean()) ** 2)))


def nll(density: Density, y: ArrayLike) -> float:
    """-mean log p(y|x), joint over outcomes."""
    return -float(np.mean(density.log_prob(_outcomes(density, y))))


def nll_seen(density: Density, y: ArrayLike | Window) -> float:
    """-mean log p(y|x), with the mass of a window where y is only known to lie in it."""
    return -float(np.mean(log_scores(density, y)))


def log_scores(density: Density, y: ArrayLike | Window) -> np.ndarray:
    """log p(y|x) of every row, or the log mass of its window; (N,)."""
    if not isinstance(y, Window):
        return density.log_prob(_outcomes(density, y))
    exact = (y.lower == y.upper).reshape(len(density), -1)
    if density.n_outcomes == 1:
        seen, lower, upper = exact[:, 0], y.lower.ravel(), y.upper.ravel()
        values = density.log_prob(np.where(seen, lower, 0.0))
        mass = density.log_mass(np.where(seen, -np.inf, lower), np.where(seen, np.inf, upper))
        return np.where(seen, values, mass)
    if not exact.all():
        raise ValueError(
            "y: with several outcomes, every row must have exact values of all of them"
        )
    return density.log_prob(_outcomes(density, y.lower))


def pit_seen(density: Density, y: ArrayLike | Window, seed: int = 0) -> np.ndarray:
    """F(y|x), at a random place within its window where y is only known to lie in it; (N,).

    So it is uniform on (0, 1) if the densities are right, and windows do not depend on the outcome
    given x.  The same seed gives the same places.
    """
    density, y = on_latent_scale(density, y)
    if not isinstance(y, Window):
        return pit(density, y)
    low, high = (density.cdf(end.ravel()) for end in (y.lower, y.upper))
    return low + np.random.default_rng(seed).random(len(low)) * (high - low)


def crps(density: Density, y: ArrayLike) -> float:
    """Mean continuous ranked probability score, in units of y."""
    return float(np.mean(density.crps(_outcomes(density, y))))


def pit(density: Density, y: ArrayLike) -> np.ndarray:
    """F(y|x), uniform on (0, 1) if the densities are right; (N,).

    At a random place within the step of F where y has a point mass.
    """
    if isinstance(density, SupportedDensity):
        return pit_seen(density, y)
    return density.cdf(_outcomes(density, y))


def coverage(density: Density, y: ArrayLike, level: float = 0.95) -> float:
    """Share of outcomes inside their central intervals: those with |2 F(y|x) - 1| <= level."""
    if not 0 < level <= 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")
    return float(np.mean(np.abs(2 * pit(density, y) - 1) <= level))


def coverages_seen(density: Density, y: ArrayLike | Window, levels: Sequence[float]) -> list[float]:
    """Shares of outcomes inside their central intervals, where some are known to a window only.

    Of these counts the share of the window's mass inside: so densities that are right have the
    level on average, also among censored outcomes.  Missing ones, known to lie nowhere, are left
    out.
    """
    density, y = on_latent_scale(density, y)
    if not isinstance(y, Window):
        off_centre = np.abs(2 * pit(density, y) - 1)
        return [float(np.mean(off_centre <= level)) for level in levels]
    ends = (np.reshape(end, (len(density), -1)) for end in (y.lower, y.upper))
    low, high = (density.cdf(end) for end in ends)
    mass, found = high - low, []
    for level in levels:
        tail = (1 - level) / 2
        inside = np.clip(np.minimum(high, 1 - tail) - np.maximum(low, tail), 0, None)
        point = (low >= tail) & (high <= 1 - tail)
        share = np.where(mass > 0, inside / np.where(mass > 0, mass, 1), point)
        found.append(float(np.mean(share[mass < 1])))
    return found


def wepi(density: Density, y: ArrayLike, level: float = 0.95) -> float:
    """Mean width of central intervals at the smallest nominal level that covers ``level`` of y.

    Row i is covered from nominal level |2 F(y_i|x_i) - 1| on; the level taken is the ⌈level N⌉-th
    smallest of these.  Infinite if that is 1 to rounding.  With several outcomes, their mean.
    """
    if not 0 < level <= 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")
    y = _outcomes(density, y).reshape(len(density), -1)
    widths = [_wepi(density.marginal(q), y[:, q], level) for q in range(density.n_outcomes)]
    return float(np.mean(widths))


def _wepi(density: Density, y: np.ndarray, level: float) -> float:
    tail = np.minimum(density.cdf(y), density.probability_above(y))
    # The small excess keeps 0.95 · 20 = 19.000000000000004 from asking for all twenty.
    needed = int(np.ceil(level * len(y) - 1e-9))
    nominal = 1 - 2 * np.sort(tail)[::-1][max(needed, 1) - 1]
    if nominal >= 1:
        return np.inf
    if nominal <= 0:
        return 0.0
    return float(np.mean(np.diff(density.interval(nominal), axis=1)))


def quantile_l1(density: Density, true_quantiles: ArrayLike, levels: ArrayLike) -> float:
    """Mean over rows and levels of |true quantile - predicted quantile|; true_quantiles (N, M)."""
    predicted = density.quantile(np.atleast_1d(levels))
    true_quantiles = np.asarray(true_quantiles, dtype=float)
    if true_quantiles.shape != predicted.shape:
        raise ValueError(f"true_quantiles must be {predicted.shape}; got {true_quantiles.shape}")
    return float(np.mean(np.abs(true_quantiles - predicted)))


def lattice_nll(density: Density, y: ArrayLike, step: ArrayLike) -> float:
    """-mean log P(cell of y | x) for outcomes that were rounded, which no density spike can game.

    ``step`` is either the width of cells [y - step/2, y + step/2], or the distinct values that y
    can take: their cells meet midway and the outer two reach to infinity, so total mass is one.
    """
    y, step = _outcomes(density, y), np.asarray(step, dtype=float)
    if step.ndim == 0:
        if not (np.isfinite(step) and step > 0):
            raise ValueError(f"step must be positive; got {step}")
        return -float(np.mean(density.log_mass(y - step / 2, y + step / 2)))
    values = np.unique(step)
    middle = (values[1:] + values[:-1]) / 2
    cell = np.searchsorted(middle, y)
    gap = np.diff(values).min() if len(values) > 1 else 1.0
    if (np.abs(values[cell] - y) > 1e-6 * gap).any():
        raise ValueError("y must take only the values of the lattice")
    edges = np.concatenate([[-np.inf], middle, [np.inf]])
    return -float(np.mean(density.log_mass(edges[cell], edges[cell + 1])))


def interval_score(density: Density, y: ArrayLike, level: float = 0.95) -> float:
    """Mean of u - l + 2/(1 - level) · (distance of y from [l, u]), central intervals [l, u]."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")
    y = _outcomes(density, y)
    low, high = np.moveaxis(density.interval(level), 1, 0)
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    return float(np.mean(high - low + 2 / (1 - level) * outside))


def weighted_interval_score(
    density: Density, y: ArrayLike, levels: Sequence[float] = HUB_COVERAGES
) -> float:
    """Mean weighted interval score of the median and the central intervals at ``levels``.

    (|y - median| / 2 + Σ_k α_k / 2 · interval score at 1 - α_k) / (K + 1/2), as the forecast hubs
    define it (Bracher et al. 2021); by default at their eleven levels.
    """
    coverages = np.asarray(levels, dtype=float)
    if coverages.ndim != 1 or not ((coverages > 0) & (coverages < 1)).all():
        raise ValueError(f"levels must be a list of numbers between 0 and 1; got {levels}")
    y = _outcomes(density, y)[:, None]
    probabilities = np.concatenate([[0.5], (1 - coverages) / 2, (1 + coverages) / 2])
    found = density.quantile(probabilities)
    median, low, high = np.split(found, [1, 1 + len(coverages)], axis=1)
    alpha = (1 - coverages).reshape(-1, *(1,) * (found.ndim - 2))
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    scores = alpha / 2 * (high - low) + outside
    total = np.abs(y - median)[:, 0] / 2 + scores.sum(axis=1)
    return float(np.mean(total) / (len(coverages) + 0.5))


def cde_loss(density: Density, y: ArrayLike) -> float:
    """Mean of ∫ p(t|x)² dt - 2 p(y|x): squared error of the density itself, up to a constant.

    The integral is a sum over a grid at half the narrowest standard deviation, which is exact to
    rounding for Gaussian mixtures.  With one outcome only.
    """
    if isinstance(density, SupportedDensity):
        raise ValueError("cde_loss needs outcomes without a support")
    if density.n_outcomes > 1:
        raise ValueError("cde_loss needs one outcome; take density.marginal(q) of one of them")
    squares = [_integral_of_square(density[row]) for row in range(len(density))]
    return float(np.mean(squares - 2 * density.pdf(_outcomes(density, y))))


def _integral_of_square(density: PredictiveMixture) -> float:
    parts = density.components()
    means, sds = parts.means[0, :, 0], np.sqrt(parts.covs[0, :, 0, 0])
    step = sds.min() / 2
    low, high = (means - 9 * sds).min(), (means + 9 * sds).max()
    if (high - low) / step > MOST_POINTS:
        raise ValueError(
            "cde_loss: a component is too narrow beside the spread of its density to integrate it"
        )
    grid = np.arange(low, high + step, step)
    return float(np.sum(density.pdf_grid(grid) ** 2) * step)


def msll(density: Density, y: ArrayLike, y_train: ArrayLike) -> float:
    """Mean standardised log loss: nll less that of one normal with the moments of ``y_train``.

    Below zero where the model says more than that (Rasmussen and Williams 2006, 2.5).
    """
    train = np.asarray(y_train, dtype=float).reshape(-1, density.n_outcomes)
    if len(train) < 2 or not np.isfinite(train).all():
        raise ValueError("y_train must hold two or more finite outcomes")
    if (np.ptp(train, axis=0) == 0).any():
        raise ValueError("y_train must not be constant")
    cov = np.cov(train, rowvar=False, ddof=0).reshape(density.n_outcomes, -1)
    plain = PredictiveMixture.of(train.mean(axis=0)[None, None], cov[None, None])
    y = _outcomes(density, y)
    return nll(density, y) - nll(plain[np.zeros(len(density), int)], y)


def calibration_table(
    density: Density, y: ArrayLike, levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95)
) -> list[dict[str, float]]:
    """For each nominal level: the coverage and the mean width of the central intervals."""
    nominal = np.asarray(levels, dtype=float)
    needed = np.abs(2 * pit(density, y) - 1)
    low, high = (density.quantile((1 + sign * nominal) / 2) for sign in (-1, 1))
    return [
        {
            "level": float(level),
            "coverage": float(np.mean(needed <= level)),
            "width": float(np.mean(high[:, i] - low[:, i])),
        }
        for i, level in enumerate(nominal)
    ]


def concordance(predicted: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    """Harrell's C: share of comparable pairs in the right order, ties of predictions half.

    A pair is comparable if the earlier time is that of an event (of equal times, one of them).
    """
    predicted, time, event = (np.ravel(a) for a in (predicted, time, event))
    right = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event.astype(bool))
        pairs += later.sum()
        right += (predicted[later] > predicted[i]).sum()
        right += (predicted[later] == predicted[i]).sum() / 2
    if not pairs:
        raise ValueError("y: no two times can be compared; concordance needs more events")
    return float(right / pairs)
