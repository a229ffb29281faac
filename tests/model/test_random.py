"""Random numbers: the bits are JAX's own, the laws are exact to the last bit that is used."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from deepnoise.model import random
from deepnoise.model.marginal import latin_normals

from ..statistics import rejected, two_sided

bits_pair = jax.jit(random.bits_pair, static_argnums=1)
uniform_pair = jax.jit(random.uniform_pair, static_argnums=(1, 2))
normals = jax.jit(random.normals, static_argnums=(1, 2))
polynomial = random.polynomial
DTYPES = [np.float32, np.float64]
SHAPE = (500, 200)


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("shape", [(), (7,), (33, 5), (2, 3, 4)])
def test_bits_are_those_of_jax(key, shape):
    high, low = bits_pair(key, shape)
    expected = jax.random.bits(key, shape, np.uint64)
    np.testing.assert_array_equal((high.astype(np.uint64) << np.uint64(32)) | low, expected)


def test_bits_do_not_depend_on_vmap(key):
    keys = jax.random.split(key, 3)
    batched = jax.vmap(lambda k: bits_pair(k, (4, 5), 2))(keys)
    for i, k in enumerate(keys):
        for ours, alone in zip(batched, bits_pair(k, (4, 5), 2), strict=True):
            np.testing.assert_array_equal(ours[i], alone)


@pytest.mark.parametrize("shape", [(9,), (9, 5), (9, 2, 3)])
def test_rows_have_their_numbers_wherever_a_block_begins(key, shape):
    whole = bits_pair(key, shape)
    block = bits_pair(random.RowsFrom(key, jnp.asarray(4)), (3, *shape[1:]))
    for ours, all_rows in zip(block, whole, strict=True):
        np.testing.assert_array_equal(ours, all_rows[4:7])


def test_numbers_do_not_come_again_after_so_many(key):
    first = (2**32 - 8) // 4
    across = jnp.stack(bits_pair(random.RowsFrom(key, jnp.asarray(first)), (4, 4)))
    again = jnp.stack(bits_pair(key, (2, 4)))
    assert not (across[:, 2:] == again).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_uniforms_stay_inside_and_reach_far_down(dtype):
    word = np.uint64 if dtype == np.float64 else np.uint32
    bits = np.iinfo(word).bits
    u = np.asarray(random._unit(jnp.asarray([0, 1, np.iinfo(word).max], word), dtype))
    assert u.dtype == dtype
    np.testing.assert_allclose(u[:2], [0.5**bits / 2, 1.5 * 0.5**bits], rtol=1e-6)
    assert 1 - np.finfo(dtype).eps <= u[2] < 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_laws(key, dtype):
    u, u2 = (np.asarray(x, float).ravel() for x in uniform_pair(key, SHAPE, dtype))
    other, _ = (np.asarray(x, float).ravel() for x in uniform_pair(key, SHAPE, dtype, block=2))
    x = np.asarray(normals(key, SHAPE, dtype), float).ravel()
    edges = np.array([-np.inf, *np.linspace(-4, 4, 33), np.inf])
    expected = np.diff(scipy.stats.norm.cdf(edges)) * x.size
    counts, _ = np.histogram(x, edges)
    root = np.sqrt(x.size)
    p_values = {
        "u": scipy.stats.kstest(u, "uniform").pvalue,
        "u2": scipy.stats.kstest(u2, "uniform").pvalue,
        "pair": two_sided(np.corrcoef(u, u2)[0, 1] * root),
        "blocks": two_sided(np.corrcoef(u, other)[0, 1] * root),
        "normal": scipy.stats.kstest(x, "norm").pvalue,
        "bins": scipy.stats.chisquare(counts, expected).pvalue,
        "neighbours": two_sided(np.corrcoef(x[:-1], x[1:])[0, 1] * root),
        "neighbours squared": two_sided(np.corrcoef(x[:-1] ** 2, x[1:] ** 2)[0, 1] * root),
    }
    assert not rejected(p_values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_normals_are_box_and_muller_to_rounding(key, dtype):
    x = np.asarray(normals(key, SHAPE, dtype))
    assert x.dtype == dtype
    # Among the four (swap, sign) of one angle, x is radius times +-cos or sin of it.
    words = random._words(key, SHAPE, dtype, 0)
    u, share = (np.asarray(random._unit(word, dtype), float) for word in words)
    radius, angle = np.sqrt(-2 * np.log(u)), (share - 0.5) * np.pi / 2
    candidates = radius * np.stack([np.cos(angle), -np.cos(angle), np.sin(angle)])
    error = np.abs(candidates - x).min(axis=0)
    assert error.max() < 30 * np.finfo(dtype).eps


def test_normals_do_not_depend_on_vmap(key):
    keys = jax.random.split(key, 2)
    batched = jax.vmap(lambda k: normals(k, (20, 30), np.float32))(keys)
    np.testing.assert_allclose(batched[1], normals(keys[1], (20, 30), np.float32), atol=2e-6)


def test_polynomial():
    coefficients = [1.0, -2.0, 0.5, 3.0, 0.25]
    x = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(polynomial(coefficients, x), np.polyval(coefficients[::-1], x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_noises_of_paths_visit_every_range_once(key, dtype):
    paths, width = 16, 300
    noises = np.asarray(latin_normals(key, paths, width, dtype))
    assert noises.shape == (2, paths, 1, width)
    ranges = np.floor(scipy.stats.norm.cdf(noises) * paths)
    np.testing.assert_array_equal(np.sort(ranges, axis=1)[:, :, 0, 0], [np.arange(paths)] * 2)
    assert (np.ptp(np.sort(ranges, axis=1), axis=(0, 2, 3)) == 0).all()


def test_noises_of_a_path_are_standard_normal_and_do_not_hang_together(key):
    """The law of one path alone is that of independent normals, whatever the other paths do."""
    keys = jax.random.split(key, 4000)
    one = np.asarray(jax.jit(jax.vmap(lambda k: latin_normals(k, 3, 4, np.float64)))(keys))[
        :, :, 1, 0
    ]
    flat = one.reshape(len(one), -1)
    p_values = {f"{i}": scipy.stats.kstest(z, "norm").pvalue for i, z in enumerate(flat.T)}
    for i in range(flat.shape[1]):
        for j in range(i):
            z = np.corrcoef(flat[:, i], flat[:, j])[0, 1] * np.sqrt(len(flat))
            p_values[f"{i} {j}"] = two_sided(z)
    assert not rejected(p_values)


def test_sums_over_units_are_nearly_exact(key):
    """Variance of the mean of 64 paths, of a sum over units: independent noises have 1/64 of it."""
    keys = jax.random.split(key, 400)
    means = lambda k: jnp.mean(jnp.tanh(latin_normals(k, 64, 20, np.float64)).sum(-1), axis=1)
    spread = np.asarray(jax.jit(jax.vmap(means))(keys)).var()
    one = np.tanh(scipy.stats.norm.rvs(size=100_000, random_state=0)).var() * 20
    assert spread < one / 64 / 100
