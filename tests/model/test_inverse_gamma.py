"""Inverse-gamma law: density, sampler at shapes from 0.001 to 25000, merging, batches of chains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from deepnoise.model.inverse_gamma import VARIANCE_RANGE, InverseGamma, merge

from ..statistics import rejected, two_sided

DTYPES = [np.float32, np.float64]
SHAPES = (0.3, 0.5, 1.0, 1.5, 5.5, 140.0, 25_000.0)

draw = jax.jit(lambda key, law: law.sample(key))


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def test_log_prob():
    a, b, x = np.random.default_rng(0).gamma(2, size=(3, 50))
    expected = scipy.stats.invgamma.logpdf(x, a, scale=b)
    np.testing.assert_allclose(InverseGamma(a, b).log_prob(x), expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_draws_follow_the_law(key, dtype):
    n = 4000
    a = jnp.asarray(SHAPES, dtype)
    b = jnp.asarray(np.broadcast_to(np.linspace(0.5, 5, len(SHAPES)), (n, len(SHAPES))), dtype)
    x = draw(key, InverseGamma(a, b))
    assert x.dtype == dtype
    laws = [scipy.stats.invgamma(s, scale=float(b[0, k])) for k, s in enumerate(SHAPES)]
    p_values = {
        f"shape {s}": scipy.stats.kstest(np.asarray(x[:, k], float), laws[k].cdf).pvalue
        for k, s in enumerate(SHAPES)
    }
    assert not rejected(p_values)


def test_tiny_shapes_end_in_the_range(key):
    """With a = 0.001 nearly all of the mass lies beyond the range; the rest is right in law."""
    n, a = 20_000, 0.001
    x = np.asarray(draw(key, InverseGamma(a, jnp.full(n, 1e-3, np.float32))), float)
    low, high = VARIANCE_RANGE
    assert low * (1 - 1e-6) <= x.min()
    assert x.max() <= high * (1 + 1e-6)
    p_values = {}
    for level in (1e-2, 1.0, 1e10, 1e19):
        p = scipy.stats.invgamma.cdf(level, a, scale=1e-3)
        z = ((x <= level).mean() - p) / np.sqrt(p * (1 - p) / n)
        p_values[f"below {level}"] = two_sided(z)
    assert not rejected(p_values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_are_finite(key, dtype):
    a, b = np.meshgrid([1e-3, 0.5, 1.0, 1e3, 1e7], [1e-30, 1e-20, 1e-3, 1.0, 1e20, 1e30])
    x = np.asarray(draw(key, InverseGamma(a.astype(dtype), b.astype(dtype))))
    assert np.isfinite(x).all()
    assert (x > 0).all()


def test_chains_keep_their_numbers_in_a_batch(key):
    law = InverseGamma(jnp.float32(1.0), jnp.ones(300, np.float32))
    keys = jax.random.split(key, 6)
    batched = jax.jit(jax.vmap(law.sample))(keys)
    alone = jnp.stack([draw(k, law) for k in keys])
    np.testing.assert_allclose(batched, alone, rtol=1e-6)


def test_updated_by_residuals():
    law = InverseGamma(2.0, 3.0).updated(10, 8.0)
    assert (law.a, law.b) == (7.0, 7.0)


def test_merge_flattens():
    laws = [InverseGamma(1.5, jnp.ones((2, 3))), InverseGamma(jnp.full(4, 2.0), jnp.arange(4.0))]
    both = merge(laws)
    np.testing.assert_allclose(both.a, [1.5] * 6 + [2.0] * 4)
    np.testing.assert_allclose(both.b, [1.0] * 6 + [0.0, 1.0, 2.0, 3.0])
