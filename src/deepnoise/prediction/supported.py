"""``SupportedDensity``: densities of outcomes that are positive, bounded, counts or often equal."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .mixture import GaussianMixture
from .mixture_components import Components, check_coverage
from .mixture_html import mixture_html
from .support import Support

# Of the mass of a row, what may lie beyond the values that sums and integrals visit.
BEYOND = 1e-7
# Values of a count that are visited one by one.
MOST_COUNTS = 1024
# Nodes in each of the stretches into which a density is divided.
NODES, STRETCHES = 8, 24
CELLS = 2000


@dataclass(frozen=True, eq=False)
class SupportedDensity:
    """Predictive densities of N rows of one outcome y = g(z): z a Gaussian mixture, g a support.

    Methods are those of :class:`GaussianMixture`.  ``log_prob`` and ``pdf`` are of a density where
    y is continuous, and of a probability at values with a point mass, such as counts.

    Attributes
    ----------
    latent : GaussianMixture
        The law of z.
    support : Support
        Where y can lie.

    Examples
    --------
    >>> from deepnoise import GaussianMixture
    >>> from deepnoise.prediction.support import Support
    >>> z = GaussianMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
    >>> density = SupportedDensity(z, Support("positive", low=0.0))
    >>> density.quantile([0.05, 0.5, 0.95]).round(2)
    array([[0.19, 1.  , 5.18]])
    """

    latent: GaussianMixture
    support: Support

    n_outcomes = 1

    @property
    def n_rows(self) -> int:
        return self.latent.n_rows

    @property
    def n_components(self) -> int:
        return self.latent.n_components

    def __len__(self) -> int:
        return len(self.latent)

    def __getitem__(self, rows) -> "SupportedDensity":
        """Return the densities of some rows."""
        return replace(self, latent=self.latent[rows])

    def _repr_html_(self) -> str:
        return mixture_html(self)

    def stored(self) -> "SupportedDensity":
        """Return the same densities with their components in memory."""
        return replace(self, latent=self.latent.stored())

    def marginal(self, outcome: int) -> "SupportedDensity":
        """Return the density of one outcome, of which there is one."""
        range(1)[outcome]
        return self

    def log_prob(self, y: ArrayLike) -> np.ndarray:
        """Return the log density, or log probability, of each row at its own y, (N,)."""
        y = self._per_row(y)
        low, high = self.support.least(y), self.support.most(y)
        smooth = low == high
        inside = np.isfinite(low) | np.isfinite(high)
        at = np.where(smooth & inside, low, 0.0)
        heights = self.latent.log_prob(at) + self.support.log_slope(y)
        wide = ~smooth
        mass = self.latent.log_mass(np.where(wide, low, -np.inf), np.where(wide, high, np.inf))
        return np.where(wide, mass, np.where(inside, heights, -np.inf))

    def pdf(self, y: ArrayLike) -> np.ndarray:
        """Return the exponential of :meth:`log_prob`, (N,)."""
        return np.exp(self.log_prob(y))

    def log_prob_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return the log density, or log probability, of every row at a grid, (N, G)."""
        with np.errstate(divide="ignore"):
            return np.log(self.pdf_grid(grid))

    def pdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return the density, or probability, of every row at every point of a grid, (N, G)."""
        y = np.asarray(grid, float).ravel()
        low, high = self.support.least(y), self.support.most(y)
        smooth = (low == high) & np.isfinite(low)
        found = np.zeros((len(self), len(y)))
        if smooth.any():
            heights = self.latent.pdf_grid(low[smooth])
            found[:, smooth] = heights * np.exp(self.support.log_slope(y[smooth]))
        if (wide := low < high).any():
            cdf = self.latent.cdf_grid
            found[:, wide] = cdf(high[wide]) - cdf(low[wide])
        return found

    def cdf(self, y: ArrayLike) -> np.ndarray:
        """Return P(Y <= y) of each row at its own y, (N,)."""
        return self.latent.cdf(self.support.most(self._per_row(y)))

    def cdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return P(Y <= g) of every row at every point g of a grid, (N, G)."""
        return self.latent.cdf_grid(self.support.most(grid))

    def probability_above(self, threshold: ArrayLike) -> np.ndarray:
        """Return P(Y >= threshold) of each row, (N,)."""
        return self.latent.probability_above(self.support.least(self._per_row(threshold)))

    def probability_above_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return P(Y >= g) of every row at every point g of a grid, (N, G)."""
        return self.latent.probability_above_grid(self.support.least(np.ravel(grid)))

    def probability_at(self, value: float) -> np.ndarray:
        """Return P(Y = value) of each row, (N,): zero where the outcome is continuous."""
        low, high = (float(end(value)) for end in (self.support.least, self.support.most))
        if not low < high:
            return np.zeros(len(self))
        return self.latent.probability_between(low, high)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """Return log P(low <= Y <= high), (N,)."""
        low, high = self._per_row(low), self._per_row(high)
        if (low > high).any():
            raise ValueError("low must not exceed high")
        ends = self.support.least(low), self.support.most(high)
        # Between two neighbouring counts there is none: the ends cross.
        return np.where(ends[0] > ends[1], -np.inf, self.latent.log_mass(*_in_order(*ends)))

    def probability_between(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """Return P(low <= Y <= high) of each row, (N,)."""
        return np.exp(self.log_mass(low, high))

    def quantile(self, levels: ArrayLike) -> np.ndarray:
        """Return quantiles of each row; (N,) for one level, (N, M) for M levels."""
        return self.support.value(self.latent.quantile(levels))

    def interval(self, coverage: float) -> np.ndarray:
        """Return the central interval of each row, (N, 2)."""
        return self.support.value(self.latent.interval(coverage))

    def sample(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw n independent outcomes for each row, (N, n)."""
        return self.support.value(self.latent.sample(n, random_state))

    def expect(self, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the expected loss E[loss(Y)] of each row, (N,).

        Counts are summed one by one up to 1,024 of them, and what lies beyond counts as the last.
        """
        if not self.support.discrete:
            return self.latent.expect(lambda z: loss(self.support.value(z)))
        counts = self._counts()
        if counts is None:
            return self.latent.expect(lambda z: loss(self.support.value(z)))
        below = self.latent.cdf_grid(self.support.most(counts[:-1]))
        mass = np.diff(below, prepend=0.0, append=1.0, axis=1)
        return mass @ np.asarray(loss(counts), float)

    def mean(self) -> np.ndarray:
        """Return the mean of each row, (N,)."""
        return self.expect(lambda y: y)

    def var(self) -> np.ndarray:
        """Return the variance of each row, (N,)."""
        return np.maximum(self.expect(np.square) - self.mean() ** 2, 0.0)

    def tail_mean(self, level: float, side: str = "upper") -> np.ndarray:
        """Return the mean beyond a quantile of each row, (N,): the expected shortfall."""
        if side not in ("upper", "lower"):
            raise ValueError(f"side must be 'upper' or 'lower'; got {side!r}")
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level}")
        first, last = (level, 1.0) if side == "upper" else (0.0, level)
        nodes, weights = _legendre(first, last, 64)
        return self.quantile(nodes) @ weights / (last - first)

    def crps(self, y: ArrayLike) -> np.ndarray:
        """Return the continuous ranked probability score of each row at its own y, (N,).

        It is the integral of (F(t) - 1{t >= y})², by quadrature: good to about 0.001 of it.
        """
        y = self._per_row(y)
        counts = self._counts(y) if self.support.discrete else None
        if counts is not None:
            below = self.latent.cdf_grid(self.support.most(counts))
            return np.sum((below - (counts >= y[:, None])) ** 2, axis=1)
        return np.array([self._crps_row(n, float(value)) for n, value in enumerate(y)])

    def _crps_row(self, row: int, y: float) -> float:
        density = self[row]
        levels = np.concatenate([[BEYOND], np.linspace(0, 1, STRETCHES)[1:-1], [1 - BEYOND]])
        ends = density.quantile(levels)[0]
        ends = np.unique(np.append(ends, [y, *self.support.points]))
        ends = ends[(ends >= self.support.low) & (ends <= self.support.high)]
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        half = np.diff(ends)[:, None] / 2
        at = ((ends[1:] + ends[:-1])[:, None] / 2 + half * nodes).ravel()
        off = density.cdf_grid(at)[0] - (at >= y)
        return float(np.sum(off**2 * (half * weights).ravel()))

    def hdi(self, coverage: float) -> list:
        """Return the highest-density region of each row, met to 0.001 where y is continuous.

        Values with a point mass between other values come first, whatever their mass.

        Returns
        -------
        list of N arrays (k, 2)
            Ends of k disjoint intervals in order; both ends are equal for a single value.
        """
        check_coverage(coverage, most=np.nextafter(1.0, 0.0))
        return [self._hdi_row(n, coverage) for n in range(len(self))]

    def _hdi_row(self, row: int, coverage: float) -> np.ndarray:
        density = self[row]
        counts = density._counts() if self.support.discrete else None
        if counts is not None:
            mass = density.pdf_grid(counts)[0]
            chosen = _heaviest(mass, mass, coverage)
            return _joined(counts[chosen], counts[chosen], apart=1.0)
        edges = density.quantile(np.linspace(BEYOND, 1 - BEYOND, CELLS + 1))[0]
        mass, width = np.full(CELLS, 1 / CELLS), np.diff(edges)
        height = np.where(width > 0, mass / np.where(width > 0, width, 1.0), np.inf)
        chosen = _heaviest(mass, height, coverage)
        return _joined(edges[:-1][chosen], edges[1:][chosen], apart=0.0)

    def cdf_distance(self, other: "SupportedDensity") -> np.ndarray:
        """Return a bound of how far the cdf of each row is from another's, (N,)."""
        if other.support != self.support:
            raise ValueError("other must have the same support")
        return self.latent.cdf_distance(other.latent)

    def _counts(self, *also: np.ndarray) -> np.ndarray | None:
        """0, 1, ... up to where hardly any mass is left; None if these are too many."""
        last = max(self.quantile(1 - BEYOND).max(), *(values.max() for values in also), 0.0)
        return np.arange(last + 1) if last < MOST_COUNTS else None

    def _per_row(self, values: ArrayLike) -> np.ndarray:
        values = np.asarray(values, float)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        return np.broadcast_to(values, (len(self),))


Density = GaussianMixture | SupportedDensity


def grid_between(density: Density, low: float, high: float, points: int) -> np.ndarray:
    """Values of y on which to draw a density: evenly spaced, or whole numbers of counts."""
    grid = np.linspace(low, high, points)
    if not isinstance(density, SupportedDensity):
        return grid
    if density.support.discrete:
        return np.unique(np.round(np.maximum(grid, 0.0)))
    return grid[(grid >= density.support.low) & (grid <= density.support.high)]


def moved(density: GaussianMixture, shifts: np.ndarray) -> GaussianMixture:
    """The mixture of y + shift, one shift (N,) a row."""

    def read(start: int, stop: int) -> Components:
        inner = density.read(start, stop)
        return Components(inner.weights, inner.means + shifts[start:stop, None, None], inner.covs)

    return GaussianMixture.from_blocks(len(density), 1, density.n_components, read)


def _in_order(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return low, np.maximum(low, high)


def _legendre(low: float, high: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    at, weights = np.polynomial.legendre.leggauss(nodes)
    return (low + high) / 2 + (high - low) / 2 * at, (high - low) / 2 * weights


def _heaviest(mass: np.ndarray, height: np.ndarray, coverage: float) -> np.ndarray:
    """Places, in order, of the highest cells that hold the coverage together."""
    order = np.argsort(-height, kind="stable")
    needed = int(np.searchsorted(np.cumsum(mass[order]), coverage * mass.sum() - 1e-12)) + 1
    return np.sort(order[:needed])


def _joined(low: np.ndarray, high: np.ndarray, apart: float) -> np.ndarray:
    """Neighbours, at most ``apart`` from each other, as one interval; (k, 2)."""
    new = np.append(True, low[1:] - high[:-1] > apart + 1e-12)
    last = np.append(new[1:], True)
    return np.column_stack([low[new], high[last]])
