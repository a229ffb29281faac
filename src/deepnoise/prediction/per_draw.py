"""The law of y given x and a single draw of Theta, for every row and draw."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..model.covariates import InputLaw
from ..model.marginal import last_covariance, path_means
from ..model.network import Theta
from .density.sums import padded
from .predict import filled

BLOCK_VALUES = 1 << 21


@dataclass(frozen=True, eq=False)
class DrawDensities:
    """p(y | x, Θ_m) as a mixture over noise paths, in the user's units.

    All draws and rows share the noise of the paths, so what differs between draws is Θ alone.
    ``draws`` carry a leading axis (M,) and ``weights`` (M,) their probabilities; ``x`` (N, P) is
    standardised, and y = scale · (standardised y) + shift, one scale and shift an outcome; shifts
    may also be (N, Q), one a row.
    Where x is NaN every path draws it from ``inputs`` (M, ...), given the rest of its row.
    """

    key: jax.Array
    draws: Theta
    weights: np.ndarray
    x: np.ndarray
    h: PiecewiseLinear
    paths: int
    scale: np.ndarray
    shift: np.ndarray
    inputs: InputLaw | None = None

    def refuse_gaps(self, what: str) -> None:
        if np.isnan(self.x).any():
            raise ValueError(f"X: {what} needs rows without missing values")

    @property
    def n_outcomes(self) -> int:
        return self.draws.gamma[-1].shape[1]

    def covs(self) -> np.ndarray:
        """Covariances given a path, the same for all paths and rows; (M, Q, Q)."""
        with numerics():
            standard = jax.vmap(last_covariance)(as_float64(self.draws))
        return np.asarray(standard) * np.outer(self.scale, self.scale)

    def blocks(self, width: int = 1) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows, and the means of every draw and path there: (B, M, R, Q)."""
        gaps = bool(np.isnan(self.x).any())
        paths = self.paths if self.draws.L or gaps else 1
        a_row = len(self.weights) * max(paths * self.n_outcomes, width)
        with numerics():
            draws, laws = as_float64(self.draws), as_float64(self.inputs) if gaps else None
        for rows in row_blocks(len(self.x), a_row):
            x = np.asarray(self.x[rows], float)
            with numerics():
                means = draw_means(self.key, draws, laws, padded(x), self.h, paths)
            shift = self.shift[rows, None, None] if self.shift.ndim == 2 else self.shift
            yield rows, np.asarray(means)[: len(x)] * self.scale + shift

    def credible(self, values: np.ndarray, level: float, axis: int = 1) -> np.ndarray:
        """Lower and upper ends, stacked first, of the central interval across draws."""
        return weighted_quantiles(values, self.weights, [(1 - level) / 2, (1 + level) / 2], axis)

    def average(self, values: np.ndarray, axis: int = 1) -> np.ndarray:
        """Mean across draws."""
        return np.tensordot(values, self.weights, axes=(axis, 0))


@partial(jax.jit, static_argnums=(4, 5))
def draw_means(
    key, draws: Theta, inputs: InputLaw | None, x, h: PiecewiseLinear, paths: int
) -> jax.Array:
    """β_L h(v_{L-1}) + γ_L for every row, draw and path: (B, M, R, Q); draws share the noise."""

    def one_draw(part):
        theta, law = part
        return path_means(key, theta, filled(key, x, law, paths), h, paths)

    return jnp.moveaxis(jax.lax.map(one_draw, (draws, inputs)), 2, 0)


def thinned(densities: DrawDensities, most: int) -> DrawDensities:
    """At most so many draws, evenly spaced; their weights add up to one again."""
    weighty = np.flatnonzero(densities.weights)
    return _only(densities, weighty[spaced(len(weighty), most)])


def thinned_chains(densities: DrawDensities, chains: int, most: int) -> DrawDensities:
    """At most so many draws of each chain, evenly spaced."""
    draws = len(densities.weights) // chains
    first = draws * np.arange(chains)[:, None]
    return _only(densities, (first + spaced(draws, most)).ravel())


def spaced(count: int, most: int) -> np.ndarray:
    """At most so many of the first ``count`` numbers."""
    return np.linspace(0, count - 1, min(count, most)).astype(int)


def _only(densities: DrawDensities, chosen: np.ndarray) -> DrawDensities:
    weights = densities.weights[chosen] / densities.weights[chosen].sum()
    draws, inputs = jax.tree.map(lambda a: a[chosen], (densities.draws, densities.inputs))
    return replace(densities, draws=draws, weights=weights, inputs=inputs)


def as_float64(draws):
    return jax.tree.map(lambda a: jnp.asarray(a, float), draws)


def row_blocks(rows: int, values_a_row: int) -> Iterator[slice]:
    """Slices of a power of two rows, none with more than BLOCK_VALUES numbers (or one row)."""
    size = 1 << (max(BLOCK_VALUES // max(values_a_row, 1), 1).bit_length() - 1)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, levels, axis: int) -> np.ndarray:
    """The smallest value whose weights and those of all below add up to each level."""
    values = np.moveaxis(values, axis, -1)
    order = np.argsort(values, axis=-1)
    below = np.cumsum(weights[order], axis=-1)
    place = [np.sum(below < level * (1 - 1e-12), axis=-1, keepdims=True) for level in levels]
    ordered = np.take_along_axis(values, order, -1)
    last = values.shape[-1] - 1
    return np.stack([np.take_along_axis(ordered, np.minimum(p, last), -1)[..., 0] for p in place])
