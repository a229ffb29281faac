"""``PredictiveMixture``: the one type in which every method answers.

Each of N rows has a finite Gaussian mixture over R^Q.  Components are read and worked on in blocks
of rows of at most ``BLOCK_VALUES`` numbers (one row at least), so memory does not grow with N × C.
Moments and draws are numpy; sums of special functions over components are JAX, several times
faster there (see ``sums``).  Inputs and outputs are numpy float64.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import components as mixture_components
from . import sums as kernels
from .components import Components, Read, Stored, observed, read_conditional
from .crps import cdf_distance, crps
from .hdi import NODES, hdi
from .html import mixture_html
from .quantile import expectation, node_count, quantile, sample_size, tail_mean
from .sums import Law, evaluate

BLOCK_VALUES = 1 << 20


@dataclass(frozen=True, eq=False)
class PredictiveMixture:
    """Predictive densities of N rows, each a mixture of C normal components over Q outcomes.

    The density of row n is p(y | x_n) = Σ_c w_nc N(y; m_nc, V_nc).  Estimators return this type
    from ``predict_density``.  To build one yourself, use :meth:`of` with arrays or
    :meth:`from_blocks` with a function.

    With one outcome, results have the shape (N, ...).  With Q > 1 outcomes they have a last axis
    Q, one marginal each; densities are joint.  Arguments with one value per row are (N,), or
    (N, Q) for several outcomes; anything that broadcasts to that, such as a number, will do.

    Attributes
    ----------
    n_rows : int
    n_outcomes : int
    n_components : int
    read : function (start, stop) -> Components
        The components of rows start..stop-1.

    Examples
    --------
    >>> from deepnoise import PredictiveMixture
    >>> density = PredictiveMixture.of(means=[[[-1.0], [1.0]]], covs=[[[[0.25]], [[0.25]]]])
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
    ) -> "PredictiveMixture":
        """Build a mixture from arrays, and check them.

        Parameters
        ----------
        means : array (N, C, Q)
        covs : array (N, C, Q, Q), or (1, C, Q, Q) where all rows share them
            Positive definite covariance matrices.
        weights : array (N, C) or (1, C), optional
            Probabilities of the components; equal by default.

        Returns
        -------
        PredictiveMixture

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> density = PredictiveMixture.of([[[0.0], [4.0]]], [[[[1.0]], [[1.0]]]], [[0.75, 0.25]])
        >>> density.mean()
        array([1.])
        """
        parts = mixture_components.as_components(means, covs, weights)
        rows, components, outcomes = parts.means.shape
        mixture = cls(rows, outcomes, components, Stored(parts))
        for start, stop in mixture._spans():
            mixture_components.check(mixture.read(start, stop), stop - start, components, outcomes)
        return mixture

    @classmethod
    def from_blocks(
        cls, n_rows: int, n_outcomes: int, n_components: int, read: Read
    ) -> "PredictiveMixture":
        """Build a mixture whose components are computed when they are needed.

        Parameters
        ----------
        n_rows : int
            Number of rows N.
        n_outcomes : int
            Number of outcomes Q.
        n_components : int
            Number of components C of every row.
        read : function (start, stop) -> Components
            The components of rows start..stop-1, as in :meth:`of`.  Most methods ask for every row
            once, so it should be cheap and give the same answer every time.  The components
            of a row must not depend on the other rows of the block.

        Returns
        -------
        PredictiveMixture
        """
        if min(n_rows, n_outcomes, n_components) < 1:
            raise ValueError(
                f"n_rows, n_outcomes and n_components must be at least one; "
                f"got {n_rows}, {n_outcomes} and {n_components}"
            )
        return cls(int(n_rows), int(n_outcomes), int(n_components), read)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        sizes = f"{self.n_rows} rows, {self.n_outcomes} outcomes, {self.n_components} components"
        return f"PredictiveMixture({sizes})"

    def _repr_html_(self) -> str:
        return mixture_html(self)

    def __getitem__(self, rows) -> "PredictiveMixture":
        """Return the mixture of some rows: a number, a slice, an integer array or a mask."""
        rows = np.atleast_1d(np.arange(self.n_rows)[rows])
        if len(rows) == 0:
            raise ValueError("rows must select at least one row")
        read: Read = partial(mixture_components.read_rows, self.read, rows)
        if isinstance(self.read, Stored):
            read = Stored(self.read.parts.take(rows))
        return PredictiveMixture(len(rows), self.n_outcomes, self.n_components, read)

    def components(self) -> Components:
        """Return all weights (N, C), means (N, C, Q) and covariances (N, C, Q, Q) in memory."""
        spans = list(self._spans())
        return mixture_components.join(
            [self._block(*span) for span in spans], [stop - start for start, stop in spans]
        )

    def stored(self) -> "PredictiveMixture":
        """Return the same mixture with all its components in memory."""
        weights, means, covs = self.components()
        return PredictiveMixture.of(means, covs, weights)

    def marginal(self, outcome: int) -> "PredictiveMixture":
        """Return the mixture of one outcome.

        Parameters
        ----------
        outcome : int
            Its number, from 0.
        """
        outcome = range(self.n_outcomes)[outcome]
        read = partial(mixture_components.read_marginal, self.read, outcome)
        return PredictiveMixture(self.n_rows, 1, self.n_components, read)

    def conditional(self, given: Mapping[int, ArrayLike]) -> "PredictiveMixture":
        """Return the mixture of the other outcomes, in their order, once some are known.

        Parameters
        ----------
        given : dict of int to number or array (N,)
            Values of the known outcomes, by their number from 0.  Every component is weighted by
            the density that it gave to them: w_c N(y_A; m_cA, V_cAA), renormalised.

        Returns
        -------
        PredictiveMixture

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> pair = PredictiveMixture.of(means=[[[0.0, 0.0]]], covs=[[[[1.0, 0.5], [0.5, 1.0]]]])
        >>> pair.conditional({0: 2.0}).mean()
        array([1.])
        """
        known = observed(given, self.n_rows, self.n_outcomes)
        read = partial(read_conditional, self.read, known)
        return PredictiveMixture(self.n_rows, self.n_outcomes - len(known), self.n_components, read)

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> "PredictiveMixture":
        """Return the mixture of scale · y + shift.

        Parameters
        ----------
        scale : number or array (Q,)
            Not zero.
        shift : number or array (Q,)
        """
        scale, shift = (
            np.broadcast_to(np.asarray(part, dtype=float), (self.n_outcomes,))
            for part in (scale, shift)
        )
        if not (np.isfinite(scale) & (scale != 0)).all() or not np.isfinite(shift).all():
            raise ValueError(
                f"scale must be finite and not zero, and shift finite; got {scale} and {shift}"
            )
        read = partial(mixture_components.read_affine, self.read, scale, shift)
        return PredictiveMixture(self.n_rows, self.n_outcomes, self.n_components, read)

    def log_prob(self, y: ArrayLike) -> np.ndarray:
        """Return the log density of each row at its own y.

        Parameters
        ----------
        y : array (N,), or (N, Q) for several outcomes
            One value per row; a single number serves for all rows.

        Returns
        -------
        array (N,)
            Joint over the outcomes.

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> normal = PredictiveMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
        >>> normal.log_prob([0.0]).round(3)
        array([-0.919])
        """
        y = self._per_row(y, "y")
        return self._joint(
            lambda law, rows: evaluate(kernels.log_density, law, y[rows, None])[:, 0]
        )

    def pdf(self, y: ArrayLike) -> np.ndarray:
        """Return the density of each row at its own y, the exponential of :meth:`log_prob`.

        Parameters
        ----------
        y : array (N,), or (N, Q) for several outcomes
        """
        return np.exp(self.log_prob(y))

    def log_prob_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return the log density of every row at every point of a grid, (N, G).

        Parameters
        ----------
        grid : array (G,), or (G, Q) for several outcomes
        """
        grid = np.asarray(grid, dtype=float).reshape(-1, self.n_outcomes)
        return self._joint(lambda law, _: evaluate(kernels.log_density, law, grid[None]), grid.size)

    def pdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return the density of every row at every point of a grid, (N, G).

        Parameters
        ----------
        grid : array (G,), or (G, Q) for several outcomes
        """
        return np.exp(self.log_prob_grid(grid))

    def cdf(self, y: ArrayLike) -> np.ndarray:
        """Return P(Y <= y) of each row at its own y, (N,).

        Parameters
        ----------
        y : array (N,), or (N, Q) for several outcomes
        """
        return self._at(kernels.cdf, self._per_row(y, "y"))

    def cdf_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return P(Y <= g) of every row at every point g of a grid, (N, G).

        Parameters
        ----------
        grid : array (G,)
        """
        return self._on(kernels.cdf, grid)

    def probability_above(self, threshold: ArrayLike) -> np.ndarray:
        """Return P(Y >= threshold) of each row, (N,), accurate also where it is tiny.

        Parameters
        ----------
        threshold : number, or array (N,) with one threshold per row

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> normal = PredictiveMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
        >>> normal.probability_above(1.96).round(3)
        array([0.025])
        """
        return self._at(kernels.survival, self._per_row(threshold, "threshold"))

    def probability_above_grid(self, grid: ArrayLike) -> np.ndarray:
        """Return P(Y >= g) of every row at every point g of a grid, (N, G).

        Parameters
        ----------
        grid : array (G,)
        """
        return self._on(kernels.survival, grid)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """Return log P(low <= Y <= high), (N,), accurate also where the probability underflows.

        Parameters
        ----------
        low : number or array (N,)
            May be -inf.
        high : number or array (N,)
            May be inf.
        """
        ends = np.stack([self._per_row(low, "low"), self._per_row(high, "high")], -1)
        if (ends[..., 0] > ends[..., 1]).any():
            raise ValueError("low must not exceed high")
        return self._at(kernels.log_mass, ends)

    def probability_between(self, low: ArrayLike, high: ArrayLike) -> np.ndarray:
        """Return P(low <= Y <= high) of each row, (N,).

        Parameters
        ----------
        low : number or array (N,)
            May be -inf.
        high : number or array (N,)
            May be inf.
        """
        return np.exp(self.log_mass(low, high))

    def quantile(self, levels: ArrayLike) -> np.ndarray:
        """Return quantiles of each row.

        They satisfy |F(q) - p| <= 1e-11 min(p, 1 - p), unless q is already known to 1e-11 of the
        narrowest component's standard deviation, or to rounding.

        Parameters
        ----------
        levels : number or array (M,)
            Probabilities from 0 to 1.

        Returns
        -------
        array (N,) for one level, (N, M) for M levels

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> normal = PredictiveMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
        >>> normal.quantile([0.05, 0.95]).round(2)
        array([[-1.64,  1.64]])
        """
        levels = np.asarray(levels, dtype=float)
        if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"levels must be numbers in [0, 1]; got {levels}")
        flat, width = np.atleast_1d(levels), max(levels.size, sample_size(self.n_components))
        found = self._each(lambda law, *_: quantile(law, flat), width)
        return found if levels.ndim else found[:, 0]

    def interval(self, coverage: float) -> np.ndarray:
        """Return the central interval of each row, (N, 2): quantiles at (1 ± coverage) / 2.

        Parameters
        ----------
        coverage : float
            Probability of the interval.
        """
        mixture_components.check_coverage(coverage, most=1.0)
        return self.quantile([(1 - coverage) / 2, (1 + coverage) / 2])

    def hdi(self, coverage: float) -> list:
        """Return the highest-density region of each row.

        Parameters
        ----------
        coverage : float
            Probability of the region, met to 1e-9.

        Returns
        -------
        list of N arrays (k, 2)
            Ends of k disjoint intervals in order; k > 1 where the density has well separated
            modes.  With Q > 1 outcomes each item is a list of Q such arrays.

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> two = PredictiveMixture.of(means=[[[-1.0], [1.0]]], covs=[[[[0.25]], [[0.25]]]])
        >>> [region.round(2).tolist() for region in two.hdi(0.8)]
        [[[-1.62, -0.35], [0.35, 1.62]]]
        """
        mixture_components.check_coverage(coverage, most=np.nextafter(1.0, 0.0))
        regions = []
        for _, laws in self.laws(NODES):
            regions += zip(*(hdi(law, coverage) for law in laws), strict=True)
        return [region[0] if self.n_outcomes == 1 else list(region) for region in regions]

    def crps(self, y: ArrayLike) -> np.ndarray:
        """Return the continuous ranked probability score of each row at its own y, (N,).

        It is E|Y - y| - E|Y - Y'| / 2; smaller is better.  It is exact to 1e-9 of the spread, and
        to 1e-7 for mixtures of more than 256 components.

        Parameters
        ----------
        y : array (N,), or (N, Q) for several outcomes
        """
        y = self._per_row(y, "y")
        return self._each(lambda law, rows, q: crps(law, y[rows, q]))

    def expect(self, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the expected loss E[loss(Y)] of each row, (N,).

        Every component is integrated by Gauss-Hermite quadrature, which is exact for polynomials.
        For a single normal a kink in the loss costs up to half a percent, and a jump up to 0.05
        of its height; many components average that out.  For jumps alone use
        :meth:`probability_above`.  With several outcomes, each has its own.

        Parameters
        ----------
        loss : function
            Maps an array of outcomes to an array of the same shape.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import PredictiveMixture
        >>> normal = PredictiveMixture.of(means=[[[1.0]]], covs=[[[[4.0]]]])
        >>> normal.expect(np.square).round(6)
        array([5.])
        """
        width = self.n_components * node_count(self.n_components)
        return self._each(lambda law, *_: expectation(law, loss), width)

    def tail_mean(self, level: float, side: str = "upper") -> np.ndarray:
        """Return the mean beyond a quantile of each row, (N,): the expected shortfall.

        The quantile itself, the value at risk, is ``quantile(level)``.

        Parameters
        ----------
        level : float
            Probability of the quantile, between 0 and 1.
        side : {"upper", "lower"}
            Whether to average above the quantile or below it.

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> normal = PredictiveMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
        >>> normal.tail_mean(0.95).round(3), normal.tail_mean(0.05, "lower").round(3)
        (array([2.063]), array([-2.063]))
        """
        if side not in ("upper", "lower"):
            raise ValueError(f"side must be 'upper' or 'lower'; got {side!r}")
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level}")
        return self._each(lambda law, *_: tail_mean(law, level, side == "upper"))

    def cdf_distance(self, other: "PredictiveMixture") -> np.ndarray:
        """Return how far the cdf of each row is from that of another mixture, (N,).

        It bounds |F(y) - G(y)| for all y, and exceeds the largest difference by at most 0.0002
        unless components are very narrow.  So it tells what an approximation costs: no
        probability P(Y <= y) is further off.

        Parameters
        ----------
        other : PredictiveMixture
            Of as many rows and outcomes.

        Examples
        --------
        >>> from deepnoise import PredictiveMixture
        >>> normal = PredictiveMixture.of(means=[[[0.0]]], covs=[[[[1.0]]]])
        >>> normal.cdf_distance(normal.affine(1.0, 0.1)).round(2)
        array([0.04])
        """
        shape = self.n_rows, self.n_outcomes
        if (other.n_rows, other.n_outcomes) != shape:
            raise ValueError(
                f"other must have (rows, outcomes) = {shape}; "
                f"got {(other.n_rows, other.n_outcomes)}"
            )

        def distance(law: Law, rows: slice, q: int) -> np.ndarray:
            return cdf_distance(law, other._block(rows.start, rows.stop).law(q))

        return self._each(distance, other.n_components)

    def mean(self) -> np.ndarray:
        """Return the mean Σ_c w_c m_c of each row, (N,)."""
        return self._squeeze(np.concatenate([block.mean() for _, block in self._blocks()]))

    def cov(self) -> np.ndarray:
        """Return covariance matrices Σ_c w_c (V_c + (m_c - m)(m_c - m)ᵀ), (N, Q, Q)."""
        return np.concatenate([block.cov() for _, block in self._blocks()])

    def var(self) -> np.ndarray:
        """Return the variance of each row, (N,)."""
        return self._squeeze(np.diagonal(self.cov(), axis1=1, axis2=2).copy())

    def sample(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw n independent outcomes for each row.

        Parameters
        ----------
        n : int
            Draws per row.
        random_state : int, numpy generator or JAX key, optional
            Without it every call draws anew.

        Returns
        -------
        array (N, n), or (N, n, Q) for several outcomes
        """
        rng = mixture_components.generator(random_state)
        u = rng.random((self.n_rows, n))
        draws = rng.standard_normal((self.n_rows, n, self.n_outcomes))
        for rows, block in self._blocks(n * self.n_outcomes**2):
            draws[rows] = block.draw(u[rows], draws[rows])
        return self._squeeze(draws)

    def laws(self, width: int = 1) -> Iterator[tuple[slice, list[Law]]]:
        """Block by block, the law of each outcome."""
        for rows, block in self._blocks(width):
            yield rows, [block.law(q) for q in range(self.n_outcomes)]

    def along(self, kernel: Callable, points: np.ndarray) -> np.ndarray:
        """A kernel at several points of each row's own, (N, G); of one outcome."""
        return self._each(lambda law, rows, _: evaluate(kernel, law, points[rows]), points.shape[1])

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
        return mixture_components.check(block, stop - start, self.n_components, self.n_outcomes)

    def _blocks(self, width: int = 1) -> Iterator[tuple[slice, Components]]:
        for start, stop in self._spans(width):
            yield slice(start, stop), self._block(start, stop)

    def _each(self, function: Callable, width: int = 1) -> np.ndarray:
        """function(law, rows, q) of every block and outcome; outcomes on the last axis."""
        found = [
            np.stack([function(law, rows, q) for q, law in enumerate(laws)], -1)
            for rows, laws in self.laws(width)
        ]
        return self._squeeze(np.concatenate(found))

    def _at(self, kernel: Callable, points: np.ndarray) -> np.ndarray:
        return self._each(lambda law, rows, q: evaluate(kernel, law, points[rows, None, q])[:, 0])

    def _on(self, kernel: Callable, grid: ArrayLike) -> np.ndarray:
        points = np.asarray(grid, dtype=float).reshape(1, -1)
        return self._each(lambda law, *_: evaluate(kernel, law, points), points.size)

    def _joint(self, function: Callable, width: int = 1) -> np.ndarray:
        """function(joint law, rows) of every block."""
        return np.concatenate(
            [function(block.joint_law(), rows) for rows, block in self._blocks(width)]
        )

    def _squeeze(self, values: np.ndarray) -> np.ndarray:
        return values[..., 0] if self.n_outcomes == 1 else values

    def _per_row(self, values: ArrayLike, name: str) -> np.ndarray:
        return mixture_components.per_row(values, name, self.n_rows, self.n_outcomes)
