"""Truncated normals against mpmath, to 300 sigma and beyond, in both dtypes."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deepnoise.model import truncnorm
from deepnoise.model.random import uniform_pair

from ..statistics import rejected

DTYPES = [np.float32, np.float64]
mp.mp.dps = 50
log_ndtr = jax.jit(truncnorm.log_ndtr)
log_mass = jax.jit(truncnorm.log_mass)
truncated_normal = jax.jit(truncnorm.truncated_normal)
interval, offset = jax.jit(truncnorm.interval), jax.jit(truncnorm.offset)


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def survival(t):
    """Phi(-t), exactly; beyond 60 by its asymptotic series."""
    t = mp.mpf(float(t)) if not isinstance(t, mp.mpf) else t
    if mp.isinf(t):
        return mp.mpf(0 if t > 0 else 1)
    if t < 60:
        return mp.erfc(t / mp.sqrt(2)) / 2
    total = term = mp.mpf(1)
    for k in range(40):
        term *= -(2 * k + 1) / (t * t)
        total += term
    return total * mp.npdf(t) / t


def exact_log_mass(a, b):
    a, b = mp.mpf(float(a)), mp.mpf(float(b))
    if a + b < 0:
        a, b = -b, -a
    return float(mp.log(survival(a) - survival(b)))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 5e-7), (np.float64, 3e-15)])
def test_log_ndtr(dtype, tolerance):
    left = -np.concatenate([np.geomspace(1e-3, 1e4, 120), np.linspace(0, 4, 60)]).astype(dtype)
    exact = np.array([float(mp.log(survival(-x))) for x in left])
    np.testing.assert_allclose(log_ndtr(jnp.asarray(left)), exact, rtol=tolerance)
    right = np.linspace(0, 8, 100).astype(dtype)
    exact = np.array([float(mp.log1p(-survival(x))) for x in right])
    np.testing.assert_allclose(log_ndtr(jnp.asarray(right)), exact, rtol=20 * tolerance)
    ends = log_ndtr(jnp.asarray([-np.inf, np.inf], dtype))
    np.testing.assert_array_equal(ends, [-np.inf, 0])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 2e-14)])
def test_log_mass(dtype, tolerance):
    rng = np.random.default_rng(0)
    a = (rng.choice([0, 0.1, 1, 5, 30, 300], 600) * rng.normal(size=600)).astype(dtype)
    b = (a + 10 ** rng.uniform(-5, 3, 600)).astype(dtype)
    a[:40], b[40:80] = -np.inf, np.inf
    a, b = a[a < b], b[a < b]
    exact = np.array([exact_log_mass(*ends) for ends in zip(a, b, strict=True)])
    error = np.abs(np.asarray(log_mass(jnp.asarray(a), jnp.asarray(b)), float) - exact)
    assert (error / np.maximum(np.abs(exact), 1)).max() < tolerance


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 4e-5), (np.float64, 1e-10)])
def test_the_offset_inverts_the_law(dtype, tolerance):
    """P(Y > y) = u for a Y in the interval, at widths down to 1e-30 and depths to 1000."""
    rng = np.random.default_rng(1)
    n = 1000
    t = np.where(rng.random(n) < 0.5, rng.uniform(-6, 6, n), 10 ** rng.uniform(-1, 3, n))
    w = np.where(rng.random(n) < 0.3, np.inf, 10 ** rng.uniform(-30, 3, n))
    t, w = t.astype(dtype), np.maximum(w, -2.001 * t).astype(dtype)
    u = np.where(rng.random(n) < 0.2, 10 ** rng.uniform(-9, 0, n), rng.random(n)).astype(dtype)
    piece = interval(jnp.asarray(t), jnp.asarray(w))
    start = np.where(piece.straddles, dtype(0), t)
    distance = np.asarray(offset(jnp.asarray(u), piece))
    for row in zip(t, w, start, distance, u, strict=True):
        near, width, base, step, share = (mp.mpf(float(x)) for x in row)
        far = survival(near + width)
        found = (survival(min(base + step, near + width)) - far) / (survival(near) - far)
        assert abs(found - share) < tolerance, row


INTERVALS = {
    "whole line": (-np.inf, np.inf),
    "half line": (0.5, np.inf),
    "left half line": (-np.inf, 2.0),
    "middle": (-1.0, 2.5),
    "just off centre": (-0.1, 0.3),
    "narrow": (1.25, 1.2501),
    "right tail": (8.0, 9.0),
    "left tail": (-40.0, -30.0),
    "far tail": (300.0, np.inf),
    "far and narrow": (-300.0, -299.99),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_draws_follow_the_law(key, dtype):
    n, p_values = 1000, {}
    for i, (name, (a, b)) in enumerate(INTERVALS.items()):
        a, b = dtype(a), dtype(b)
        u, _ = uniform_pair(jax.random.fold_in(key, i), (n,), dtype)
        x = np.asarray(truncated_normal(u, jnp.asarray(a), jnp.asarray(b)))
        assert x.dtype == dtype
        mirror = abs(b) < abs(a)
        low, high = (-b, -a) if mirror else (a, b)
        top, bottom = survival(low), survival(high)
        cdf = [float((top - survival(y)) / (top - bottom)) for y in (-x if mirror else x)]
        p_values[name] = scipy.stats.kstest(cdf, "uniform").pvalue
    assert not rejected(p_values)


sides = st.sampled_from([-1.0, 1.0])
logs = st.floats(-30, 6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_finite_and_inside_anywhere(dtype):
    lowest, highest = 0.5**33 if dtype == np.float32 else 0.5**65, 1 - np.finfo(dtype).epsneg

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @example(-1.0, -30.0, np.inf, 0.5)
    @example(1.0, 4.0, -30.0, 1.0)
    @given(sides, logs, st.one_of(logs, st.just(np.inf)), st.floats(0, 1))
    def check(side, log_a, log_width, u):
        a = dtype(side * 10.0**log_a)
        b = max(dtype(a + 10.0**log_width), np.nextafter(a, dtype(np.inf)))
        for low, high in ((a, b), (-b, -a)):
            x = truncated_normal(dtype(np.clip(u, lowest, highest)), low, high)
            mass = log_mass(low, high)
            assert np.isfinite(x)
            assert low <= x <= high
            assert not np.isnan(mass)
            assert mass <= 0

    check()


def test_one_kernel():
    """XLA fuses a whole draw; a value stored on the way would split it and cost twice the time."""
    shape = jax.ShapeDtypeStruct((64, 64), np.float32)
    compiled = truncated_normal.lower(shape, shape, shape).compile().as_text()
    if jax.default_backend() == "cpu":
        assert compiled[compiled.index("ENTRY") :].count(" fusion(") == 1
    assert truncnorm.at_least(np.float32(1)) == 1
