"""v of a layer drawn by a Pallas kernel on Triton, for hard tanh: for ``pallas_v.py``.

Random words are made inside, by Philox: they would be 8 of 20 bytes an entry, and cost 30 of 260
instructions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.experimental.pallas.triton as triton
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl

from deepnoise.model import truncnorm
from deepnoise.model.network import pre_activation

ON_CPU = jax.default_backend() == "cpu"
LOG2_E, LN_2, ROOT = math.log2(math.e), math.log(2), math.sqrt(2 * math.pi)


class Operations(NamedTuple):
    """What a kernel does by single instructions."""

    exp2: Callable = jnp.exp2
    log2: Callable = jnp.log2
    inverse: Callable = lambda x: 1 / x
    root: Callable = jnp.sqrt


def instruction(name: str) -> Callable:
    def f(x):
        out = [jax.ShapeDtypeStruct(x.shape, x.dtype)]
        code = f"{name}.approx.ftz.f32 $0, $1;"
        given = {"args": [x], "constraints": "=f,f", "pack": 1, "result_shape_dtypes": out}
        return triton.elementwise_inline_asm(code, **given)[0]

    return f


PLAIN = Operations()
FAST = PLAIN if ON_CPU else Operations(*map(instruction, ("ex2", "lg2", "rcp", "sqrt")))


# The draw


class Units(NamedTuple):
    """What all rows of a unit share; lambda = of_m m + of_u u_next, omega^2 its variance."""

    tau: jax.Array
    inverse_tau: jax.Array
    omega: jax.Array
    inverse_omega: jax.Array
    of_m: jax.Array
    of_u: jax.Array
    fall: jax.Array


def units_of(tau2, sigma2) -> Units:
    omega2 = 1 / (1 / tau2 + 1 / sigma2)
    tau, omega = jnp.sqrt(tau2), jnp.sqrt(omega2)
    shares = omega2 / tau2, omega2 / sigma2
    return Units(tau, 1 / tau, omega, 1 / omega, *shares, 2 * LOG2_E / omega2)


def draw(m, u_next, units: Units, u_piece, u, do: Operations):
    """The draw that ``PiecewiseNormal`` makes of the same uniforms, for hard tanh.

    Signs are turned so that lambda <= 0: then -1 is the end of the middle piece near lambda.  A
    piece at distance t > 0 from its centre, in its standard deviation s, has the mass s R(t), and
    one that holds its centre s (sqrt(2 pi) exp(t^2/2) - R(-t)), in units of the density at -1.
    That at 1 is exp(-2 |lambda| / omega^2), since h is continuous, so u_next enters by lambda only.
    """
    lam = units.of_m * m + units.of_u * u_next
    turned, size = lam > 0, jnp.abs(lam)
    centre = jnp.where(turned, -m, m)
    t_mid = (size - 1) * units.inverse_omega
    t_near = (centre + 1) * units.inverse_tau
    t_far = (1 - centre) * units.inverse_tau
    ratio_mid, ratio_near, ratio_far = (mills(abs(t), do) for t in (t_mid, t_near, t_far))
    fall = size * units.fall
    at_one = do.exp2(-fall)
    beyond = at_one * mills(t_mid + 2 * units.inverse_omega, do)

    # Masses, in units of the largest density of all pieces.
    rise_mid, rise_near, rise_far = rise(t_mid), rise(t_near), rise(t_far) - fall
    highest = jnp.maximum(jnp.maximum(rise_near, rise_mid), rise_far)
    edge = do.exp2(-highest)
    # Of the two outer pieces, at most one holds its centre.
    top_outer = ROOT * do.exp2(jnp.where(t_far < 0, rise_far, rise_near) - highest)
    top_mid = ROOT * do.exp2(rise_mid - highest)
    near, mid, far = ratio_near * edge, ratio_mid * edge, ratio_far * at_one * edge
    near = units.tau * jnp.where(t_near < 0, top_outer - near, near)
    far = units.tau * jnp.where(t_far < 0, top_outer - far, far)
    mid = jnp.where(t_mid < 0, top_mid - mid, mid) - beyond * edge
    mid = units.omega * jnp.maximum(mid, 0)

    first = jnp.where(turned, far, near)
    place = u_piece * (near + mid + far)
    is_first = place < first
    is_mid = ~is_first & (place < first + mid)
    is_near = is_first != turned
    t = jnp.where(is_mid, t_mid, jnp.where(is_near, t_near, t_far))
    ratio = jnp.where(is_mid, ratio_mid, jnp.where(is_near, ratio_near, ratio_far))
    beyond = jnp.where(is_mid, beyond, 0)
    scale = jnp.where(is_mid, units.omega, jnp.where(is_near, -units.tau, units.tau))
    start = jnp.where(is_mid | is_near, jnp.full_like(t, -1), 1)
    start = jnp.where(t < 0, jnp.where(is_mid, -size, centre), start)
    v = start + scale * distance(t, ratio, beyond, u, do)
    v = jnp.where(is_mid, jnp.minimum(jnp.maximum(v, -1), 1), v)
    return jnp.where(turned, -v, v)


def rise(t):
    """log2 exp(t^2 / 2) for t < 0: how much denser the centre is than the end."""
    t = jnp.minimum(t, 0)
    return (0.5 * LOG2_E) * t * t


def distance(t, ratio, beyond, u, do: Operations):
    """As ``truncnorm.offset``: from the centre where t < 0, from the near end elsewhere.

    A decay that is off by a rounding of 1 moves a draw by less than 1e-7 of its scale, so neither
    small masses nor small decays get a form of their own.
    """
    straddles = t < 0
    at_end = do.exp2(-rise(t))
    near, beyond = ratio * at_end, beyond * at_end
    mass = jnp.where(straddles, ROOT - near, near) - beyond
    after_it, before_it = beyond + u * mass, near + (1 - u) * mass
    hazard = do.inverse(ratio)
    kept = jnp.minimum(after_it, before_it) * (2 / ROOT)
    kept = jnp.where(straddles, kept, after_it * hazard)
    hazard = jnp.where(straddles, jnp.full_like(t, 2 / ROOT), hazard)
    t = jnp.maximum(t, 0)
    decay = jnp.maximum(-LN_2 * do.log2(kept), 0)

    # As ``truncnorm._invert``.
    k = jnp.minimum(jnp.maximum(hazard * (hazard - t), 0.6), 1)
    k = k + (1 - k) * decay * do.inverse(decay + 13)
    d = 2 * decay * do.inverse(hazard + do.root(hazard * hazard + 2 * k * decay))
    ratio = mills(t + d, do)
    g = do.inverse(ratio)
    e = ratio * (decay - d * (t + 0.5 * d) + LN_2 * do.log2(hazard * ratio))
    y = jnp.minimum(jnp.maximum(g - (t + d), 0), 1)
    third = 0.5 * y * y - (1 / 6) * (y * (g + y) - 1)
    d = jnp.maximum(d + e * (1 - e * (0.5 * y - e * third)), 0)
    return jnp.where(straddles & (after_it > before_it), -d, d)


def mills(t, do: Operations):
    """R(t) = Phi(-t) / phi(t), t >= 0, by the package's polynomial."""
    c, coefficients = truncnorm._MILLS[np.dtype(np.float32)]
    s = do.inverse(1 + c * t)
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * s + coefficient
    return s * value


