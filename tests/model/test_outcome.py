"""Outcomes seen through a window or a class: laws against the joint density and by quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from deepnoise.model import outcome
from deepnoise.model.network import log_joint, pre_activation
from deepnoise.model.outcome import Choice, Levels, LogitChoice, TruncatedNormal, Window

from ..oracle import ACTIVATIONS, random_model
from ..statistics import ALPHA, rejected, same_law

INF = np.inf


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def seen_of(kind, y):
    """Something that a y (N, 2) agrees with."""
    if kind == "choice":
        return Choice(jnp.argmax(y, axis=1))
    return Window(y - 0.3, jnp.where(y > 0, INF, y + 0.2))


@pytest.mark.parametrize("kind", ["window", "choice"])
def test_ratio_identity(kind, key):
    h = ACTIVATIONS["jumps"]
    state, x, y, prior = random_model(key, (2, 3, 2), h)
    theta, seen = state.theta, seen_of(kind, y)
    mean = pre_activation(state.latents.u[-1], theta.beta[-1], theta.gamma[-1])
    joint = lambda y: log_joint(theta, state.scales, state.latents, x, y, prior, h)
    for k in range(2):
        law = outcome.y_given(k, mean, jnp.diag(1 / theta.tau2[-1]), seen, y)
        new = y.at[:, k].set(law.sample(jax.random.fold_in(key, k)))
        difference = jnp.sum(law.log_prob(new[:, k]) - law.log_prob(y[:, k]))
        np.testing.assert_allclose(difference, joint(new) - joint(y), rtol=1e-8, atol=1e-8)


def test_given_the_others_under_a_covariance(key):
    """The conditional of a bivariate normal, as scipy has it."""
    cov = np.array([[2.0, 0.6], [0.6, 0.5]])
    y, mean = jnp.array([[0.4, -0.7]]), jnp.array([[0.1, 0.2]])
    open_window = Window(jnp.full((1, 2), -INF), jnp.full((1, 2), INF))
    law = outcome.y_given(0, mean, outcome.inverse(jnp.asarray(cov)), open_window, y)
    joint = scipy.stats.multivariate_normal(np.asarray(mean[0]), cov)
    expected = joint.logpdf([1.3, -0.7]) - joint.logpdf([0.4, -0.7])
    got = law.log_prob(jnp.array([1.3])) - law.log_prob(y[:, 0])
    np.testing.assert_allclose(got[0], expected, rtol=1e-10)


def test_inverse(key):
    for size in (1, 2, 5):
        root = jax.random.normal(key, (size, size))
        matrix = root @ root.T + 0.1 * jnp.eye(size)
        np.testing.assert_allclose(outcome.inverse(matrix) @ matrix, np.eye(size), atol=1e-9)


@pytest.mark.parametrize(
    "ends", [(-INF, INF), (-INF, -2.0), (1.0, INF), (0.2, 0.4), (30.0, INF), (-1.0, 300.0)]
)
def test_draws_follow_the_law(ends, key):
    count = 20_000
    full = lambda value: jnp.full(count, value)
    law = TruncatedNormal(full(0.3), full(0.49), full(ends[0]), full(ends[1]))
    draws = np.asarray(law.sample(key))
    assert np.isfinite(draws).all()
    assert (draws >= ends[0]).all()
    assert (draws <= ends[1]).all()
    a, b = ((end - 0.3) / 0.7 for end in ends)
    expected = scipy.stats.truncnorm(a, b, 0.3, 0.7)
    assert scipy.stats.kstest(draws, expected.cdf).pvalue > ALPHA


def test_equal_ends_are_a_point(key):
    law = TruncatedNormal(jnp.zeros(2), jnp.ones(2), jnp.array([1.0, 9.0]), jnp.array([1.0, 9.0]))
    assert law.sample(key).tolist() == [1.0, 9.0]
    assert law.log_prob(jnp.array([1.0, 9.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "ends", [(-INF, INF), (-INF, 0.5), (2.0, INF), (0.1, 0.1), (0.1, 0.11), (40.0, INF)]
)
def test_log_window_and_its_slope(ends, dtype):
    """Mass and gradient against scipy; finite however far and however open."""
    lower, upper = (jnp.asarray(end, dtype) for end in ends)
    value = lambda m, s2: outcome.log_window(m, s2, lower, upper)
    m, s2 = jnp.asarray(0.2, dtype), jnp.asarray(1.7, dtype)
    found, slopes = jax.value_and_grad(value, argnums=(0, 1))(m, s2)

    def exact(m, s2):
        law = scipy.stats.norm(m, np.sqrt(s2))
        if ends[0] == ends[1]:
            return law.logpdf(ends[0])
        low, high = ends
        if low > m:
            low, high, law = 2 * m - high, 2 * m - low, law
        big, small = law.logcdf(high), law.logcdf(low)
        return big + np.log1p(-np.exp(small - big))

    tolerance = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(found, exact(0.2, 1.7), rtol=tolerance, atol=tolerance)
    step = 1e-5
    expected = [
        (exact(0.2 + step, 1.7) - exact(0.2 - step, 1.7)) / (2 * step),
        (exact(0.2, 1.7 + step) - exact(0.2, 1.7 - step)) / (2 * step),
    ]
    np.testing.assert_allclose(slopes, expected, rtol=max(tolerance, 1e-5), atol=1e-4)


@pytest.mark.parametrize("variance", [(1.0, 0.8, 1.3), (0.25, 1.0, 1.0), (1.0, 0.25, 0.5)])
def test_choice_by_quadrature(variance):
    mean, variance = np.array([0.3, -0.5, 1.1]), np.array(variance)
    found = np.exp(outcome.log_choice(jnp.asarray(mean), jnp.asarray(variance)))

    def probability(c):
        others = [j for j in range(3) if j != c]
        law = [scipy.stats.norm(m, np.sqrt(s2)) for m, s2 in zip(mean, variance, strict=True)]
        density = lambda t: law[c].pdf(t) * np.prod([law[j].cdf(t) for j in others])
        return scipy.integrate.quad(density, -12, 12, epsabs=1e-10)[0]

    np.testing.assert_allclose(found, [probability(c) for c in range(3)], atol=1e-6)


def test_logistic_noise_by_quadrature():
    """P(y + ε in the window) for y normal and ε logistic, and the law of ε given y."""
    window = Window(
        jnp.array([[-INF], [0.3], [-0.5], [4.0]]), jnp.array([[0.2], [INF], [0.7], [9.0]])
    )
    mean, variance = jnp.array([[0.4], [-1.0], [2.0], [-3.0]]), jnp.array([0.6])
    found = outcome.log_seen(mean, variance, outcome.Logit(window))
    law = scipy.stats.logistic()
    for n in range(4):
        low, high = float(window.lower[n, 0]), float(window.upper[n, 0])
        normal = scipy.stats.norm(float(mean[n, 0]), np.sqrt(0.6))
        seen = lambda y: normal.pdf(y) * (law.cdf(high - y) - law.cdf(low - y))
        expected = scipy.integrate.quad(seen, -12, 12, epsabs=1e-12)[0]
        np.testing.assert_allclose(np.exp(found[n]), expected, rtol=1e-8)


@pytest.mark.parametrize("sd", [0.05, 1.5, 20.0])
@pytest.mark.parametrize("ends", [(-INF, -1.0), (2.0, INF), (0.3, 0.5), (30.0, INF)])
def test_draws_under_logistic_noise(ends, sd, key):
    mean = jnp.full((20_000, 1), 0.4)
    window = Window(jnp.full(mean.shape, ends[0]), jnp.full(mean.shape, ends[1]))
    draws = np.asarray(outcome.draw_logit(key, mean, sd, window)).ravel()
    y = np.linspace(0.4 - 12 * sd, 0.4 + 12 * sd, 4001)
    one = Window(jnp.asarray(ends[0]), jnp.asarray(ends[1]))
    density = scipy.stats.norm(0.4, sd).logpdf(y) + np.asarray(outcome.log_logit(y, one))
    cdf = scipy.integrate.cumulative_trapezoid(np.exp(density - density.max()), y, initial=0)
    assert scipy.stats.kstest(draws, lambda t: np.interp(t, y, cdf / cdf[-1])).pvalue > ALPHA


def test_utilities_given_a_softmax_choice_keep_their_law(key):
    """y ~ N, c ~ softmax(y): y drawn anew given c has the law of y, for each c by itself."""
    cov = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.2], [0.0, -0.2, 2.0]])
    mean = jnp.broadcast_to(jnp.array([0.4, -0.3, 1.0]), (20_000, 3))

    def simulated(key):
        key_y, key_c = jax.random.split(key)
        y = mean + jax.random.normal(key_y, mean.shape) @ jnp.linalg.cholesky(cov).T
        return y, jax.random.categorical(key_c, y)

    keys = jax.random.split(key, 3)
    (y, chosen), (other, other_chosen) = simulated(keys[0]), simulated(keys[1])
    redraw = lambda y: outcome.redraw(keys[2], mean, outcome.inverse(cov), LogitChoice(chosen), y)
    new = jax.jit(redraw)(y)
    assert np.mean(np.abs(new - y) > 1e-3) > 0.99
    forms = jnp.concatenate([jnp.eye(3), jnp.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])])
    p_values = {
        f"{c} {i}": same_law((new @ form)[chosen == c], (other @ form)[other_chosen == c])
        for c in range(3)
        for i, form in enumerate(forms)
    }
    assert not rejected(p_values)


def test_levels_are_windows_between_the_cuts():
    window = Levels(jnp.array([[0], [1], [2]])).window(jnp.array([0.0, 1.5]))
    assert window.lower.ravel().tolist() == [-INF, 0.0, 1.5]
    assert window.upper.ravel().tolist() == [0.0, 1.5, INF]


@pytest.mark.parametrize("kind", ["window", "choice"])
def test_the_first_guess_agrees_with_what_was_seen(kind, key):
    y = jax.random.normal(key, (50, 2))
    seen = seen_of(kind, y)
    guess = outcome.first_guess(seen, 2, y.dtype)
    if kind == "choice":
        assert (jnp.argmax(guess, axis=1) == seen.chosen).all()
    else:
        assert ((guess >= seen.lower) & (guess <= seen.upper)).all()
