"""Components of Gaussian mixtures: checks, moments, draws, and the functions that read them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike

from .sums import JointLaw, Law, choose

# 1 GB: all of a table of 16,000 rows and 8,000 components.
KEPT_VALUES = 1 << 27
# Blocks that are computed at once: many rows share the noise of a path, which is made only once.
AHEAD = 8
# A value farther from a component is taken to be there: squares must not overflow.
FARTHEST = 1e150


class Components(NamedTuple):
    """Weights, means and covariances of the C components of B rows over Q outcomes.

    Shapes: weights (B, C), means (B, C, Q), covs (B, C, Q, Q); weights and covs (1, ...) if shared.
    """

    weights: np.ndarray
    means: np.ndarray
    covs: np.ndarray

    def take(self, rows: np.ndarray) -> "Components":
        weights, covs = (
            part if len(part) == 1 else part[rows] for part in (self.weights, self.covs)
        )
        return Components(weights, self.means[rows], covs)

    def law(self, outcome: int) -> Law:
        """The marginal of one outcome."""
        means = np.ascontiguousarray(self.means[..., outcome])
        return Law(self.weights, means, np.sqrt(self.covs[..., outcome, outcome]))

    def joint_law(self) -> JointLaw:
        return JointLaw(self.weights, self.means, np.linalg.inv(np.linalg.cholesky(self.covs)))

    def mean(self) -> np.ndarray:
        """Σ_c w_c m_c; (B, Q)."""
        return np.matmul(self.weights[:, None], self.means)[:, 0]

    def cov(self) -> np.ndarray:
        """Σ_c w_c (V_c + (m_c - m)(m_c - m)ᵀ); (B, Q, Q)."""
        apart = self.means - self.mean()[:, None]
        weighted = self.weights[..., None] * apart
        within = np.sum(self.weights[..., None, None] * self.covs, 1)
        return within + np.swapaxes(weighted, 1, 2) @ apart

    def draw(self, u: np.ndarray, z: np.ndarray) -> np.ndarray:
        """m_c + L_c z with c chosen by u; u (B, n) uniform, z (B, n, Q) standard normal."""
        chosen, row = choose(self.weights, u), np.arange(len(u))[:, None]
        factors = np.linalg.cholesky(self.covs)
        factors = factors[row if len(factors) > 1 else 0, chosen]
        return self.means[row, chosen] + np.einsum("bnpq,bnq->bnp", factors, z)


def generator(random_state: Any) -> np.random.Generator:
    """numpy's generator from a seed, a generator of numpy's (old or new), a JAX key or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if not isinstance(random_state, jax.Array):
        return np.random.default_rng(random_state)
    if jax.dtypes.issubdtype(random_state.dtype, jax.dtypes.prng_key):
        random_state = jax.random.key_data(random_state)
    return np.random.default_rng(np.asarray(random_state).ravel())


Read = Callable[[int, int], Components]


@dataclass(frozen=True, eq=False)
class Stored:
    """Reads rows start..stop-1 of components in memory, checked beforehand."""

    parts: Components

    def __call__(self, start: int, stop: int) -> Components:
        return Components(*(part if len(part) == 1 else part[start:stop] for part in self.parts))


class Remembered:
    """Reads as ``read`` does, some blocks ahead, and keeps up to ``KEPT_VALUES`` means: those rows
    are not computed again.  Of the others the last ones are kept until they have been read.
    """

    def __init__(self, read: Read, n_rows: int):
        self.read = read
        self.n_rows = n_rows
        self.kept: dict[int, Components] = {}
        self.last: tuple[int, Components] | None = None

    def __call__(self, start: int, stop: int) -> Components:
        known = [*self.kept.items(), *([self.last] if self.last else [])]
        for first, parts in known:
            if first <= start and stop <= first + len(parts.means):
                return Stored(parts)(start - first, stop - first)
        self.last = None
        parts = self.read(start, min(start + AHEAD * (stop - start), self.n_rows))
        if sum(old.means.size for old in self.kept.values()) + parts.means.size <= KEPT_VALUES:
            self.kept[start] = parts
        else:
            self.last = start, parts
        return Stored(parts)(0, stop - start)


