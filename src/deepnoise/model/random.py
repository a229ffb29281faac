"""Uniforms and normals straight from a threefry key: one hash gives two 32-bit words."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# Entries beyond 2^32 count on in the block word, above this many bits; block numbers stay below.
_BLOCK_BITS = 16


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RowsFrom:
    """A key whose arrays begin at row ``first`` of taller ones: the same numbers for those rows."""

    key: jax.Array
    first: jax.Array | int


def bits_pair(key, shape, block=0) -> tuple[jax.Array, jax.Array]:
    """The two uint32 words of threefry2x32(key, (block, i)), i counting the entries of ``shape``.

    A key may be ``RowsFrom``; i then counts on from the rows that come before.

    Block 0 is ``jax.random.bits(key, shape, uint64)`` split into its high and low half; other
    blocks are independent of it, and cheaper than deriving a new key.  The rounds are unrolled so
    that XLA fuses the hash with whatever consumes it.
    """
    key, low, beyond = _counters(key, shape)
    data = jax.random.key_data(key)
    schedule = (data[0], data[1], data[0] ^ data[1] ^ np.uint32(0x1BD11BDA))
    low = low + schedule[1]
    high = jnp.broadcast_to(schedule[0] + (jnp.asarray(block, np.uint32) + beyond), shape)
    for step in range(5):
        for rotation in _ROTATIONS[step % 2]:
            high = high + low
            low = (low << np.uint32(rotation)) | (low >> np.uint32(32 - rotation))
            low = low ^ high
        high = high + schedule[(step + 1) % 3]
        low = low + schedule[(step + 2) % 3] + np.uint32(step + 1)
    return high, low


def _counters(key, shape) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The key proper, i modulo 2^32 for every entry, and what i beyond that adds to the block."""
    size, before = math.prod(shape), 0
    if isinstance(key, RowsFrom):
        before = jnp.asarray(key.first, np.uint64) * math.prod(shape[1:])
        key = key.key
    elif size <= 2**32:
        return key, jax.lax.iota(np.uint32, size).reshape(shape), jnp.uint32(0)
    i = jax.lax.iota(np.uint64, size).reshape(shape) + before
    return key, i.astype(np.uint32), (i >> 32).astype(np.uint32) << _BLOCK_BITS


def uniform_pair(key, shape, dtype, block=0) -> tuple[jax.Array, jax.Array]:
    """Two independent uniforms inside (0, 1), from 2^-33 (float32) or 2^-65 (float64) upwards.

    float32 uses one block, float64 two.
    """
    return tuple(_unit(words, dtype) for words in _words(key, shape, dtype, block))


def normals(key, shape, dtype, block=0) -> jax.Array:
    """Standard normals sqrt(-2 log U) cos(A) by Box and Muller; float32 reaches 6.7 sigma.

    A is uniform on a quarter turn around 0, then one bit exchanges cosine for sine and another
    signs the cosine, which makes it uniform on the circle.  Blocks as in ``uniform_pair``.
    """
    radial, angular = _words(key, shape, dtype, block)
    return _normals(radial, angular, dtype)


def normal_and_uniforms(key, shape, dtype, block=0) -> tuple[jax.Array, jax.Array, jax.Array]:
    """A standard normal and two uniforms an entry, all independent, by one hash of twice the size.

    Blocks as in ``uniform_pair``.
    """
    (radial, u), (angular, u_next) = _words(key, (2, *shape), dtype, block)
    return _normals(radial, angular, dtype), _unit(u, dtype), _unit(u_next, dtype)


def _normals(radial, angular, dtype) -> jax.Array:
    dtype = np.dtype(dtype).type
    radius = jnp.sqrt(dtype(-2) * jnp.log(_unit(radial, dtype)))
    cosine, sine = _quarter_turn(_unit(angular, dtype) - dtype(0.5))
    one, two = angular.dtype.type(1), angular.dtype.type(2)
    cosine = jnp.where(angular & one, cosine, -cosine)
    return radius * jnp.where(angular & two, cosine, sine)


def _words(key, shape, dtype, block):
    """Two independent words an entry, as wide as the dtype."""
    if np.dtype(dtype) == np.float64:
        return _join(*bits_pair(key, shape, block)), _join(*bits_pair(key, shape, block + 1))
    return bits_pair(key, shape, block)


def _join(high, low):
    return (high.astype(np.uint64) << np.uint64(32)) | low


def _unit(word, dtype):
    """(word + 1/2) / 2^bits, kept below 1."""
    dtype = np.dtype(dtype).type
    scale = 0.5 ** np.iinfo(word.dtype).bits
    below_one = dtype(1) - dtype(np.finfo(dtype).epsneg)
    return jnp.minimum(word.astype(dtype) * dtype(scale) + dtype(scale / 2), below_one)


def _quarter_turn(share):
    """cos and sin of (pi/2) share, |share| <= 1/2, by their Taylor series."""
    dtype = share.dtype.type
    terms = 9 if dtype == np.float64 else 5
    x = share * dtype(math.pi / 2)
    cosine = [(-1) ** k / math.factorial(2 * k) for k in range(terms)]
    sine = [(-1) ** k / math.factorial(2 * k + 1) for k in range(terms)]
    return polynomial(cosine, x * x), x * polynomial(sine, x * x)


def polynomial(coefficients, x):
    """sum_k coefficients[k] x^k in the precision of x, paired (Estrin) to keep the chain short."""
    terms = [x.dtype.type(coefficient) for coefficient in coefficients]
    while len(terms) > 1:
        odd = terms[1::2]
        terms = [even + odd[k] * x if k < len(odd) else even for k, even in enumerate(terms[::2])]
        x = x * x
    return terms[0]
