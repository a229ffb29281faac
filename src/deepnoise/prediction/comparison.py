"""Is a model worth having?  Its log scores against those of what is easy to have, row by row.

Easy to have are one density for all rows, and a straight line.  Both learn from outcomes that were
seen exactly or through windows, by expectation-maximisation.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import t

from ..model.outcome import Window
from .density.mixture import PredictiveMixture
from .density.supported import Density
from .metrics import log_scores

LEVEL = 0.95
FEW = 10
# Outcomes of which a value is this often seen, as a share of the rows, are scored by cells.
REPEATED = 0.05
MOST_COMPONENTS = 5
SWEEPS = 200
# A sweep that gains less than this, in nats a row, is the last.
ENOUGH = 1e-7
# Standard deviations of components, in units of that of all outcomes.
LEAST_SD = 1e-3
# Times the number of rows; the largest leaves the mean alone.
PENALTIES = np.logspace(-6, 3, 28)
LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
# Windows narrower than this many standard deviations count as a point.
NARROW = 1e-6


@dataclass(frozen=True)
class Gain:
    """Mean over rows of log p(y | x) of a model minus that of a rival, in nats.

    Attributes
    ----------
    mean : float
    low : float
        Lower end of its interval.
    high : float
        Upper end of its interval.
    rows : int
        Number of rows.
    """

    mean: float
    low: float
    high: float
    rows: int

    @property
    def sign(self) -> int:
        """1 if the model is clearly better, -1 if the rival is, 0 if neither is clear."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Usefulness:
    """Whether a model is worth having: its gains over two simple rivals.

    Attributes
    ----------
    no_input : Gain
        Over one density for all rows, which uses no input.
    line : Gain
        Over a straight line with Gaussian errors.

    Examples
    --------
    >>> Usefulness(Gain(0.4, 0.3, 0.5, 100), Gain(0.01, -0.02, 0.04, 100)).status
    'line'
    """

    no_input: Gain
    line: Gain

    @property
    def status(self) -> str:
        """One of "unknown", "worse", "same", "line", "beaten" and "useful".

        "worse" and "same" compare with one density for all rows.  "line" means that a straight
        line does as well, and "beaten" that it does better.
        """
        if self.no_input.rows < FEW:
            return "unknown"
        if self.no_input.sign < 1:
            return "worse" if self.no_input.sign < 0 else "same"
        return {1: "useful", 0: "line", -1: "beaten"}[self.line.sign]


def gain(ours: np.ndarray, theirs: np.ndarray, level: float = LEVEL) -> Gain:
    """Paired difference of two log scores (N,), with the t interval of its mean."""
    difference = np.asarray(ours, float) - np.asarray(theirs, float)
    rows, mean = len(difference), float(difference.mean())
    if rows < 2:
        return Gain(mean, -np.inf, np.inf, rows)
    half = float(t.ppf((1 + level) / 2, rows - 1) * difference.std(ddof=1) / np.sqrt(rows))
    return Gain(mean, mean - half, mean + half, rows)


def usefulness(
    density: Density,
    y: np.ndarray | Window,
    no_input: Density,
    line: Density,
    seen: np.ndarray | Window,
) -> Usefulness:
    """Gains of ``density`` over both rivals, at the outcomes y of one kind, seen or windows.

    If the training outcomes ``seen`` repeat their values, all are judged by the mass of the cell
    around each value, which no spike of a density can game.
    """
    judged = celled(y, seen)
    ours = log_scores(density, judged)
    return Usefulness(*(gain(ours, log_scores(rival, judged)) for rival in (no_input, line)))


def celled(y: np.ndarray | Window, seen: np.ndarray | Window) -> np.ndarray | Window:
    """y, or windows of it where values repeat: cells that meet midway between neighbours."""
    low, high = _ends(seen)
    values, counts = np.unique(low[low == high], return_counts=True)
    if len(values) < 2 or (2 * len(values) > counts.sum() and counts.max() < REPEATED * len(low)):
        return y
    edges = np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2, [np.inf]])
    low, high = _ends(y)
    cell = np.searchsorted(edges, low, side="right") - 1
    exact = low == high
    return Window(np.where(exact, edges[cell], low), np.where(exact, edges[cell + 1], high))


def _ends(y: np.ndarray | Window) -> tuple[np.ndarray, np.ndarray]:
    pair = (y.lower, y.upper) if isinstance(y, Window) else (y, y)
    return np.asarray(pair[0], float).ravel(), np.asarray(pair[1], float).ravel()


def one_density(y: np.ndarray | Window, rows: int) -> PredictiveMixture:
    """The density of all outcomes, no input asked: the best mixture of up to five Gaussians.

    The number of components is that of the least BIC.  The same density for every one of ``rows``.
    """
    low, high, mean, sd = _standard(y)
    fits = [_mixture(low, high, k) for k in range(1, min(MOST_COMPONENTS, len(low)) + 1)]
    best = min(fits, key=lambda fit: (3 * len(fit.means) - 1) * np.log(len(low)) / 2 - fit.log_lik)
    means = np.broadcast_to((mean + sd * best.means)[None, :, None], (rows, len(best.means), 1))
    return PredictiveMixture.of(
        means, (sd * best.sds)[None, :, None, None] ** 2, best.weights[None]
    )


