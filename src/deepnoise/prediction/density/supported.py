"""``SupportedDensity``: densities of outcomes that are positive, bounded, counts or often equal."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import sums as kernels
from .components import Components, check_coverage, per_row
from .html import mixture_html
from .mixture import PredictiveMixture
from .support import Support

# Counts that are visited one by one; what lies beyond is integrated.
MOST_COUNTS = 256
# Cells in which highest-density regions are made up.
STRETCHES, CELLS = 50, 16
# Of the mass of a row, what may lie beyond the values that sums and integrals visit.
BEYOND = 1e-9
NODES = 8


@dataclass(frozen=True, eq=False)
class SupportedDensity:
    """Predictive densities of N rows of one outcome y = g(z): z a Gaussian mixture, g a support.

    Methods are those of :class:`PredictiveMixture`.  ``log_prob`` and ``pdf`` are of a density
    where y is continuous, and of a probability at values with a point mass, such as counts.

    Attributes
    ----------
    latent : PredictiveMixture
        The law of z.
    support : Support
        Where y can lie.

    Examples
    --------
    >>> from deepnoise import PredictiveMixture
    >>> from deepnoise.prediction.density.support import Support
    >>> z = PredictiveMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
    >>> density = SupportedDensity(z, Support("positive", low=0.0))
    >>> density.quantile([0.05, 0.5, 0.95]).round(2)
    array([[0.19, 1.  , 5.18]])
    """

    latent: PredictiveMixture
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

    def __repr__(self) -> str:
        support = self.support
        where = f"{support.kind}, point masses {support.points}" if support.points else support.kind
        return f"SupportedDensity({self.n_rows} rows, {self.n_components} components, {where})"

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
        y = self._per_row(y, "y")
        low, high = self.support.least(y), self.support.most(y)
        smooth, flat = (low == high) & np.isfinite(low), low < high
        heights = self.latent.log_prob(np.where(smooth, low, 0.0)) + self.support.log_slope(y)
        mass = self.latent.log_mass(np.where(flat, low, -np.inf), np.where(flat, high, np.inf))
        return np.where(flat, mass, np.where(smooth, heights, -np.inf))

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
        smooth, flat = (low == high) & np.isfinite(low), low < high
        found = np.zeros((len(self), len(y)))
        if smooth.any():
            heights = self.latent.pdf_grid(low[smooth])
            found[:, smooth] = heights * np.exp(self.support.log_slope(y[smooth]))
        if flat.any():
            found[:, flat] = self.latent.cdf_grid(high[flat]) - self.latent.cdf_grid(low[flat])
        return found

    def cdf(self, y: ArrayLike) -> np.ndarray:
        """Return P(Y <= y) of each row at its own y, (N,)."""
        return self.latent.cdf(self.support.most(self._per_row(y, "y")))

    def cdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return P(Y <= g) of every row at every point g of a grid, (N, G)."""
        return self.latent.cdf_grid(self.support.most(np.ravel(grid)))

    def probability_above(self, threshold: ArrayLike) -> np.ndarray:
        """Return P(Y >= threshold) of each row, (N,)."""
        cut = self.support.least(self._per_row(threshold, "threshold"))
        return self.latent.probability_above(cut)

    def probability_above_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return P(Y >= g) of every row at every point g of a grid, (N, G)."""
        return self.latent.probability_above_grid(self.support.least(np.ravel(grid)))

    def probability_at(self, value: float) -> np.ndarray:
        """Return P(Y = value) of each row, (N,): zero where the outcome is continuous."""
        return self.probability_between(value, value)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """Return log P(low <= Y <= high), (N,)."""
        low, high = self._per_row(low, "low"), self._per_row(high, "high")
        if (low > high).any():
            raise ValueError("low must not exceed high")
        start, stop = self.support.least(low), self.support.most(high)
        # Between two neighbouring counts there is none, and the ends meet or cross.
        some = start < stop
        mass = self.latent.log_mass(np.where(some, start, -np.inf), np.where(some, stop, np.inf))
        return np.where(some, mass, -np.inf)

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

        Counts up to 256 are summed one by one, larger ones integrated to about 0.001 of their
        share.  Other outcomes are integrated as :meth:`PredictiveMixture.expect` does, with the
        same accuracy: an end of a point mass is a kink, which a single normal component sees to
        half a percent and many average out.
        """
        value = self.support.value
        if not self.support.discrete:
            return self.latent.expect(lambda z: loss(value(z)))
        counts = self._counts()
        edges = np.append(-np.inf, self.support.most(counts))
        found = np.diff(self.latent.cdf_grid(edges), axis=1) @ np.asarray(loss(counts), float)
        if len(counts) < MOST_COUNTS:
            return found
        ends = np.maximum(self.latent.quantile(levels_within()), edges[-1])
        at, width = legendre(ends)
        heights = self.latent.along(kernels.density, at)
        return found + np.sum(width * heights * np.asarray(loss(value(at)), float), axis=1)

    def mean(self) -> np.ndarray:
        """Return the mean of each row, (N,)."""
        return self.expect(lambda y: y)

    def var(self) -> np.ndarray:
        """Return the variance of each row, (N,)."""
        return np.maximum(self.expect(np.square) - self.mean() ** 2, 0.0)

    def tail_mean(self, level: float, side: str = "upper") -> np.ndarray:
        """Return the mean beyond a quantile of each row, (N,): the expected shortfall.

        Where the quantile has a point mass, only the part of it beyond the level counts.
        """
        if side not in ("upper", "lower"):
            raise ValueError(f"side must be 'upper' or 'lower'; got {side!r}")
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level}")
        cut = self.quantile(level)
        levels, upper = tail_levels(level, side), side == "upper"
        at, width, beyond = self._along(levels, cut, upper)
        here = (at >= cut[:, None]) if upper else (at < cut[:, None])
        excess = np.sum(np.where(here, width * beyond, 0.0), axis=1)
        return cut + excess / (1 - level) if upper else cut - excess / level

    def crps(self, y: ArrayLike) -> np.ndarray:
        """Return the continuous ranked probability score of each row at its own y, (N,).

        It is the integral of (F(t) - 1{t >= y})², by quadrature: good to about 0.001 of it.
        """
        given = self._per_row(y, "y")
        inside = np.clip(given, self.support.low, self.support.high)
        at, width, below = self._along(levels_within(), inside, above=False)
        # The share of each place that lies below y: of a count's unit step it can be a part.
        step = inside[:, None] - at
        share = np.clip(step, 0.0, 1.0) if self.support.discrete else (step > 0).astype(float)
        within = np.sum(width * (share * below**2 + (1 - share) * (1 - below) ** 2), axis=1)
        return within + np.abs(given - inside)

    def hdi(self, coverage: float) -> list:
        """Return the highest-density region of each row, met to 0.002 where y is continuous.

        Values with a point mass between other values come first, whatever their mass.

        Returns
        -------
        list of N arrays (k, 2)
            Ends of k disjoint intervals in order; both ends are equal for a single value.
        """
        check_coverage(coverage, most=np.nextafter(1.0, 0.0))
        counts = self._counts() if self.support.discrete else np.empty(0)
        if 0 < len(counts) < MOST_COUNTS:
            rows = self.pdf_grid(counts)
            chosen = [heaviest(mass, mass, coverage) for mass in rows]
            return [joined(counts[one], counts[one], apart=1.0) for one in chosen]
        edges, mass = self._cells()
        # Counts are many here: as if they were continuous.
        ends = np.exp(edges) if self.support.discrete else self.support.value(edges)
        width = np.diff(ends, axis=1)
        height = np.where(width > 0, mass / np.where(width > 0, width, 1.0), np.inf)
        chosen = [heaviest(m, h, coverage) for m, h in zip(mass, height, strict=True)]
        pairs = zip(ends, chosen, strict=True)
        regions = [joined(row[:-1][one], row[1:][one], apart=0.0) for row, one in pairs]
        return [np.floor(region) for region in regions] if self.support.discrete else regions

    def cdf_distance(self, other: "SupportedDensity") -> np.ndarray:
        """Return a bound of how far the cdf of each row is from another's, (N,)."""
        if getattr(other, "support", None) != self.support:
            raise ValueError("other must have the same support")
        return self.latent.cdf_distance(other.latent)

    def _along(
        self, levels: np.ndarray, y: np.ndarray, above: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values to integrate over, their weights, and P(Y <= value) or P(Y > value); (N, J) each.

        They fall in stretches between quantiles, ``y`` and point masses, so F is smooth in each.
        """
        ends = [self.quantile(levels), y[:, None]]
        ends.append(np.broadcast_to(self.support.points, (len(y), len(self.support.points))))
        edges = np.sort(np.concatenate(ends, axis=1), axis=1)
        if self.support.discrete:
            counts = self._counts(int(y.max(initial=0.0)))
            at, width = legendre(np.maximum(edges, counts[-1] + 1))
            at = np.append(np.tile(counts, (len(y), 1)), at, axis=1)
            width = np.append(np.ones((len(y), len(counts))), width, axis=1)
        else:
            at, width = legendre(np.clip(edges, self.support.low, self.support.high))
        kernel = kernels.survival if above else kernels.cdf
        return at, width, self.latent.along(kernel, self.support.most(at))

    def _cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges (N, J + 1) in z of cells of little mass (N, J); flats of g are cells of their own.

        Between quantiles, where cells are narrow, and flats, which are no place for an edge.
        """
        rough = self.latent.quantile(levels_within(STRETCHES))
        share = np.arange(CELLS) / CELLS
        fine = (rough[:, :-1, None] + np.diff(rough, axis=1)[..., None] * share).reshape(
            len(rough), -1
        )
        points = np.array(self.support.points)
        flats = np.stack([self.support.least(points), self.support.most(points)]).ravel()
        flats = np.broadcast_to(flats[np.isfinite(flats)], (len(rough), np.isfinite(flats).sum()))
        edges = np.sort(np.concatenate([fine, rough[:, -1:], flats], axis=1), axis=1)
        return edges, np.diff(self.latent.along(kernels.cdf, edges), axis=1)

    def _counts(self, least: int = 0) -> np.ndarray:
        """0, 1, ... up to where hardly any mass is left, at most 256 of them."""
        last = max(float(self.quantile(1 - BEYOND).max()), least)
        return np.arange(min(last + 1, MOST_COUNTS))

    def _per_row(self, values: ArrayLike, name: str) -> np.ndarray:
        return per_row(values, name, len(self), 1)[:, 0]


Density = PredictiveMixture | SupportedDensity


def axis_ends(density: Density, grid: np.ndarray, half: float = 0.6) -> tuple[float, float]:
    """Ends of an axis: room for bars of counts, ``half`` a bar wide, and for point masses."""
    if is_of_counts(density):
        return grid[0] - half, grid[-1] + half
    points = [point for point, _ in point_masses(density)]
    low, high = min([grid[0], *points]), max([grid[-1], *points])
    margin = 0.02 * (high - low) if points else 0.0
    return low - margin, high + margin


def grid_between(density: Density, low: float, high: float, points: int) -> np.ndarray:
    """Values of y on which to draw a curve: evenly spaced, none of a point mass; or whole numbers.

    Whole numbers, for counts, may skip some if there are more than ``points``.
    """
    grid = np.linspace(low, high, points)
    if not isinstance(density, SupportedDensity):
        return grid
    support = density.support
    if support.discrete:
        return np.unique(np.round(np.linspace(max(low, 0.0), max(high, 1.0), points)))
    grid = np.linspace(max(low, support.low), min(high, support.high), points)
    inside = (grid > support.low) & (grid < support.high) & ~np.isin(grid, support.points)
    return grid[inside]


def drawn_levels(density: Density) -> tuple[float, float]:
    """Levels between whose quantiles a density is drawn; the long tail of a logarithm is cut."""
    cut = isinstance(density, SupportedDensity) and density.support.kind in ("positive", "counts")
    return 0.002, 0.97 if cut else 0.998


def point_masses(density: Density) -> list[tuple[float, np.ndarray]]:
    """Values with a mass of their own and that mass (N,), where a curve is drawn beside them."""
    if not isinstance(density, SupportedDensity) or density.support.discrete:
        return []
    return [(point, density.probability_at(point)) for point in density.support.points]


def is_of_counts(density: Density) -> bool:
    """Whether bars show it better than a curve."""
    return isinstance(density, SupportedDensity) and density.support.discrete


def moved(density: PredictiveMixture, shifts: np.ndarray) -> PredictiveMixture:
    """The mixture of y + shift, one shift (N,) a row."""

    def read(start: int, stop: int) -> Components:
        inner = density.read(start, stop)
        return Components(inner.weights, inner.means + shifts[start:stop, None, None], inner.covs)

    return PredictiveMixture.from_blocks(len(density), 1, density.n_components, read)


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
