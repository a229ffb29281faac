"""Log masses and draws of truncated normals, finite and inside at any distance and any width.

An interval [a, b] of the standard normal is held as its *depth* t = max(a, -b), how far its nearer
end lies in the tail (negative where it straddles 0), and its *width* w = b - a.  Everything rests
on Mills' ratio R(t) = Phi(-t) / phi(t), which never under- or overflows.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .random import polynomial

SQRT_2PI = math.sqrt(2 * math.pi)

# An interval around 0 counts as straddling from this depth on; up to there it is a tail.
_STRADDLE = -0.125
# Below this w (1 + |t|) the difference of two tails is replaced by a series around the middle.
_NARROW = {np.dtype(np.float32): 0.25, np.dtype(np.float64): 0.1}

# Minimax polynomials P of R(t) = s P(s), s = 1 / (1 + c t), t >= -1/8: c, then coefficients of P.
_MILLS = {
    np.dtype(np.float32): (
        0.35,
        (0.350000005, 0.34999858, 0.307195164, 0.22003867, 0.121405993, -0.0715353753,
         0.175372211, -0.567955289, 0.592940751, -0.272769394, 0.0486228292),
    ),
    np.dtype(np.float64): (
        0.25,
        (0.25000000000000006, 0.2499999999999711, 0.23437500000356268, 0.20312499984357515,
         0.1591796901082227, 0.10839844864062845, 0.05865354194758872, 0.018030625666863608,
         -0.007954686220772318, -0.014240760851181025, -0.026665569585553894,
         0.062141298660139475, -0.2146609159860406, 0.6026285806370053, -1.2447837917255447,
         2.0279699379404543, -2.543617559054221, 2.3665565542933993, -1.5922959966508425,
         0.7535875889369025, -0.23874466219108612, 0.04561993345786506, -0.003988120555436255),
    ),
}  # fmt: skip


def at_least(x, floor=0.0):
    """max(x, floor) for an x that is no less.

    XLA on CPUs stores a value of several uses, and splits the kernel there, unless the operation
    that ends it has a single array operand.
    """
    return jnp.maximum(x, x.dtype.type(floor))


def mills(t):
    """R(t) = Phi(-t) / phi(t) for t >= -1/8, to 3e-7 in float32 and 2e-15 in float64."""
    dtype = t.dtype.type
    c, coefficients = _MILLS[t.dtype]
    s = dtype(1) / (dtype(1) + dtype(c) * t)
    return s * polynomial(coefficients, s)


def log_ndtr(x):
    """log Phi(x)."""
    dtype = x.dtype.type
    depth = jnp.abs(x)
    ratio = mills(depth) * dtype(1 / SQRT_2PI)
    square = dtype(0.5) * x * x
    tail = ratio * jnp.exp(-square)
    return jnp.where(x < 0, jnp.log(ratio) - square, jnp.log1p(-tail))


class Interval(NamedTuple):
    """An interval from depth t to depth f, with its near tail, far tail and mass.

    Where it straddles 0, in units of phi(0): the tails outside, Phi(t) and Phi(-f), and the mass
    1 - Phi(t) - Phi(-f).  Elsewhere in units of phi(t): Phi(-t), Phi(-f) and their difference.
    """

    t: jax.Array
    straddles: jax.Array
    near: jax.Array
    far: jax.Array
    mass: jax.Array


@jax.custom_jvp
def log_mass(a, b):
    """log[Phi(b) - Phi(a)], a < b."""
    dtype = a.dtype.type
    t, straddles, near, far, mass = interval(depth(a, b), at_least(b - a))
    beyond = jnp.log(mass * dtype(1 / SQRT_2PI)) - dtype(0.5) * t * t
    return jnp.where(straddles, jnp.log1p((near + far) * dtype(-1 / SQRT_2PI)), beyond)


@log_mass.defjvp
def _log_mass_slope(primals, tangents):
    """phi(b) db - phi(a) da over the mass, in logs."""
    a, b = primals
    mass = log_mass(a, b)
    slope = lambda end: jnp.exp(-end.dtype.type(0.5) * end * end - mass) / SQRT_2PI  # noqa: E731
    return mass, slope(b) * tangents[1] - slope(a) * tangents[0]


def truncated_normal(u, a, b):
    """A standard normal truncated to [a, b], from a uniform u of ``uniform_pair``."""
    piece = interval(depth(a, b), at_least(b - a))
    y = _start(piece) + offset(u, piece)
    return jnp.clip(jnp.where(a > -b, y, -y), a, b)


def depth(a, b):
    """How far into the tail the nearer end lies; beyond -40 all is the whole line."""
    return jnp.maximum(jnp.maximum(a, -b), a.dtype.type(-40))


def tail(t) -> Interval:
    """The interval from depth t outwards for ever."""
    dtype = t.dtype.type
    straddles = t < dtype(_STRADDLE)
    near = mills(jnp.where(straddles, -t, t))
    near = jnp.where(straddles, near * jnp.exp(dtype(-0.5) * t * t), near)
    mass = jnp.where(straddles, dtype(SQRT_2PI) - near, near)
    return Interval(t, straddles, near, dtype(0), mass)


def interval(t, w) -> Interval:
    """The interval from depth t to depth t + w."""
    dtype = t.dtype.type
    _, straddles, near, _, mass = tail(t)
    f = t + w
    far = mills(f) * jnp.exp(dtype(-0.5) * jnp.where(straddles, f * f, w * (t + f)))
    narrow = w * (dtype(1) + jnp.abs(t)) < dtype(_NARROW[t.dtype])
    mass = jnp.where(narrow, _narrow_mass(t, w), mass - far)
    return Interval(t, straddles, near, far, mass)


def _narrow_mass(t, w):
    """The integral of exp(-t s - s^2/2) over [0, w], by its Hermite series around the middle z.

    exp(-w t/2 - w^2/8) w sum_k He_2k(z) w^2k / (4^k (2k + 1)!), written in x = w^2, y = (z w)^2.
    """
    dtype = t.dtype.type
    x, y = w * w, w * (t + dtype(0.5) * w)
    y = y * y
    series = dtype(1 / 24) * (y - x)
    series += dtype(1 / 1920) * (y * (y - dtype(6) * x) + dtype(3) * x * x)
    series += dtype(1 / 322560) * (
        y * (y * (y - dtype(15) * x) + dtype(45) * x * x) - dtype(15) * x * x * x
    )
    return w * jnp.exp(-w * (dtype(0.5) * t + dtype(0.125) * w)) * (dtype(1) + series)


def offset(u, piece: Interval):
    """A draw from the interval, as its distance towards the far end.

    The distance is from 0 where it straddles, and from the near end elsewhere.  It solves
    log Phi(-start) - log Phi(-start - distance) = decay.
    """
    t, straddles, near, far, mass = piece
    dtype = t.dtype.type
    hazard = dtype(1) / near
    beyond, before = far + u * mass, near + (dtype(1) - u) * mass
    lost = (dtype(1) - u) * (mass * hazard)
    close = lost < dtype(0.5)
    kept = jnp.where(close, dtype(1) - lost, beyond * hazard)
    kept = jnp.where(straddles, jnp.minimum(beyond, before) * dtype(2 / SQRT_2PI), kept)
    gap = dtype(1) - kept
    # -log(1 - lost), to rounding even where 1 - lost has lost all its digits (Kahan's log1p).
    lost = jnp.where(close & ~straddles, lost, gap)
    decay = at_least(jnp.where(gap > 0, -jnp.log(kept) * (lost / gap), lost))
    hazard = at_least(jnp.where(straddles, dtype(2 / SQRT_2PI), hazard))
    distance = _invert(decay, _start(piece), hazard)
    return jnp.where(straddles & (beyond > before), -distance, distance)


def _start(piece: Interval):
    return at_least(jnp.where(piece.straddles, piece.t.dtype.type(0), piece.t), _STRADDLE)


def _invert(decay, t, h):
    """The d >= 0 with log Phi(-t) - log Phi(-t - d) = decay, h = 1 / R(t) the hazard at t.

    Starts from the hazard and its slope, h d + k d^2/2 = decay, with k rising to 1 for long d; then
    third-order steps.  Short d keep the start, which is the more accurate there.
    """
    dtype = t.dtype.type
    half = dtype(0.5)
    k = jnp.clip(h * (h - t), dtype(0.6), dtype(1))
    k = k + (dtype(1) - k) * decay / (decay + dtype(13))
    d = start = at_least(dtype(2) * decay / (h + jnp.sqrt(h * h + dtype(2) * k * decay)))
    for _ in range(2 if dtype == np.float64 else 1):
        end = at_least(t + d, _STRADDLE)
        ratio = at_least(mills(end))
        g = dtype(1) / ratio
        e = ratio * (decay - d * (t + half * d) + jnp.log(h * ratio))
        y = jnp.clip(g - end, dtype(0), dtype(1))
        third = half * y * y - dtype(1 / 6) * (y * (g + y) - dtype(1))
        d = at_least(d + e * (dtype(1) - e * (half * y - e * third)))
    return jnp.where(decay < dtype(2 * np.cbrt(np.finfo(dtype).eps)), start, d)