def one_normal(y: Window) -> tuple[float, float]:
    """Mean and standard deviation of the normal that makes the windows of one outcome likeliest."""
    low, high, mean, sd = _standard(y)
    best = _mixture(low, high, 1)
    return mean + sd * float(best.means[0]), sd * float(best.sds[0])


def straight_line(x: np.ndarray, y: np.ndarray | Window, new: np.ndarray) -> PredictiveMixture:
    """N(ridge line at the rows of ``new``, residual variance); the penalty by cross-validation.

    ``x`` (N, P) are the training inputs; NaN in either counts as the mean of its column.
    """
    seen = _informative(y)
    low, high, mean, sd = _standard(y)
    x = x[seen]
    centre, scale = _columns(x)
    design, asked = (np.nan_to_num((part - centre) / scale) for part in (x, new))
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    fitted, spread, line = np.zeros(len(low)), 1.0, (0.0, np.zeros(x.shape[1]))
    for _ in range(SWEEPS if (low < high).any() else 1):
        _, value, variance = within(low, high, fitted, np.full(len(low), spread))
        found = _ridge(left, singular, value)
        spread = max(np.sqrt(found.variance + variance.sum() / found.left), LEAST_SD)
        moved = np.abs(found.fitted - fitted).max()
        fitted, line = found.fitted, (found.intercept, right.T @ found.rotated)
        if moved < 1e-4:
            break
    at = mean + sd * (line[0] + asked @ line[1])
    return PredictiveMixture.of(at[:, None, None], np.full((1, 1, 1, 1), (sd * spread) ** 2))


@dataclass(frozen=True, eq=False)
class Mixture:
    weights: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    log_lik: float


@dataclass(frozen=True, eq=False)
class Ridge:
    """``rotated`` are coefficients of the singular vectors; ``left`` the degrees of freedom."""

    intercept: float
    rotated: np.ndarray
    fitted: np.ndarray
    variance: float
    left: float


def _mixture(low: np.ndarray, high: np.ndarray, components: int) -> Mixture:
    """Expectation-maximisation, begun with as many groups of neighbours."""
    groups = np.array_split(np.sort(_middle(low, high)), components)
    weights = np.full(components, 1 / components)
    means = np.array([group.mean() for group in groups])
    sds = np.array([max(group.std(), LEAST_SD, 0.3 / components) for group in groups])
    before = -np.inf
    for _ in range(SWEEPS):
        log_mass, first, variance = within(low[:, None], high[:, None], means, sds)
        log_joint = np.log(np.maximum(weights, 1e-300)) + log_mass
        log_rows = np.logaddexp.reduce(log_joint, axis=1)
        share = np.exp(log_joint - log_rows[:, None])
        total = np.maximum(share.sum(axis=0), 1e-12)
        found = Mixture(weights, means, sds, float(log_rows.sum()))
        if found.log_lik - before < ENOUGH * len(low):
            break
        before = found.log_lik
        weights, means = total / len(low), (share * first).sum(axis=0) / total
        squares = (share * (variance + (first - means) ** 2)).sum(axis=0) / total
        sds = np.sqrt(np.maximum(squares, LEAST_SD**2))
    return found


def _ridge(left: np.ndarray, singular: np.ndarray, y: np.ndarray) -> Ridge:
    """The penalty of least generalised cross-validation error."""
    rows, intercept = len(y), float(y.mean())
    along = left.T @ (y - intercept)
    fits = []
    for penalty in rows * PENALTIES:
        shrink = singular**2 / (singular**2 + penalty)
        free = rows - 1 - float(shrink.sum())
        if free < 1:
            continue
        fitted = intercept + left @ (shrink * along)
        variance = float(np.sum((y - fitted) ** 2)) / free
        rotated = shrink * along / np.where(singular > 0, singular, 1.0)
        fits.append((variance / free, Ridge(intercept, rotated, fitted, variance, free)))
    if not fits:  # one or two rows: their mean
        rotated, apart = np.zeros_like(singular), float(np.sum((y - intercept) ** 2))
        return Ridge(intercept, rotated, np.full(rows, intercept), apart, 1.0)
    return min(fits, key=lambda fit: fit[0])[1]


def _informative(y: np.ndarray | Window) -> np.ndarray:
    """Which rows say anything of the outcome."""
    if not isinstance(y, Window):
        return np.ones(len(y), bool)
    return np.isfinite(np.ravel(y.lower)) | np.isfinite(np.ravel(y.upper))


def _standard(y: np.ndarray | Window) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Ends of outcomes in units of mean 0 and sd 1, and that mean and sd."""
    ends = (y.lower, y.upper) if isinstance(y, Window) else (y, y)
    seen = _informative(y)
    low, high = (np.asarray(end, float).ravel()[seen] for end in ends)
    middle = _middle(low, high)
    mean, sd = float(middle.mean()), float(middle.std()) or 1.0
    return (low - mean) / sd, (high - mean) / sd, mean, sd


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The middle of each window, or its finite end."""
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    return low / 2 + high / 2


def _columns(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of columns, NaN aside; 1 where constant."""
    filled = np.ma.masked_invalid(x)
    scale = np.ma.filled(filled.std(axis=0), 1.0)
    return np.ma.filled(filled.mean(axis=0), 0.0), np.where(scale > 0, scale, 1.0)


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
