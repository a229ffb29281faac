"""Piecewise-linear activation functions (the paper's Assumption 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np


@jax.tree_util.register_static
@dataclass(frozen=True)
class PiecewiseLinear:
    """Piecewise-linear activation h(t) = b_j t + b'_j on [c_{j-1}, c_j), j = 1..J.

    Here c_0 = -inf and c_J = inf.  Paper: assu:activation.  :func:`piecewise_linear` makes one
    and checks it.

    Attributes
    ----------
    b : tuple of float
        J slopes.
    b_prime : tuple of float
        J intercepts.
    c : tuple of float
        J - 1 interior cut points, at which h may jump.

    Examples
    --------
    >>> from deepnoise import PiecewiseLinear
    >>> relu = PiecewiseLinear(b=(0.0, 1.0), b_prime=(0.0, 0.0), c=(0.0,))
    >>> float(relu(-2.0)), float(relu(2.0)), relu.lipschitz
    (0.0, 2.0, 1.0)
    """

    b: tuple[float, ...]
    b_prime: tuple[float, ...]
    c: tuple[float, ...]

    @property
    def J(self) -> int:
        """Number of linear pieces."""
        return len(self.b)

    @property
    def edges(self) -> tuple[float, ...]:
        """c_0, ..., c_J."""
        return (-np.inf, *self.c, np.inf)

    @property
    def jumps(self) -> tuple[float, ...]:
        """h(c_j) - h(c_j-) at each interior cut point."""
        return tuple(
            (self.b[j + 1] - self.b[j]) * c + self.b_prime[j + 1] - self.b_prime[j]
            for j, c in enumerate(self.c)
        )

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant, C_h of Theorem 3; infinite where h jumps."""
        slope = max(abs(b) for b in self.b)
        rounding = 1e-9 * (1 + slope)
        return slope if max(map(abs, self.jumps), default=0.0) <= rounding else np.inf

    def __call__(self, t: jax.Array) -> jax.Array:
        value = self.b[0] * t + self.b_prime[0]
        for b, b_prime, c in zip(self.b[1:], self.b_prime[1:], self.c, strict=True):
            value = jnp.where(t >= c, b * t + b_prime, value)
        return value


def piecewise_linear(b, b_prime, c) -> PiecewiseLinear:
    """Make an activation of your own, and check it.

    Parameters
    ----------
    b : list of J floats
        Slopes.
    b_prime : list of J floats
        Intercepts.
    c : list of J - 1 floats
        Increasing cut points.

    Returns
    -------
    PiecewiseLinear
    """
    b, b_prime, c = (tuple(float(value) for value in part) for part in (b, b_prime, c))
    if not len(b) == len(b_prime) == len(c) + 1:
        raise ValueError(
            f"activation needs J slopes b, J intercepts b_prime and J - 1 cut points c; "
            f"got {len(b)}, {len(b_prime)} and {len(c)}"
        )
    if not np.isfinite((*b, *b_prime, *c)).all():
        raise ValueError("activation: b, b_prime and c must be finite")
    if any(right <= left for left, right in pairwise(c)):
        raise ValueError(f"activation: cut points c must increase strictly; got {c}")
    return PiecewiseLinear(b, b_prime, c)


identity = PiecewiseLinear((1.0,), (0.0,), ())
relu = PiecewiseLinear((0.0, 1.0), (0.0, 0.0), (0.0,))
hard_tanh = PiecewiseLinear((0.0, 1.0, 0.0), (-1.0, 0.0, 1.0), (-1.0, 1.0))
hard_sigmoid = PiecewiseLinear((0.0, 1 / 6, 0.0), (0.0, 0.5, 1.0), (-3.0, 3.0))


def leaky_relu(slope: float = 0.01) -> PiecewiseLinear:
    return piecewise_linear((slope, 1.0), (0.0, 0.0), (0.0,))


def approximate(f: Callable[[np.ndarray], np.ndarray], tol: float = 0.01) -> PiecewiseLinear:
    """Approximate a smooth function by straight pieces, for use as an activation.

    The pieces are as long as the tolerance allows.  f must be linear in both far tails.

    Parameters
    ----------
    f : function of an array
    tol : float
        The largest difference on [-40, 40].

    Returns
    -------
    PiecewiseLinear
        Continuous.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import approximate
    >>> approximate(np.tanh, tol=0.05).J
    7
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive; got {tol}")
    t = np.linspace(-40.0, 40.0, 80_001)
    value = np.asarray(f(t), dtype=float)
    if value.shape != t.shape or not np.isfinite(value).all():
        raise ValueError("f must map an array to finite values of the same shape")
    left, right = _asymptote(t[:2], value[:2]), _asymptote(t[-2:], value[-2:])
    # Half of the tolerance is spent on leaving the tails, so that the chords can start on them.
    off_left = np.flatnonzero(np.abs(value - left[0] * t - left[1]) > tol / 2)
    off_right = np.flatnonzero(np.abs(value - right[0] * t - right[1]) > tol / 2)
    if not off_left.size or not off_right.size:
        return _lines([left if not off_left.size else right], ())
    start, stop = max(off_left[0] - 1, 0), min(off_right[-1] + 1, len(t) - 1)
    if start >= stop:
        crossing = (left[1] - right[1]) / (right[0] - left[0])
        return _lines([left, right], (crossing,))
    target = value.copy()
    target[start] = left[0] * t[start] + left[1]
    target[stop] = right[0] * t[stop] + right[1]
    knots = [start]
    while knots[-1] < stop:
        knots.append(_furthest_chord(t, value, target, knots[-1], stop, tol))
    lines = [left, *(_line(t[[i, k]], target[[i, k]]) for i, k in pairwise(knots)), right]
    return _lines(lines, t[knots])


def _lines(lines, c) -> PiecewiseLinear:
    slopes, intercepts = zip(*lines, strict=True)
    return piecewise_linear(slopes, intercepts, c)


def _line(t, value) -> tuple[float, float]:
    slope = (value[1] - value[0]) / (t[1] - t[0])
    return float(slope), float(value[0] - slope * t[0])


def _asymptote(t, value) -> tuple[float, float]:
    """The line through two far points, its slope freed of rounding error."""
    slope = round(_line(t, value)[0], 6)
    return slope, float(value[0] - slope * t[0])


def _furthest_chord(t, value, target, i, stop, tol) -> int:
    def fits(k):
        inside = slice(i, k + 1)
        share = (t[inside] - t[i]) / (t[k] - t[i])
        chord = target[i] + share * (target[k] - target[i])
        return np.abs(chord - value[inside]).max() <= tol

    low, high = i + 1, stop
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


ACTIVATIONS: dict[str, PiecewiseLinear] = {
    "identity": identity,
    "relu": relu,
    "leaky_relu": leaky_relu(),
    "hard_tanh": hard_tanh,
    "hard_sigmoid": hard_sigmoid,
}

SMOOTH: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "sigmoid": lambda t: 0.5 * (1 + np.tanh(t / 2)),
    "softplus": lambda t: np.logaddexp(0.0, t),
}


def resolve_activation(activation: str | PiecewiseLinear) -> PiecewiseLinear:
    """An activation by name or as itself; smooth names are approximated to 0.01."""
    if isinstance(activation, PiecewiseLinear):
        return activation
    if activation in ACTIVATIONS:
        return ACTIVATIONS[activation]
    if activation in SMOOTH:
        return approximate(SMOOTH[activation])
    names = ", ".join([*ACTIVATIONS, *SMOOTH])
    raise ValueError(f"activation must be a PiecewiseLinear or one of {names}; got {activation!r}")
