"""The law of y given x and a single draw of Theta, for every row and draw.

Its scalars, one for every draw, are what convergence is judged on.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from ..inference.runtime import numerics
from ..inference.stacking import leave_one_out, stacked_weights
from ..model.activation import PiecewiseLinear
from ..model.covariates import InputLaw
from ..model.marginal import path_means
from ..model.network import Theta
from ..model.outcome import Window, log_window
from .density.sums import padded
from .predict import as_float64, component_means, covariances, filled

BLOCK_VALUES = 1 << 21
LOG_2PI = float(np.log(2 * np.pi))
# What judges single draws: the same paths for all, whose error would look like chains that differ.
PATHS_TO_JUDGE = 256
STACKING_ROWS, STACKING_DRAWS = 2000, 25
NAME = re.compile(r"(mean|sd|log_density|probability|log_probability)\[(\d+)(?:,(.+))?\]", re.S)


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
        return covariances(self.draws) * np.outer(self.scale, self.scale)

    def blocks(self, width: int = 1) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows, and the means of every draw and path there: (B, M, R, Q)."""
        draws, laws, paths = self.simulated()
        a_row = len(self.weights) * max(paths * self.n_outcomes, width)
        for rows in row_blocks(len(self.x), a_row):
            x = np.asarray(self.x[rows], float)
            with numerics():
                means = draw_means(self.key, draws, laws, padded(x), self.h, paths)
            shift = self.shift[rows, None, None] if self.shift.ndim == 2 else self.shift
            yield rows, np.asarray(means)[: len(x)] * self.scale + shift

    def means_apart(self) -> np.ndarray:
        """The same of all rows with noise of its own for every draw, (N, M, R, Q).

        Noise that draws share leaves its wiggles in their average, where they look like modes.
        """
        draws, laws, paths = self.simulated()
        x = padded(np.asarray(self.x, float))
        with numerics():
            found = np.asarray(component_means(self.key, 0, draws, x, self.h, paths, laws))
        means = found[: len(self.x)].reshape(len(self.x), -1, paths, self.n_outcomes)
        shift = self.shift[:, None, None] if self.shift.ndim == 2 else self.shift
        return means * self.scale + shift

    def on_device(self) -> "DrawDensities":
        """The same with draws and laws as they are simulated, for many small questions."""
        with numerics():
            return replace(self, draws=as_float64(self.draws), inputs=as_float64(self.inputs))

    def simulated(self) -> tuple[Theta, InputLaw | None, int]:
        """Draws on the device, the laws that gaps need, and how many paths."""
        gaps = bool(np.isnan(self.x).any())
        with numerics():
            draws, laws = as_float64(self.draws), as_float64(self.inputs) if gaps else None
        return draws, laws, self.paths if self.draws.L or gaps else 1

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


def in_words(name: str) -> str:
    """Rows as people count them, from 1: "mean[7]" is "mean, row 8"."""
    found = NAME.fullmatch(name)
    if found is None:
        return name
    kind, row, part = found.groups()
    if kind == "probability":
        said = f"P({part})"
    else:
        said = kind.replace("_", " ") + (f" of outcome {int(part) + 1}" if part else "")
    return f"{said}, row {int(row) + 1}"


def moments(densities: DrawDensities) -> tuple[np.ndarray, np.ndarray]:
    """E[y | x, Θ] and sd[y | x, Θ] of every row and draw; (N, M, Q) each."""
    covs = densities.covs()
    blocks = [_moments(means, covs) for _, means in densities.blocks()]
    mean, sd = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return mean, sd


