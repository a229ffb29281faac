"""Quantiles of Gaussian mixtures by safeguarded Newton steps on the probit scale; expectations."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc, ndtri
from scipy.special import ndtri as np_ndtri

from ...inference.runtime import numerics
from .sums import (
    LOG_SQRT_2PI,
    Law,
    bucket,
    choose,
    density,
    evaluate,
    pad,
    pad_law,
    phi,
    standardise,
    tail_mass,
    take_rows,
)

MASS_TOLERANCE = 1e-11
SD_TOLERANCE = 1e-11
GOLDEN = 0.5 * (5**0.5 - 1)
STEPS_A_CALL = 8
WORTH_SPLITTING = 1 << 18
MAX_CALLS = 50
# Nodes of all components of a row together, within bounds for each component.
NODES_A_ROW = 4096
MOST_NODES, FEWEST_NODES = 128, 8


class Goal(NamedTuple):
    """Each level p as a tail: min(p, 1 - p), on the lower side (sign 1) or the upper (sign -1).

    ``guess_low`` and ``guess_high`` are points that probably bracket the quantile; ``tolerance`` is
    how well x need be known.  All are (M, B): levels by rows.
    """

    tail: np.ndarray
    sign: np.ndarray
    guess_low: np.ndarray
    guess_high: np.ndarray
    tolerance: np.ndarray


class Search(NamedTuple):
    """The point to look at next, what is known to bracket the quantile, the last step; (M, B)."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    step: np.ndarray
    done: np.ndarray


def quantile(law: Law, levels: np.ndarray) -> np.ndarray:
    """F⁻¹(p) of every row at every level p in [0, 1]; (M,) levels -> (B, M).

    Stops at |F(q) - p| <= 1e-11 min(p, 1 - p), or, inside a jump too sharp for that, when q is
    known to 1e-11 of the narrowest component's sd or to rounding.  F⁻¹(0) = -inf, F⁻¹(1) = inf.
    """
    found = np.where(levels > 0, np.inf, -np.inf) * np.ones((len(law.means), 1))
    inner = (levels > 0) & (levels < 1)
    if inner.any():
        found[:, inner] = _solve(law, levels[inner])
    return found


def spread_sample(law: Law, size: int) -> np.ndarray:
    """``size`` sorted points a row that resemble draws of its mixture, without chance; (B, size).

    Components are taken systematically by weight, and the i-th point is the frac(i g) quantile of
    its component, g the golden ratio, so that points of one component spread evenly over it.
    """
    rows = len(law.means)
    ranks = (np.arange(size) + 0.5) / size
    z = np_ndtri(np.arange(1, size + 1) * GOLDEN % 1.0)
    if len(law.weights) == 1:
        chosen = choose(law.weights, ranks)
        return np.sort(law.means[:, chosen] + law.sds[:, chosen] * z, -1)
    chosen = choose(law.weights, np.broadcast_to(ranks, (rows, size)))
    sds = np.broadcast_to(law.sds, law.means.shape)
    means, sds = (np.take_along_axis(part, chosen, -1) for part in (law.means, sds))
    return np.sort(means + sds * z, -1)


def sample_size(components: int) -> int:
    """Points of the spread sample that starts the search."""
    return min(max(bucket(4 * components), 64), 1024)


def _solve(law: Law, levels: np.ndarray) -> np.ndarray:
    """Search all rows together; in a large block, once 3/4 of them are done, only the rest."""
    goal, search = _start(law, levels)
    found, rows = search.x.copy(), np.arange(len(law.means))
    for _ in range(MAX_CALLS):
        search = _advance(law, goal, search)
        found[:, rows] = search.x
        unsolved = np.flatnonzero(~search.done.all(0))
        if len(unsolved) == 0:
            break
        if len(unsolved) <= len(rows) // 4 and law.means.size > WORTH_SPLITTING:
            law, rows = take_rows(law, unsolved), rows[unsolved]
            goal, search = (type(a)(*(b[:, unsolved] for b in a)) for a in (goal, search))
    return found.T


def _start(law: Law, levels: np.ndarray) -> tuple[Goal, Search]:
    """Start at the quantile of a spread sample, or for extreme levels at the outermost component.

    The quantile of a mixture lies between the least and the greatest quantile of its components.
    """
    rows, size = len(law.means), sample_size(law.means.shape[1])
    upper = levels > 0.5
    tail = np.where(upper, 1 - levels, levels)[:, None] * np.ones(rows)
    sign = np.where(upper, -1.0, 1.0)[:, None] * np.ones(rows)
    z = np.broadcast_to(np_ndtri(levels), (rows, len(levels)))
    low, high = np.moveaxis(evaluate(_extremes, law, z), -1, 0).swapaxes(1, 2)
    sample = spread_sample(law, size).T
    slack = 4 * np.sqrt(levels * (1 - levels) / size)
    near, guess_low, guess_high = (
        sample[np.clip((p * size).astype(int), 0, size - 1)]
        for p in (levels, levels - slack, levels + slack)
    )
    extreme = (tail * size < 2) * sign
    x = np.clip(np.where(extreme > 0, low, np.where(extreme < 0, high, near)), low, high)
    rounding = 4 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
    tolerance = SD_TOLERANCE * law.sds.min(-1) + rounding
    goal = Goal(tail, sign, guess_low, guess_high, tolerance)
    return goal, Search(x, low, high, np.full_like(x, np.inf), np.zeros(x.shape, bool))


