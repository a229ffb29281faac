"""``GaussianMixture``: the one type in which every method answers.

Each of N rows has a finite Gaussian mixture over R^Q.  Components are read and worked on in blocks
of rows of at most ``BLOCK_VALUES`` numbers (one row at least), so memory does not grow with N × C.
Moments and draws are numpy; sums of special functions over components are JAX, several times
faster there (see ``mixture_math``).  Inputs and outputs are numpy float64.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from numpy.typing import ArrayLike

from . import mixture_math as kernels
from .mixture_components import (
    Components,
    Read,
    Stored,
    as_components,
    check,
    check_coverage,
    generator,
    join,
    per_row,
    read_affine,
    read_marginal,
    read_rows,
)
from .mixture_conditional import observed, read_conditional
from .mixture_crps import crps
from .mixture_hdi import NODES, hdi
from .mixture_html import mixture_html
from .mixture_math import Law, evaluate
from .mixture_quantile import quantile, sample_size

BLOCK_VALUES = 1 << 20


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """p(y | x_n) = Σ_c w_nc N(y; m_nc, V_nc) for rows n = 1..N, y in R^Q.

    Build it with :meth:`of` from arrays or :meth:`from_blocks` from a function.  With one outcome,
    results are (N, ...).  With Q > 1 they carry a last axis Q, one marginal each, except that
    densities are joint.  Per-row arguments are (N,) for one outcome and (N, Q) for more; anything
    that broadcasts to that, such as a number, will do.

    Examples
    --------
    >>> density = GaussianMixture.of(means=[[[-1.0], [1.0]]], covs=[[[[0.25]], [[0.25]]]])
    >>> density.quantile([0.1, 0.8]).round(3)
    array([[-1.421,  1.127]])
    >>> [region.round(2).tolist() for region in density.hdi(0.8)]
    [[[-1.62, -0.35], [0.35, 1.62]]]
    """

    n_rows: int
    n_outcomes: int
    n_components: int
    read: Read

    @classmethod
    def of(
        cls, means: ArrayLike, covs: ArrayLike, weights: ArrayLike | None = None
    ) -> "GaussianMixture":
        """A mixture from arrays, checked.

        Parameters
        ----------
        means : (N, C, Q)
        covs : (N, C, Q, Q), or (1, C, Q, Q) where all rows share them
        weights : (N, C) or (1, C), equal by default
        """
        parts = as_components(means, covs, weights)
        rows, components, outcomes = parts.means.shape
        mixture = cls(rows, outcomes, components, Stored(parts))
        for start, stop in mixture._spans():
            check(mixture.read(start, stop), stop - start, components, outcomes)
        return mixture

    @classmethod
    def from_blocks(
        cls, n_rows: int, n_outcomes: int, n_components: int, read: Read
    ) -> "GaussianMixture":
        """A mixture whose components are made when wanted.

        Parameters
        ----------
        read : function (start, stop) -> Components
            The components of rows start..stop-1, as in :meth:`of`.  Most methods ask for every row
            once, so it should be cheap, give the same answer every time, and not let a row's
            components depend on the rows asked for with it.
        """
        if min(n_rows, n_outcomes, n_components) < 1:
            raise ValueError(
                f"n_rows, n_outcomes and n_components must be at least one; "
                f"got {n_rows}, {n_outcomes} and {n_components}"
            )
        return cls(int(n_rows), int(n_outcomes), int(n_components), read)

    def __len__(self) -> int:
        return self.n_rows

    def _repr_html_(self) -> str:
        return mixture_html(self)

    def __getitem__(self, rows) -> "GaussianMixture":
        """The mixture of some rows: a number, a slice, an integer array or a boolean mask."""
        rows = np.atleast_1d(np.arange(self.n_rows)[rows])
        if len(rows) == 0:
            raise ValueError("rows must select at least one row")
        read: Read = partial(read_rows, self.read, rows)
        if isinstance(self.read, Stored):
            read = Stored(self.read.parts.take(rows))
        return GaussianMixture(len(rows), self.n_outcomes, self.n_components, read)

    def components(self) -> Components:
        """All weights, means and covariances at once, in memory."""
        spans = list(self._spans())
        return join([self._block(*span) for span in spans], [stop - start for start, stop in spans])

    def marginal(self, outcome: int) -> "GaussianMixture":
        """The mixture of one outcome."""
        outcome = range(self.n_outcomes)[outcome]
        read = partial(read_marginal, self.read, outcome)
        return GaussianMixture(self.n_rows, 1, self.n_components, read)

    def conditional(self, given: Mapping[int, ArrayLike]) -> "GaussianMixture":
        """The mixture of the other outcomes, in their order, once some are known.

        ``given`` maps each known outcome to its value, a number or one a row.  Components keep the
        weight with which they foretold it: w_c N(y_A; m_cA, V_cAA), renormalised.
        """
        known = observed(given, self.n_rows, self.n_outcomes)
        read = partial(read_conditional, self.read, known)
        return GaussianMixture(self.n_rows, self.n_outcomes - len(known), self.n_components, read)

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> "GaussianMixture":
        """The mixture of scale · y + shift; each a number, or one an outcome; scale not zero."""
        scale, shift = (
            np.broadcast_to(np.asarray(part, dtype=float), (self.n_outcomes,))
            for part in (scale, shift)
        )
        if not (np.isfinite(scale) & (scale != 0)).all() or not np.isfinite(shift).all():
            raise ValueError(f"scale must be non-zero, both finite; got {scale} and shift {shift}")
        read = partial(read_affine, self.read, scale, shift)
        return GaussianMixture(self.n_rows, self.n_outcomes, self.n_components, read)

    def log_prob(self, y: ArrayLike) -> np.ndarray:
        """Log density at each row's y, joint over outcomes; (N,)."""
        y = self._per_row(y, "y")
        return self._joint(
            lambda law, rows: evaluate(kernels.log_density, law, y[rows, None])[:, 0]
        )

    def pdf(self, y: ArrayLike) -> np.ndarray:
        """Density at each row's y, joint over outcomes; (N,)."""
        return np.exp(self.log_prob(y))

    def log_prob_grid(self, grid: ArrayLike) -> np.ndarray:
        """Log density of every row at every point of a grid, (G,) or for Q > 1 (G, Q); (N, G)."""
        grid = np.asarray(grid, dtype=float).reshape(-1, self.n_outcomes)
        return self._joint(lambda law, _: evaluate(kernels.log_density, law, grid[None]), grid.size)

    def pdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """Density of every row at every point of a grid; see :meth:`log_prob_grid`."""
        return np.exp(self.log_prob_grid(grid))

    def cdf(self, y: ArrayLike) -> np.ndarray:
        """P(Y <= y) at each row's y; (N,)."""
        return self._at(kernels.cdf, self._per_row(y, "y"))

    def cdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """P(Y <= g) of every row at every point of a grid (G,); (N, G)."""
        grid = np.asarray(grid, dtype=float).ravel()
        return self._each(lambda law, *_: evaluate(kernels.cdf, law, grid[None]), grid.size)

    def probability_above(self, threshold: ArrayLike) -> np.ndarray:
        """P(Y >= threshold), accurate also where it is tiny; (N,)."""
        return self._at(kernels.survival, self._per_row(threshold, "threshold"))

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """log P(low <= Y <= high), accurate where that underflows; ends may be infinite; (N,)."""
        ends = np.stack([self._per_row(low, "low"), self._per_row(high, "high")], -1)
        if (ends[..., 0] > ends[..., 1]).any():
            raise ValueError("low must not exceed high")
        return self._at(kernels.log_mass, ends)

    def probability_between(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """P(low <= Y <= high); (N,)."""
        return np.exp(self.log_mass(low, high))

    def quantile(self, levels: ArrayLike) -> np.ndarray:
        """Quantiles at a level in [0, 1], (N,), or at M of them, (N, M).

        |F(q) - p| <= 1e-11 min(p, 1 - p), unless q is already known to 1e-11 of the narrowest
        component's sd, or to rounding.
        """
        levels = np.asarray(levels, dtype=float)
        if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"levels must be numbers in [0, 1]; got {levels}")
        flat, width = np.atleast_1d(levels), max(levels.size, sample_size(self.n_components))
        found = self._each(lambda law, *_: quantile(law, flat), width)
        return found if levels.ndim else found[:, 0]

    def interval(self, coverage: float) -> np.ndarray:
        """Ends of the central interval, the quantiles at (1 ± coverage) / 2; (N, 2)."""
        check_coverage(coverage, most=1.0)
        return self.quantile([(1 - coverage) / 2, (1 + coverage) / 2])

    def hdi(self, coverage: float) -> list:
        """Highest-density region of every row: its mass is the coverage to 1e-9.

        A list of N arrays (k, 2), the ends of k disjoint intervals in order; k > 1 where the
        density has well separated modes.  For Q > 1 each item is a list of Q such arrays.
        """
        check_coverage(coverage, most=np.nextafter(1.0, 0.0))
        regions = []
        for _, laws in self._laws(NODES):
            regions += zip(*(hdi(law, coverage) for law in laws), strict=True)
        return [region[0] if self.n_outcomes == 1 else list(region) for region in regions]

    def crps(self, y: ArrayLike) -> np.ndarray:
        """CRPS, E|Y - y| - E|Y - Y'| / 2, exact to 1e-9 of the spread; (N,)."""
        y = self._per_row(y, "y")
        return self._each(lambda law, rows, q: crps(law, y[rows, q]))

    def mean(self) -> np.ndarray:
        """Σ_c w_c m_c; (N,)."""
        return self._squeeze(np.concatenate([block.mean() for _, block in self._blocks()]))

    def cov(self) -> np.ndarray:
        """Covariance matrices Σ_c w_c (V_c + (m_c - m)(m_c - m)ᵀ); (N, Q, Q)."""
        return np.concatenate([block.cov() for _, block in self._blocks()])

    def var(self) -> np.ndarray:
        """Variances; (N,)."""
        return self._squeeze(np.diagonal(self.cov(), axis1=1, axis2=2).copy())

    def sample(self, key_or_seed: int | jax.Array, n: int) -> np.ndarray:
        """n independent draws a row; (N, n), or (N, n, Q) for more outcomes than one."""
        rng = generator(key_or_seed)
        u = rng.random((self.n_rows, n))
        draws = rng.standard_normal((self.n_rows, n, self.n_outcomes))
        for rows, block in self._blocks(n * self.n_outcomes**2):
            draws[rows] = block.draw(u[rows], draws[rows])
        return self._squeeze(draws)

    def _spans(self, width: int = 1) -> Iterator[tuple[int, int]]:
        """Blocks of a power of two rows, none with more than BLOCK_VALUES numbers (or one row)."""
        a_row = max(self.n_components * self.n_outcomes**2, width)
        size = 1 << (max(BLOCK_VALUES // a_row, 1).bit_length() - 1)
        for start in range(0, self.n_rows, size):
            yield start, min(start + size, self.n_rows)

    def _block(self, start: int, stop: int) -> Components:
        block = self.read(start, stop)
        if isinstance(self.read, Stored):
            return block
        block = Components(*(np.asarray(part, dtype=float) for part in block))
        return check(block, stop - start, self.n_components, self.n_outcomes)

    def _blocks(self, width: int = 1) -> Iterator[tuple[slice, Components]]:
        for start, stop in self._spans(width):
            yield slice(start, stop), self._block(start, stop)

    def _laws(self, width: int = 1) -> Iterator[tuple[slice, list[Law]]]:
        """Block by block, the law of each outcome."""
        for rows, block in self._blocks(width):
            yield rows, [block.law(q) for q in range(self.n_outcomes)]

    def _each(self, function: Callable, width: int = 1) -> np.ndarray:
        """function(law, rows, q) of every block and outcome; outcomes on the last axis."""
        found = [
            np.stack([function(law, rows, q) for q, law in enumerate(laws)], -1)
            for rows, laws in self._laws(width)
        ]
        return self._squeeze(np.concatenate(found))

    def _at(self, kernel: Callable, points: np.ndarray) -> np.ndarray:
        return self._each(lambda law, rows, q: evaluate(kernel, law, points[rows, None, q])[:, 0])

    def _joint(self, function: Callable, width: int = 1) -> np.ndarray:
        """function(joint law, rows) of every block."""
        return np.concatenate(
            [function(block.joint_law(), rows) for rows, block in self._blocks(width)]
        )

    def _squeeze(self, values: np.ndarray) -> np.ndarray:
        return values[..., 0] if self.n_outcomes == 1 else values

    def _per_row(self, values: ArrayLike, name: str) -> np.ndarray:
        return per_row(values, name, self.n_rows, self.n_outcomes)