def _moments(means: np.ndarray, covs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a block (B, M, R, Q): (B, M, Q) each."""
    within = np.diagonal(covs, axis1=1, axis2=2)
    return means.mean(axis=2), np.sqrt(means.var(axis=2) + within)


def log_likelihood(densities: DrawDensities, y: np.ndarray | Window) -> np.ndarray:
    """log p(y | x, Θ) of every row and draw, joint over outcomes; y (N, Q), result (N, M).

    By noise paths, and one more component: the normal with their mean and covariance.  Where no
    path comes near y, paths alone would be wrong by any number of nats.  The mass of the window
    where one outcome is only known to lie in it.
    """
    if isinstance(y, Window) and densities.n_outcomes > 1:
        raise ValueError("the likelihood of several outcomes needs all of them to be seen exactly")
    covs = densities.covs()
    blocks = densities.blocks()
    return np.concatenate([_log_likelihood(means, covs, y, rows) for rows, means in blocks])


def _log_likelihood(means: np.ndarray, covs: np.ndarray, y: np.ndarray | Window, rows: slice):
    """Of a block of these rows, (B, M, R, Q): (B, M)."""
    paths, center = means.shape[2], means.mean(axis=2)
    away = means - center[:, :, None]
    wide = covs + np.einsum("bmri,bmrj->bmij", away, away) / paths
    if isinstance(y, Window):
        ends = tuple(np.asarray(end[rows, None], float) for end in (y.lower, y.upper))
        near, far = _log_mass(means, covs, ends), _log_mass(center[:, :, None], wide, ends)
    else:
        near = _log_normal(y[rows, None, None] - means, covs[:, None])
        far = _log_normal(y[rows, None] - center, wide)[..., None]
    return logsumexp(np.concatenate([near, far], -1), axis=-1) - np.log(paths + 1)


def _log_normal(residual: np.ndarray, covs: np.ndarray) -> np.ndarray:
    """log N(residual; 0, cov); (..., Q) and (..., Q, Q) -> (...)."""
    factors = np.linalg.cholesky(covs)
    z = np.einsum("...ij,...j->...i", np.linalg.inv(factors), residual)
    log_det = np.sum(np.log(np.diagonal(factors, axis1=-2, axis2=-1)), axis=-1)
    return -np.sum(z**2, -1) / 2 - log_det - residual.shape[-1] * LOG_2PI / 2


def _log_mass(means: np.ndarray, covs: np.ndarray, ends: tuple[np.ndarray, ...]) -> np.ndarray:
    """log P(lower < y < upper) of one outcome; (B, M, R, 1) and (..., M, 1, 1) -> (B, M, R)."""
    with numerics():
        return np.asarray(log_window(means[..., 0], covs[..., 0], *ends))


def _judged(densities: DrawDensities) -> DrawDensities:
    return replace(densities, paths=max(densities.paths, PATHS_TO_JUDGE))


def chain_likelihoods(densities: DrawDensities, y: np.ndarray | Window, chains: int) -> np.ndarray:
    """log p(y | x, Θ) as ``log_likelihood``, by many paths; (chain, draw, N)."""
    found = log_likelihood(_judged(densities), y).T
    return found.reshape(chains, -1, found.shape[1])


def chain_weights(densities: DrawDensities, y: np.ndarray | Window, chains: int) -> np.ndarray:
    """Stacked weights of chains, (C,), by some rows and some draws of each, evenly spaced."""
    rows = spaced(len(densities.x), STACKING_ROWS)
    few = thinned_chains(replace(densities, x=densities.x[rows]), chains, STACKING_DRAWS)
    seen = jax.tree.map(lambda a: a[rows], y)
    return stacked_weights(leave_one_out(chain_likelihoods(few, seen, chains)))


def predictive_functionals(
    densities: DrawDensities, y: np.ndarray | Window, chains: int, rows: list[int]
) -> dict[str, np.ndarray]:
    """Predictive mean, sd and log density at y of every row: name -> (chain, draw).

    Names are "mean[n]", "sd[n]" and "log_density[n]", "mean[n,q]" with several outcomes; ``rows``
    are the n.
    """
    densities = _judged(densities)
    covs, several = densities.covs(), densities.n_outcomes > 1
    values: dict[str, np.ndarray] = {}
    for place, means in densities.blocks():
        mean, sd = _moments(means, covs)
        for i, n in enumerate(rows[place]):
            for q in range(densities.n_outcomes):
                number = f"[{n},{q}]" if several else f"[{n}]"
                values["mean" + number] = mean[i, :, q].reshape(chains, -1)
                values["sd" + number] = sd[i, :, q].reshape(chains, -1)
        if several and isinstance(y, Window):
            continue
        for n, row in zip(rows[place], _log_likelihood(means, covs, y, place), strict=True):
            values[f"log_density[{n}]"] = row.reshape(chains, -1)
    return values
