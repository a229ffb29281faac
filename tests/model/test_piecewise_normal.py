"""The law of v: normalised, in the right ratio to the joint, sampled exactly, never NaN."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from deepnoise.model import activation
from deepnoise.model.activation import hard_tanh, relu
from deepnoise.model.piecewise_normal import PiecewiseNormal, merge

from ..statistics import rejected

ACTIVATIONS = {
    "identity": activation.identity,
    "relu": relu,
    "leaky_relu": activation.leaky_relu(0.1),
    "hard_tanh": hard_tanh,
    "jumps": activation.piecewise_linear((0, 2, -1, 0), (-1, 0.5, 0, 1), (-0.5, 0.1, 0.8)),
    "tanh": activation.resolve_activation("tanh"),
}

draw = jax.jit(lambda key, law: law.sample(key))
log_prob = jax.jit(PiecewiseNormal.log_prob)
log_weight = jax.jit(PiecewiseNormal.log_weight)


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=ACTIVATIONS)
def h(request):
    return ACTIVATIONS[request.param]


def random_law(h, shape=(6, 5), dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    m, target = 1.5 * rng.normal(size=(2, *shape))
    tau2, sigma2 = np.exp(1.5 * rng.normal(size=(2, shape[-1])) - 1)
    return PiecewiseNormal(*(jnp.asarray(x, dtype) for x in (m, tau2, target, sigma2)), h)


def log_joint(law, v):
    prior = scipy.stats.norm.logpdf(v, law.m, np.sqrt(law.tau2))
    return prior + scipy.stats.norm.logpdf(law.target, law.h(v), np.sqrt(law.sigma2))


def exact_pieces(law):
    """Weights, centres, scales and standardised ends by the formulas of the theorem."""
    m, tau2, target, sigma2 = (
        np.broadcast_to(np.asarray(x, float), law.shape)
        for x in (law.m, law.tau2, law.target, law.sigma2)
    )
    column = lambda x: np.reshape(x, (-1, *[1] * m.ndim))
    b, b_prime = column(law.h.b), column(law.h.b_prime)
    omega2 = 1 / (1 / tau2 + b**2 / sigma2)
    lam = omega2 * (m / tau2 + b * (target - b_prime) / sigma2)
    low, high = ((column(e) - lam) / np.sqrt(omega2) for e in (law.h.edges[:-1], law.h.edges[1:]))
    low, high = np.where(low > 0, (-high, -low), (low, high))
    rest = scipy.special.log_ndtr(low) - scipy.special.log_ndtr(high)
    log_mass = scipy.special.log_ndtr(high) + np.log1p(-np.exp(rest))
    evidence = scipy.stats.norm.logpdf(target, b * m + b_prime, np.sqrt(sigma2 + b**2 * tau2))
    return scipy.special.softmax(evidence + log_mass, axis=0), lam, np.sqrt(omega2)


def panels(law):
    """Nodes and weights of Gauss-Legendre rules between the cuts and around every centre."""
    spread = np.linspace(-20, 20, 81)
    cuts = [np.broadcast_to(c, (1, *law.shape)) for c in law.h.c]
    around = np.asarray(law.lam() + law.omega() * spread[:, None, None, None])
    ends = np.sort(np.concatenate([around.reshape(-1, *law.shape), *cuts]), axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    nodes = nodes.reshape(-1, 1, 1, 1)
    middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    return middle + half * nodes, half * weights.reshape(-1, 1, 1, 1)


def test_density_integrates_to_one(h):
    law = random_law(h)
    v, weight = panels(law)
    total = (np.exp(log_prob(law, v)) * weight).sum(axis=(0, 1))
    np.testing.assert_allclose(total, 1, rtol=1e-10)


def test_ratio_identity(h):
    law = random_law(h)
    v, v_new = np.random.default_rng(1).normal(size=(2, *law.shape)) * 2
    ratio = np.asarray(log_prob(law, v_new) - log_prob(law, v))
    np.testing.assert_allclose(ratio, log_joint(law, v_new) - log_joint(law, v), atol=1e-8)


def test_pieces_are_those_of_the_theorem(h):
    law = random_law(h)
    weight, lam, omega = exact_pieces(law)
    np.testing.assert_allclose(np.exp(log_weight(law)), weight, atol=1e-12)
    np.testing.assert_allclose(law.lam(), lam, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(law.omega(), omega, rtol=1e-12)


def test_float32_weights(h):
    single = np.exp(log_weight(random_law(h, dtype=np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.exp(log_weight(random_law(h))), atol=3e-5)


def cdf(law, v):
    """P(V <= v) by the formulas of the theorem."""
    weight, lam, omega = exact_pieces(law)
    share = np.zeros(law.shape)
    for j, (c_low, c_high) in enumerate(itertools.pairwise(law.h.edges)):
        ends = np.broadcast_arrays(c_low, np.clip(v, c_low, c_high), c_high)
        z = (np.stack(ends) - lam[j]) / omega[j]
        low, here, high = scipy.special.log_ndtr(z)
        left = (np.exp(here - high) - np.exp(low - high)) / -np.expm1(low - high)
        low, here, high = scipy.special.log_ndtr(-z)
        right = np.expm1(here - low) / np.expm1(high - low)
        share += weight[j] * np.where(z[0] > 0, right, left)
    return share


SETTINGS = {  # m, tau2, target, sigma2
    "balanced": (0.2, 0.5, 0.3, 0.4),
    "noisy": (-1.0, 4.0, 0.5, 2.0),
    "torn": (2.0, 0.3, -0.8, 0.05),
    "at an edge": (1.0, 0.01, 1.0, 0.01),
    "wide": (0.3, 400.0, 0.1, 1.0),
    "sure": (0.5, 1e-4, 0.4, 1e-4),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_follow_the_law(key, h, dtype):
    n, p_values = 4000, {}
    rows = np.array(list(SETTINGS.values()), dtype)
    m, tau2, target, sigma2 = (jnp.asarray(x) for x in rows.T)
    m, target = (jnp.broadcast_to(x, (n, len(SETTINGS))) for x in (m, target))
    law = PiecewiseNormal(m, tau2, target, sigma2, h)
    v = draw(key, law)
    assert v.dtype == dtype
    with np.errstate(invalid="ignore"):
        share = cdf(law, np.asarray(v, float))
    for k, name in enumerate(SETTINGS):
        p_values[name] = scipy.stats.kstest(share[:, k], "uniform").pvalue
    assert not rejected(p_values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes(key, h, dtype):
    variances = [1e-20, 1e-10, 1e-3, 1.0, 1e3, 1e10, 1e20]
    places = [-1e6, -1e3, -1.0, -0.3, 0.0, 1e-6, 0.5, 1.0, 2.0, 1e6]
    grid = np.array(list(itertools.product(places, variances, places, variances)), dtype)
    law = PiecewiseNormal(*(jnp.asarray(x) for x in grid.T), h)
    v = np.asarray(draw(key, law))
    assert np.isfinite(v).all()
    log_pi = np.asarray(log_weight(law))
    assert not np.isnan(log_pi).any()
    np.testing.assert_allclose(np.exp(log_pi).sum(axis=0), 1, rtol=1e-5)
    # A piece that has all the weight is the one drawn, and h sees the same piece, unless the best
    # fit is so bad that the rounding of its energy decides between neighbours.
    _, lowest = law._log_mass()
    piece = (v[..., None] >= np.asarray(h.c, dtype)).sum(axis=-1)
    sure = (np.exp(log_pi.max(axis=0)) > 1 - 1e-6) & (lowest * np.finfo(dtype).eps < 1e-3)
    np.testing.assert_array_equal(piece[sure], log_pi.argmax(axis=0)[sure])


def test_merge_puts_laws_side_by_side(key):
    laws = [random_law(hard_tanh, (4, k), np.float32, seed=k) for k in (2, 3)]
    both = merge(laws)
    assert both.shape == (4, 5)
    v = draw(key, both)
    alone = [log_prob(law, part) for law, part in zip(laws, jnp.split(v, [2], -1), strict=True)]
    np.testing.assert_allclose(log_prob(both, v), jnp.concatenate(alone, -1), rtol=1e-6)
    with pytest.raises(ValueError, match="activation"):
        merge([laws[0], random_law(relu)])


@pytest.mark.parametrize("name", ["hard_tanh", "tanh"])
def test_chains_do_not_disturb_each_other(key, name):
    law = random_law(ACTIVATIONS[name], (20, 5), np.float32)
    keys = jax.random.split(key, 3)
    batched = jax.jit(jax.vmap(law.sample))(keys)
    np.testing.assert_allclose(batched[1], draw(keys[1], law), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["relu", "hard_tanh"])
def test_one_kernel(key, name):
    """The whole sampler is one loop over the entries; a second one would cost twice the time."""
    law = random_law(ACTIVATIONS[name], (30, 20), np.float32)
    compiled = draw.lower(key, law).compile().as_text()
    if jax.default_backend() == "cpu":
        assert compiled[compiled.index("ENTRY") :].count("f32[30,20]{1,0} fusion(") == 1