def as_components(means: ArrayLike, covs: ArrayLike, weights: ArrayLike | None) -> Components:
    """float64 arrays of the right number of axes; equal weights if none are given."""
    means, covs = (np.asarray(part, dtype=np.float64) for part in (means, covs))
    if means.ndim != 3 or 0 in means.shape:
        raise ValueError(
            f"means must be (rows, components, outcomes), none of them zero; got {means.shape}"
        )
    count = means.shape[1]
    given = np.full((1, count), 1 / count) if weights is None else np.asarray(weights, np.float64)
    parts = _check_shapes(Components(given, means, covs), *means.shape)
    return parts._replace(weights=_as_distribution(given))


def _as_distribution(weights: np.ndarray) -> np.ndarray:
    """The weights, made to add up to one exactly."""
    total = weights.sum(-1, keepdims=True)
    if not ((weights >= 0).all() and (np.abs(total - 1) < 1e-4).all()):
        raise ValueError("weights must not be negative and must add up to one over components")
    return weights / total


def _check_shapes(parts: Components, rows: int, components: int, outcomes: int) -> Components:
    tails = (components,), (components, outcomes), (components, outcomes, outcomes)
    for name, part, tail in zip(parts._fields, parts, tails, strict=True):
        firsts = {rows} if name == "means" else {1, rows}
        if part.shape[1:] != tail or part.shape[:1] not in {(first,) for first in firsts}:
            allowed = " or ".join(str((first, *tail)) for first in sorted(firsts))
            raise ValueError(f"{name} must be {allowed}; got {part.shape}")
    return parts


def check(parts: Components, rows: int, components: int, outcomes: int) -> Components:
    """The same components if sound: shapes, finite, weights a distribution, covs positive."""
    weights, means, covs = _check_shapes(parts, rows, components, outcomes)
    for name, part in (("means", means), ("covs", covs)):
        if not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite")
    if not (np.diagonal(covs, axis1=-2, axis2=-1) > 0).all():
        raise ValueError("covs must have positive variances on their diagonals")
    if outcomes > 1:
        _check_definite(covs)
    return parts._replace(weights=_as_distribution(weights))


def _check_definite(covs: np.ndarray) -> None:
    sds = np.sqrt(np.diagonal(covs, axis1=-2, axis2=-1))
    skew = np.abs(covs - np.swapaxes(covs, -1, -2))
    if (skew > 1e-6 * sds[..., None, :] * sds[..., :, None]).any():
        raise ValueError("covs must be symmetric")
    try:
        np.linalg.cholesky(covs)
    except np.linalg.LinAlgError:
        raise ValueError("covs must be positive definite") from None


def per_row(values: ArrayLike, name: str, rows: int, outcomes: int) -> np.ndarray:
    """(N, Q) from a number, from (N,) where there is one outcome, or from what broadcasts."""
    values = np.asarray(values, dtype=float)
    given = values[:, None] if outcomes == 1 and values.ndim == 1 else values
    try:
        given = np.broadcast_to(given, (rows, outcomes))
    except ValueError:
        message = f"{name} must fit (rows, outcomes) = {(rows, outcomes)}; got {values.shape}"
        raise ValueError(message) from None
    if np.isnan(given).any():
        raise ValueError(f"{name} must not contain nan")
    return given


def check_coverage(coverage: float, most: float) -> None:
    if not 0 < coverage <= most:
        raise ValueError(f"coverage must be between 0 and 1; got {coverage}")


def join(parts: list[Components], sizes: list[int]) -> Components:
    """Blocks of the given numbers of rows, one after the other."""
    if len(parts) == 1:
        return parts[0]

    def together(field: list[np.ndarray]) -> np.ndarray:
        if max(sizes) > 1 and all(len(part) == 1 for part in field):
            return field[0]
        return np.concatenate(
            [np.broadcast_to(a, (n, *a.shape[1:])) for a, n in zip(field, sizes, strict=True)]
        )

    return Components(*(together(list(field)) for field in zip(*parts, strict=True)))


def read_rows(read: Read, rows: np.ndarray, start: int, stop: int) -> Components:
    """Components of rows[start:stop], read in as few runs of neighbouring rows as there are."""
    wanted, place = np.unique(rows[start:stop], return_inverse=True)
    runs = np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1)
    parts = [read(int(run[0]), int(run[-1]) + 1) for run in runs]
    found = join([Components(*map(np.asarray, part)) for part in parts], [len(run) for run in runs])
    return found.take(place)


