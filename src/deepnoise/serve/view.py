"""A fitted model as the server asks it: standardised rows in, its own answers out, at speed.

The estimator draws the noise of its paths again at every prediction, which is most of the time that
one row takes.  The noise depends on the model's seed alone, so a server can keep it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np

from ..estimators.class_predictive import ClassPredictive
from ..estimators.predictive import PosteriorPredictive
from ..model.activation import PiecewiseLinear
from ..model.network import Theta
from ..prediction.density.components import Components, Stored
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.per_draw import DrawDensities, row_blocks, spaced
from ..prediction.predict import covariances, drawn_paths

# Draws times paths of all chains: those of the default network are 8,000.
MOST_COMPONENTS = 16_000
JUDGED_ROWS = 50
# Numbers of a hidden layer that are worked on at once: they stay in the processor's cache.
CACHED_VALUES = 1 << 17
# Rows times paths of one matrix product: BLAS would share larger ones among threads, which wait for
# each other much longer than one of them takes.
PRODUCT_ROWS = 256


@dataclass(frozen=True)
class Thinning:
    """Draws of each chain and paths of each draw that are used, of how many, and what it costs.

    No probability is further off than ``cost``, at the rows on which it was measured.
    """

    draws: int
    all_draws: int
    paths: int
    all_paths: int
    cost: float
    rows: int


def thinned(model: Any, draws: int | None, paths: int | None) -> tuple[Any, Thinning | None]:
    """The model with so many draws and paths; None leaves as many as MOST_COMPONENTS allow."""
    if not hasattr(model, "posterior_"):
        return model, None
    held, chains = model.posterior_.run.n_draws, len(model.chain_weights_)
    R = model.paths if paths is None else paths
    least = max(MOST_COMPONENTS // (chains * R), 1)
    M = min(held, least) if draws is None else draws
    if (held, model.paths) == (M, R):
        return model, None
    small = model.thinned(M, R)
    rows = np.asarray(model.rows_.x[spaced(len(model.rows_), JUDGED_ROWS)], float)
    return small, Thinning(M, held, R, model.paths, _cost(model, small, rows), len(rows))


def _cost(model: Any, small: Any, x: np.ndarray) -> float:
    """The largest change of a probability at standardised rows."""
    whole, part = model.predictive_, small.predictive_
    if isinstance(whole, ClassPredictive):
        return float(np.abs(whole.probabilities(x) - part.probabilities(x)).max())
    return float(whole.network_density(x).cdf_distance(part.network_density(x)).max())


def view(model: Any) -> Any:
    """What predictions of a model are made from, with what does not depend on rows kept.

    Rows with gaps are left to the estimator's own, whose answers are the same but take longer.
    """
    slow = model.predictive_
    if not hasattr(model, "posterior_"):
        return slow
    given = slow.prediction_key(), slow.posterior_in_units.flat(), slow.posterior.plan.h
    paths = slow.draw_densities_at(slow.rows.x[:1]).paths
    parts = {f.name: getattr(slow, f.name) for f in fields(slow)}
    parts["of_draws"] = draw_paths(*given, paths, shared=True)
    if isinstance(slow, ClassPredictive):
        return QuickClasses(**parts)
    return QuickPredictive(**parts, own=draw_paths(*given, slow.paths, shared=False))


@dataclass(frozen=True, eq=False)
class Paths:
    """R noise paths of M draws: layer l is h(u β_lᵀ + above_l) + below_l.

    The pass of ``model.network.forward`` by NumPy: for a row or two, a call of JAX takes longer.

    Shapes: ``beta`` (M, in, out); ``above`` (M, R, out), γ_l and the noise before h, R = 1 for the
    last layer; ``below`` (M, R, out), the noise after h; ``covs`` (M, Q, Q), what the last layer
    adds.
    """

    beta: tuple[np.ndarray, ...]
    above: tuple[np.ndarray, ...]
    below: tuple[np.ndarray, ...]
    covs: np.ndarray
    h: PiecewiseLinear
    paths: int

    def means(self, x: np.ndarray) -> np.ndarray:
        """β_L h(v_{L-1}) + γ_L of rows x (N, P) without gaps: (N, M, R, Q)."""
        draws, outcomes = self.covs.shape[:2]
        found = np.empty((draws, len(x), self.paths, outcomes))
        rows = max(PRODUCT_ROWS // self.paths, 1)
        widest = max(beta.shape[2] for beta in self.beta)
        size = max(CACHED_VALUES // (min(rows, len(x)) * self.paths * widest), 1)
        for first in range(0, len(x), rows):
            part = slice(first, first + rows)
            for start in range(0, draws, size):
                block = slice(start, start + size)
                found[block, part] = self._block(x[part], block)
        return np.moveaxis(found, 0, 1)

    def _block(self, x: np.ndarray, block: slice) -> np.ndarray:
        """The same of some draws: (m, N, R, Q)."""
        u, last = x[None, :, None], len(self.beta) - 1
        for l, (beta, above) in enumerate(zip(self.beta, self.above, strict=True)):
            shape = u.shape[:3]
            flat = u.reshape(len(u), -1, u.shape[3]) @ beta[block]
            v = flat.reshape(len(flat), *shape[1:], -1) + above[block][:, None]
            u = v if l == last else piecewise(self.h, v)
            if l < last - 1:
                u += self.below[l][block][:, None]
        return u

    def components(self, x: np.ndarray, weights: np.ndarray) -> Components:
        """Components of the predictive density; ``weights`` (M,) are those of the draws."""
        draws, outcomes = self.covs.shape[:2]
        means = self.means(x).reshape(len(x), draws * self.paths, outcomes)
        shared = np.repeat(weights / self.paths, self.paths)[None]
        return Components(shared, means, np.repeat(self.covs, self.paths, axis=0)[None])


def piecewise(h: PiecewiseLinear, t: np.ndarray) -> np.ndarray:
    """h(t) by NumPy."""
    if h.b == (0.0, 1.0, 0.0) and h.b_prime[1] == 0 and h.c == (h.b_prime[0], h.b_prime[2]):
        return np.clip(t, *h.c, out=t)
    value = h.b[0] * t + h.b_prime[0]
    for b, b_prime, c in zip(h.b[1:], h.b_prime[1:], h.c, strict=True):
        np.copyto(value, b * t + b_prime, where=t >= c)
    return value


def draw_paths(key: jax.Array, draws: Theta, h: PiecewiseLinear, paths: int, shared: bool) -> Paths:
    """Paths as the estimator draws them; the noise is shared by the draws, or each has its own."""
    paths = paths if draws.L else 1
    above, below = drawn_paths(key, draws, paths, shared)
    beta = tuple(np.ascontiguousarray(np.asarray(b, float).swapaxes(1, 2)) for b in draws.beta)
    return Paths(beta, tuple(above), tuple(below), covariances(draws), h, paths)


@dataclass(frozen=True, eq=False, kw_only=True)
class QuickDensities(DrawDensities):
    """The law of every draw, from paths that were drawn before."""

    drawn: Paths

    @classmethod
    def of(cls, given: DrawDensities, drawn: Paths) -> "QuickDensities":
        return cls(**{f.name: getattr(given, f.name) for f in fields(given)}, drawn=drawn)

    def covs(self) -> np.ndarray:
        """Covariances given a path, the same for all paths and rows; (M, Q, Q)."""
        return self.drawn.covs * np.outer(self.scale, self.scale)

    def blocks(self, width: int = 1) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows, and the means of every draw and path there: (B, M, R, Q)."""
        if np.isnan(self.x).any():
            yield from super().blocks(width)
            return
        a_row = len(self.weights) * max(self.drawn.paths * self.n_outcomes, width)
        for rows in row_blocks(len(self.x), a_row):
            shift = self.shift[rows, None, None] if self.shift.ndim == 2 else self.shift
            yield rows, self.drawn.means(np.asarray(self.x[rows], float)) * self.scale + shift


@dataclass(frozen=True, eq=False, kw_only=True)
class QuickPredictive(PosteriorPredictive):
    """A posterior predictive with paths that were drawn before."""

    of_draws: Paths
    own: Paths

    def draw_densities_at(self, x: np.ndarray) -> DrawDensities:
        return QuickDensities.of(super().draw_densities_at(x), self.of_draws)

    def posterior_density(self, rows: np.ndarray) -> PredictiveMixture:
        if np.isnan(rows).any():
            return super().posterior_density(rows)
        parts = self.own.components(self.network_rows(rows), self.draw_weights())
        outcomes, components = parts.means.shape[2], parts.means.shape[1]
        return PredictiveMixture.from_blocks(len(rows), outcomes, components, Stored(parts))


@dataclass(frozen=True, eq=False, kw_only=True)
class QuickClasses(ClassPredictive):
    """The same of classes."""

    of_draws: Paths

    def draw_densities_at(self, x: np.ndarray) -> DrawDensities:
        return QuickDensities.of(super().draw_densities_at(x), self.of_draws)
