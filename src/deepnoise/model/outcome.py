"""What was seen of y = v_L: its value, a window around it, or which class has the largest utility.

Where y was not seen exactly it is one more latent, drawn coordinate by coordinate from truncated
normals.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .random import normals, uniform_pair
from .truncnorm import log_mass, log_ndtr, truncated_normal

LOG_2PI = 1.8378770664093453
# Standardised ends of windows that are open: beyond any mass, with a square that is a float32.
FAR = 1e18
NODES = 24
# Where the largest of several utilities may lie, in standard deviations around the largest mean.
REACH = 8.0
NODES_OF_CHOICE = 32
# At least one in 13 is kept up to a standard deviation of 20: only NaN needs so many.
LOGIT_TRIES = 2000


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Window:
    """Outcomes between two ends, lower <= y <= upper: exact where equal, missing where infinite.

    Make one with :func:`deepnoise.between`, ``rounded`` or ``right_censored``, which check it.
    """

    lower: Any
    upper: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Levels:
    """Ordered levels 0..J-1, (N, 1): y of level j lies between the cut points j - 1 and j."""

    level: Any

    def window(self, cuts: jax.Array) -> Window:
        """The window of every row; ``cuts`` (J - 1,) increase, the first is 0 by convention."""
        ends = jnp.concatenate([-jnp.inf * jnp.ones(1), cuts, jnp.inf * jnp.ones(1)])
        ends = ends.astype(cuts.dtype)
        return Window(ends[self.level], ends[self.level + 1])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Logit:
    """y plus standard logistic noise lies in a window; (N, 1)."""

    window: Window


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogitLevels(Levels):
    """Ordered levels seen through logistic noise: P(level <= j | y) = 1 / (1 + exp(y - cut j))."""

    def window(self, cuts: jax.Array) -> Logit:  # type: ignore[override]
        return Logit(super().window(cuts))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Choice:
    """The class (N,) whose utility, one of the Q outcomes, is the largest."""

    chosen: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogitChoice(Choice):
    """The class whose utility plus Gumbel noise is the largest: P(c | y) = softmax(y)_c."""

    def window(self, y: jax.Array, k) -> Window:
        """Given the others, utility k plus logistic noise lies above or below the log of their sum.

        softmax(y)_k = 1 / (1 + exp(cut - y_k)), cut = log Σ_{j≠k} exp(y_j).
        """
        cut = jax.nn.logsumexp(jnp.where(jnp.arange(y.shape[1]) == k, -jnp.inf, y), axis=1)
        mine = self.chosen == k
        return Window(jnp.where(mine, cut, -jnp.inf), jnp.where(mine, jnp.inf, cut))


Seen = jax.Array | Window | Logit | Choice


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TruncatedNormal:
    """N(mean, variance) on [lower, upper]; the point itself where the ends are equal."""

    mean: jax.Array
    variance: jax.Array
    lower: jax.Array
    upper: jax.Array

    def log_prob(self, value) -> jax.Array:
        density = log_window(self.mean, self.variance, value, value)
        mass = log_window(self.mean, self.variance, self.lower, self.upper)
        return jnp.where(self.lower == self.upper, 0, density - mass)

    def sample(self, key) -> jax.Array:
        sd = jnp.sqrt(self.variance)
        a, b = _standard(self.lower, self.mean, sd), _standard(self.upper, self.mean, sd)
        u, _ = uniform_pair(key, a.shape, a.dtype)
        draw = self.mean + sd * truncated_normal(u, a, b)
        return jnp.clip(draw, self.lower, self.upper)


def log_window(mean, variance, lower, upper) -> jax.Array:
    """log of the mass of N(mean, variance) on [lower, upper], of its density where they meet."""
    exact = lower == upper
    sd = jnp.sqrt(variance)
    a = _standard(lower, mean, sd)
    point = jnp.where(exact, a, 0)
    density = -(point**2 + jnp.log(variance) + LOG_2PI) / 2
    low, high = jnp.where(exact, -1, a), jnp.where(exact, 1, _standard(upper, mean, sd))
    return jnp.where(exact, density, log_mass(low, high))


def _standard(end, mean, sd):
    """(end - mean) / sd with infinite ends far out, so that gradients stay finite."""
    known = jnp.isfinite(end)
    inside = (jnp.where(known, end, 0) - mean) / sd
    return jnp.where(known, inside, jnp.sign(end) * FAR).astype(inside.dtype)


def log_logit(y, window: Window) -> jax.Array:
    """log P(y + ε in the window), ε standard logistic: σ(B) σ(-A) (1 - exp(A - B)) for A < B."""
    above = jnp.where(jnp.isinf(window.upper), FAR, window.upper - y)
    below = jnp.where(jnp.isinf(window.lower), FAR, y - window.lower)
    both = jnp.isfinite(window.upper) & jnp.isfinite(window.lower)
    width = jnp.where(both, window.upper - window.lower, 1)
    narrow = jnp.where(both, jnp.log(-jnp.expm1(-width)), 0)
    return jax.nn.log_sigmoid(above) + jax.nn.log_sigmoid(below) + narrow


def draw_logit(key, mean, sd, window: Window) -> jax.Array:
    """y ~ N(mean, sd²) given that y plus logistic noise lies in the window; exact.

    log P(window | y) is concave, so it lies below its tangent near the mode of y: a normal tilted
    by the tangent's slope is proposed, and kept with the ratio of the two.
    """
    log_mass = lambda y: log_logit(y, window)  # noqa: E731
    slope_at = jax.grad(lambda y: jnp.sum(log_mass(y)))

    def halve(_, ends):
        low, high = ends
        middle = low / 2 + high / 2
        below = mean + sd**2 * slope_at(middle) > middle
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    mode = jax.lax.fori_loop(0, 20, halve, (mean - sd**2, mean + sd**2))[0]
    at_mode, slope = log_mass(mode), slope_at(mode)
    centre = mean + slope * sd**2

    def attempt(carry):
        i, y, kept = carry
        trial = centre + sd * normals(key, mean.shape, mean.dtype, block=4 * i)
        u, _ = uniform_pair(key, mean.shape, mean.dtype, block=4 * i + 2)
        accepted = jnp.log(u) < log_mass(trial) - at_mode - slope * (trial - mode)
        return i + 1, jnp.where(accepted & ~kept, trial, y), kept | accepted

    start = jnp.uint32(0), centre, jnp.zeros(mean.shape, bool)
    going = lambda carry: ~carry[2].all() & (carry[0] < LOGIT_TRIES)  # noqa: E731
    return jax.lax.while_loop(going, attempt, start)[1]


def bounds(seen: Window | Choice, y: jax.Array, k) -> tuple[jax.Array, jax.Array]:
    """Where outcome k of every row may lie, given the others."""
    if isinstance(seen, Window):
        return jnp.take(seen.lower, k, axis=1), jnp.take(seen.upper, k, axis=1)
    columns = jnp.arange(y.shape[1])
    others = jnp.max(jnp.where(columns == k, -jnp.inf, y), axis=1)
    largest = jnp.take_along_axis(y, seen.chosen[:, None], axis=1)[:, 0]
    mine = seen.chosen == k
    return jnp.where(mine, others, -jnp.inf), jnp.where(mine, jnp.inf, largest)


def given_others(k, mean, precision, y) -> tuple[jax.Array, jax.Array]:
    """Mean and variance (N,) of y_k given the other outcomes, y ~ N(mean, precision⁻¹).

    ``precision`` (Q, Q) is T_L⁻¹ given u_L, and (T_L + β_L Σ_{L-1} β_Lᵀ)⁻¹ where u_L is integrated.
    """
    row = jnp.take(precision, k, axis=0)
    own = jnp.take(row, k)
    pull = (y - mean) @ row - own * jnp.take(y - mean, k, axis=1)
    centre = jnp.take(mean, k, axis=1) - pull / own
    return centre, jnp.broadcast_to(1 / own, centre.shape)


def y_given(k, mean, precision, seen: Window | Choice, y) -> TruncatedNormal:
    """[y_k | y_-k, rest]: normal given the other outcomes, within its bounds."""
    return TruncatedNormal(*given_others(k, mean, precision, y), *bounds(seen, y, k))


def redraw(key, mean, precision, seen: Window | Logit | Choice, y) -> jax.Array:
    """Every outcome in turn from its law given the others.

    A single outcome does not depend on its old value: moves that integrate it out may come before.
    """
    if isinstance(seen, Logit):
        return draw_logit(key, mean, 1 / jnp.sqrt(precision[0, 0]), seen.window)

    def one(k, y):
        key_k = jax.random.fold_in(key, k)
        if isinstance(seen, LogitChoice):
            centre, variance = given_others(k, mean, precision, y)
            draw = draw_logit(key_k, centre, jnp.sqrt(variance), seen.window(y, k))
        else:
            draw = y_given(k, mean, precision, seen, y).sample(key_k)
        return y.at[:, k].set(draw)

    return one(0, y) if y.shape[1] == 1 else jax.lax.fori_loop(0, y.shape[1], one, y)


def inverse(matrix: jax.Array) -> jax.Array:
    """Of a small positive definite matrix, by Gauss and Jordan: no LAPACK call to wait for."""

    def eliminate(k, a):
        pivot, row = a[k, k], a[k]
        column = a[:, k].at[k].set(0)
        a = a - jnp.outer(column, row) / pivot
        a = a.at[k].set(row / pivot).at[:, k].set(-column / pivot)
        return a.at[k, k].set(1 / pivot)

    return jax.lax.fori_loop(0, matrix.shape[0], eliminate, matrix)


def first_guess(seen: Seen, outcomes: int, dtype) -> jax.Array:
    """A y that agrees with what was seen; (N, Q)."""
    if isinstance(seen, Logit):
        return first_guess(seen.window, outcomes, dtype)
    if isinstance(seen, Choice):
        return 2 * jax.nn.one_hot(seen.chosen, outcomes, dtype=dtype) - 1
    if isinstance(seen, Window):
        lower, upper = (jnp.where(jnp.isfinite(e), e, 0) for e in (seen.lower, seen.upper))
        open_below, open_above = jnp.isinf(seen.lower), jnp.isinf(seen.upper)
        middle = lower / 2 + upper / 2
        middle = jnp.where(open_below, upper, jnp.where(open_above, lower, middle))
        return jnp.where(open_below & open_above, 0, middle).astype(dtype)
    return seen


def hermite(dtype) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and log weights of Gauss-Hermite quadrature under a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes.astype(dtype), np.log(weights / weights.sum()).astype(dtype)


def log_choice(mean, variance) -> jax.Array:
    """log P(utility c is the largest) of independent N(mean_c, variance_c); (..., C) like mean.

    The trapezoidal rule over the largest utility, one grid for all classes: to 1e-6 where no
    standard deviation is less than half of another, as those of utilities are.
    """
    sd = jnp.sqrt(variance)
    top, widest = (jnp.max(a, axis=-1, keepdims=True) for a in (mean, sd))
    grid = np.linspace(-REACH, REACH, NODES_OF_CHOICE)
    value = top + widest * grid.astype(mean.dtype)
    z = (value[..., None, :] - mean[..., None]) / sd[..., None]
    log_below = log_ndtr(z)
    log_others = jnp.sum(log_below, axis=-2, keepdims=True) - log_below
    total = jax.nn.logsumexp(log_others - z**2 / 2, axis=-1)
    return total + jnp.log(widest / sd) + float(np.log(grid[1] - grid[0]) - LOG_2PI / 2)


def log_seen(mean, variance, seen: Window | Logit | Choice) -> jax.Array:
    """log probability of what was seen, y ~ N(mean, diag(variance)); (..., N).

    Logistic noise is integrated by Gauss-Hermite quadrature: to 1e-9 for variances up to 1, to 4e-5
    at 4, and no longer to be trusted at 25.  Of softmax it is MacKay's approximation, for a start.
    """
    if isinstance(seen, Logit):
        nodes, log_weights = hermite(mean.dtype)
        value = mean[..., None] + jnp.sqrt(variance)[..., None] * nodes
        window = jax.tree.map(lambda end: end[..., None], seen.window)
        found = jax.nn.logsumexp(log_logit(value, window) + log_weights, axis=-1)
        return jnp.sum(found, axis=-1)
    if isinstance(seen, Window):
        return jnp.sum(log_window(mean, variance, seen.lower, seen.upper), axis=-1)
    if isinstance(seen, LogitChoice):
        log_probability = jax.nn.log_softmax(mean / jnp.sqrt(1 + jnp.pi / 8 * variance))
    else:
        log_probability = log_choice(mean, jnp.broadcast_to(variance, mean.shape))
    chosen = jnp.broadcast_to(seen.chosen[:, None], (*mean.shape[:-1], 1))
    return jnp.take_along_axis(log_probability, chosen, axis=-1)[..., 0]