def read_marginal(read: Read, outcome: int, start: int, stop: int) -> Components:
    weights, means, covs = read(start, stop)
    one = slice(outcome, outcome + 1)
    return Components(weights, means[..., one], covs[..., one, one])


def read_affine(
    read: Read, scale: np.ndarray, shift: np.ndarray, start: int, stop: int
) -> Components:
    """scale · y + shift has means scale · m + shift and covariances diag(scale) V diag(scale)."""
    weights, means, covs = (np.asarray(part, dtype=np.float64) for part in read(start, stop))
    return Components(weights, means * scale + shift, covs * np.outer(scale, scale))


def read_guarded(
    read: Read, share: float, variances: np.ndarray, start: int, stop: int
) -> Components:
    """A last component N(mean of the row, diag(variances)), of weight ``share``."""
    inner, wide = read(start, stop), np.diag(variances)[None, None]
    weights, covs = inner.weights, inner.covs
    last = np.broadcast_to(wide, (len(covs), *wide.shape[1:]))
    return Components(
        np.concatenate([(1 - share) * weights, np.full((len(weights), 1), share)], axis=1),
        np.concatenate([inner.means, inner.mean()[:, None]], axis=1),
        np.concatenate([covs, last], axis=1),
    )


def read_stretched(read: Read, factor: float, start: int, stop: int) -> Components:
    """Means moved away from the row's mean by a factor, and sds multiplied by it."""
    inner = read(start, stop)
    centre = inner.mean()[:, None]
    means = centre + factor * (inner.means - centre)
    return Components(inner.weights, means, factor**2 * inner.covs)


def observed(given: Mapping[int, ArrayLike], rows: int, outcomes: int) -> dict[int, np.ndarray]:
    """Values (N,) of the known outcomes by number, checked."""
    if not isinstance(given, Mapping) or not given:
        raise ValueError("given must map outcomes to their values, such as {1: y1}")
    known = {}
    for outcome, value in given.items():
        name = f"given[{outcome!r}]"
        place = _place(outcome, outcomes)
        if place in known:
            raise ValueError(f"{name}: outcome {place} is given twice")
        known[place] = per_row(value, name, rows, 1)[:, 0]
        if not np.isfinite(known[place]).all():
            raise ValueError(f"{name} must be finite")
    if len(known) == outcomes:
        raise ValueError(f"given must leave out at least one outcome; it has all {outcomes}")
    return known


def _place(outcome: int, outcomes: int) -> int:
    try:
        return range(outcomes)[index(outcome)]
    except (IndexError, TypeError):
        message = f"given: there is no outcome {outcome!r}; they are 0 to {outcomes - 1}"
        raise ValueError(message) from None


def read_conditional(
    read: Read, known: Mapping[int, np.ndarray], start: int, stop: int
) -> Components:
    """Components given the known outcomes, one of them after the other.

    Given y_a, component c has weight w_c N(y_a; m_a, V_aa), means m + g (y_a - m_a) and covariances
    V - g V_a, where g = V_a / V_aa.  Weights are kept in logs to the end.
    """
    weights, means, covs = (np.asarray(part, dtype=np.float64) for part in read(start, stop))
    # Of outcomes that determine each other, rounding leaves no less of a variance than this.
    least = np.finfo(float).eps * np.diagonal(covs, axis1=-2, axis2=-1)
    every = np.arange(means.shape[-1])
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    for outcome, values in known.items():
        variance = covs[..., outcome, outcome]
        apart = values[start:stop, None] - means[..., outcome]
        z = np.clip(apart / np.sqrt(variance), -FARTHEST, FARTHEST)
        log_weights = log_weights - z**2 / 2 - np.log(variance) / 2
        gain = covs[..., outcome] / variance[..., None]
        means = means + gain * apart[..., None]
        covs = covs - gain[..., None] * covs[..., None, outcome, :]
        covs[..., every, every] = np.maximum(covs[..., every, every], least)
    left = [q for q in range(means.shape[-1]) if q not in known]
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return Components(weights, means[..., left], covs[..., left, :][..., left])