def philox(low, high, key):
    """Philox-2x32-10 (Salmon and others, 2011): two uint32 words for each counter."""
    for _ in range(10):
        product = low.astype(jnp.uint64) * np.uint64(0xD256D193)
        low = (product >> np.uint64(32)).astype(jnp.uint32) ^ key ^ high
        high = product.astype(jnp.uint32)
        key = key + np.uint32(0x9E3779B9)
    return low, high


def uniforms(entry, words):
    """Two uniforms in (0, 1) for each entry of a layer, as ``uniform_pair`` makes them of words."""
    given = entry.astype(jnp.uint32), jnp.full(entry.shape, words[0])
    made = (word.astype(jnp.float32) for word in philox(*given, words[1]))
    return tuple(jnp.minimum(word * 2**-32 + 2**-33, 1 - 2**-24) for word in made)


# The kernel


@dataclass(frozen=True)
class Tile:
    """A program of the kernel: ``rows`` of a tile, ``steps`` tiles one after the other.

    With m outside, by the library's product, a tile is as wide as the layers that fill 256 columns
    best: 5 rows of 50 units.  Inside, it has the columns of one row.
    """

    m: str
    rows: int
    steps: int
    warps: int

    def __str__(self) -> str:
        return f"m {self.m}, {self.rows} x {self.steps} rows, {self.warps} warps"

    def columns(self, K: int) -> tuple[int, int]:
        """How many of them are used, and how many there are: a power of two."""
        used = K * max(1, 256 // K) if self.m == "outside" else K
        return used, padded(used)


def padded(n: int) -> int:
    """A power of two, at least the 16 that a product of Triton needs."""
    return max(16, 1 << (n - 1).bit_length())


PRECISION = {"ieee": lax.Precision.HIGHEST, "tf32x3": lax.DotAlgorithmPreset.TF32_TF32_F32_X3}
if ON_CPU:
    PRECISION["tf32x3"] = lax.Precision.HIGHEST


def kernel(words, table, u_next, *refs, tile: Tile, used: int, size: int, before: int):
    """``refs``: m, or u and beta'; arrays that the outputs overwrite, if any; v and the sums."""
    *given, v, sums = refs
    width, row_count = table.shape[1], size // used
    iota = partial(lax.broadcasted_iota, jnp.int32)
    row, column = (iota((tile.rows, width), axis) for axis in (0, 1))
    *units, gamma = (table[i][None] for i in range(8))
    words = words[0], words[1]
    start = pl.program_id(0) * (tile.steps * tile.rows)

    def make_m(first, entry, inside):
        if tile.m == "outside":
            return triton.load(given[0].at[entry], mask=inside, other=0.0)
        shape = tile.rows, given[1].shape[0]
        at, unit = first + iota(shape, 0), iota(shape, 1)
        there = (unit < before) & (at < row_count)
        u = triton.load(given[0].at[at * before + unit], mask=there, other=0.0)
        return lax.dot(u, given[1][:, :], precision=PRECISION[tile.m]) + gamma

    def step(i, found):
        first = start + lax.convert_element_type(i, jnp.int32) * tile.rows
        entry = (first + row) * used + column
        inside = (column < used) & (entry < size)
        m = make_m(first, entry, inside)
        target = triton.load(u_next.at[entry], mask=inside, other=0.0)
        new = draw(m, target, Units(*units), *uniforms(entry, words), FAST)
        triton.store(v.at[entry], new, mask=inside)
        misses = new - m, target - jnp.minimum(jnp.maximum(new, -1), 1)
        return tuple(s + jnp.where(inside, x * x, 0) for s, x in zip(found, misses, strict=True))

    zero = jnp.zeros((tile.rows, width), jnp.float32)
    for i, found in enumerate(lax.fori_loop(0, tile.steps, step, (zero, zero))):
        sums[i] = jnp.sum(found, axis=0)


def layer(tile: Tile, words, u, u_next, beta, gamma, tau2, sigma2, poison: bool = False):
    """v of a layer, |v - m|^2 and |u_next - h(v)|^2 a unit, of one chain; float32 but the sums."""
    K, before = beta.shape
    used, width = tile.columns(K)
    programs = pl.cdiv(u_next.size, used * tile.rows * tile.steps)
    table = jnp.tile(jnp.stack([*units_of(tau2, sigma2), gamma]), (1, used // K))
    table = jnp.pad(table, ((0, 0), (0, width - used)), constant_values=1)
    if tile.m == "outside":
        given = [pre_activation(u, beta, gamma).reshape(-1)]
    else:
        spare = (0, padded(before) - before), (0, width - K)
        given = [u.reshape(-1), jnp.pad(beta.T, spare)]
    shapes = (u_next.size,), (programs, 2, width)
    out = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    given = [words, table, u_next.reshape(-1), *given]
    aliases = {}
    if poison:
        aliases = {len(given): 0, len(given) + 1: 1}
        given += [jnp.full(shape, jnp.nan, jnp.float32) for shape in shapes]
    v, sums = pl.pallas_call(
        partial(kernel, tile=tile, used=used, size=u_next.size, before=before),
        grid=(programs,),
        in_specs=[pl.BlockSpec()] * len(given),
        out_specs=[pl.BlockSpec(), pl.BlockSpec((None, 2, width), lambda i: (i, 0, 0))],
        out_shape=out,
        input_output_aliases=aliases,
        compiler_params=triton.CompilerParams(num_warps=tile.warps, num_stages=1),
        interpret=ON_CPU,
    )(*given)
    sums = jnp.sum(sums, axis=0, dtype=float)[:, :used].reshape(2, -1, K).sum(axis=1)
    return v.reshape(u_next.shape), sums