def _extremes(law: Law, z: jax.Array) -> jax.Array:
    """min_c and max_c of m_c + z s_c."""
    each = law.means + z[:, None] * law.sds
    return jnp.stack([each.min(-1), each.max(-1)], -1)


def _advance(law: Law, goal: Goal, search: Search) -> Search:
    levels, rows = search.x.shape
    shape = bucket(levels), bucket(rows)
    goal, search = (
        type(a)(*(pad(pad(b, shape[0]), shape[1], axis=1) for b in a)) for a in (goal, search)
    )
    with numerics():
        search = _iterate(pad_law(law, shape[1]), goal, search, levels)
    return Search(*(np.asarray(part)[:levels, :rows] for part in search))


@jax.jit
def _iterate(law: Law, goal: Goal, search: Search, levels: int) -> Search:
    real = (jnp.arange(search.x.shape[0]) < levels)[:, None]

    def unfinished(carry):
        count, search = carry
        return (count < STEPS_A_CALL) & ~(search.done | ~real).all()

    def advance(carry):
        count, search = carry
        return count + 1, _step(goal, search, *_look(law, goal, search, levels))

    return jax.lax.while_loop(unfinished, advance, (0, search))[1]


def _look(law: Law, goal: Goal, search: Search, levels: int) -> tuple[jax.Array, jax.Array]:
    """Tail mass and density at x, level by level, passing over levels done in every row."""

    def look(j, seen):
        x = search.x[j]
        return (
            seen[0].at[j].set(tail_mass(law, x, goal.sign[j][:, None])),
            seen[1].at[j].set(density(law, x)),
        )

    def visit(j, seen):
        return jax.lax.cond(search.done[j].all(), lambda _, seen: seen, look, j, seen)

    return jax.lax.fori_loop(0, levels, visit, (goal.tail, jnp.ones_like(goal.tail)))


def _step(goal: Goal, search: Search, mass: jax.Array, slope: jax.Array) -> Search:
    """Newton on Φ⁻¹(F(x)) = Φ⁻¹(p), which is linear for one Gaussian.

    A step that leaves the bracket, or does not halve the step before, gives way to the likely
    bracket and, that used, to bisection.
    """
    x, low, high, last, done = search
    short = goal.sign * (mass - goal.tail) < 0
    low = jnp.where(short & ~done, x, low)
    high = jnp.where(short | done, high, x)
    done |= jnp.abs(mass - goal.tail) <= MASS_TOLERANCE * goal.tail
    done |= high - low <= goal.tolerance
    z = ndtri(mass)
    step = goal.sign * (ndtri(goal.tail) - z) * jnp.exp(-0.5 * z * z - LOG_SQRT_2PI) / slope
    newton = x + step
    good = (newton > low) & (newton < high) & (jnp.abs(step) < 0.5 * last)
    guess = jnp.where(short, goal.guess_high, goal.guess_low)
    guess = jnp.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
    new = jnp.where(done, x, jnp.where(good, newton, guess))
    return Search(new, low, high, jnp.abs(new - x), done)


def node_count(components: int) -> int:
    """Nodes a component."""
    return int(np.clip(NODES_A_ROW // components, FEWEST_NODES, MOST_NODES))


def expectation(law: Law, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """E[loss(Y)] of each row by Gauss-Hermite quadrature of every component; (B,)."""
    z, weights = np.polynomial.hermite_e.hermegauss(node_count(law.means.shape[1]))
    y = law.means[:, :, None] + law.sds[:, :, None] * z
    values = np.asarray(loss(y), dtype=float)
    if values.shape != y.shape:
        raise ValueError(
            f"loss must map an array to one of its shape; it made {values.shape} of {y.shape}"
        )
    return np.sum(law.weights * (values @ (weights / weights.sum())), -1)


def tail_mean(law: Law, level: float, upper: bool) -> np.ndarray:
    """E[Y | Y >= q] for the quantile q at ``level``, or E[Y | Y <= q]; (B,)."""
    cut = quantile(law, np.array([level]))
    return evaluate(_above if upper else _below, law, cut)[:, 0]


def _above(law: Law, x: jax.Array) -> jax.Array:
    return _beyond(law, x, 1.0)


def _below(law: Law, x: jax.Array) -> jax.Array:
    return _beyond(law, x, -1.0)


def _beyond(law: Law, x: jax.Array, sign: float) -> jax.Array:
    """x + sign E[excess] / P(beyond x)."""
    z = sign * standardise(law, x)
    excess = law.sds * (phi(z) - z * 0.5 * erfc(z * np.sqrt(0.5)))
    return x + sign * jnp.sum(law.weights * excess, -1) / tail_mass(law, x, -sign)
