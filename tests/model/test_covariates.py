"""The law of the inputs and of their missing entries: ratio identities, limits, known answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from deepnoise.model import covariates
from deepnoise.model.covariates import InputLaw, draw_missing, fill, input_prior, inputs_given
from deepnoise.model.network import log_joint

from ..oracle import ACTIVATIONS, WIDTHS, random_model
from ..statistics import ALPHA, rejected, two_sided


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def random_law(key, columns) -> InputLaw:
    return input_prior(columns).sample(key)


@pytest.mark.parametrize("widths", ["L0", "L2"])
def test_ratio_identity_of_missing_entries(widths, key):
    h = ACTIVATIONS["jumps"]
    state, x, y, prior = random_model(key, WIDTHS[widths], h)
    theta, law = state.theta, random_law(key, x.shape[1])
    mask = jnp.arange(x.size).reshape(x.shape) % 3 != 0
    v0 = state.latents.clamp(x, y)[0][0]
    given = covariates.x_given(x, mask, law, theta.beta[0], theta.gamma[0], theta.tau2[0], v0)

    def joint(x):
        network = log_joint(theta, state.scales, state.latents, x, y, prior, h)
        return network + jnp.sum(law.log_prob(x))

    new = jnp.where(mask, x + jax.random.normal(key, x.shape), x)
    apart = lambda x: jnp.where(mask, x - law.mu, 0)
    got = jnp.sum(given.log_prob(apart(new)) - given.log_prob(apart(x)))
    np.testing.assert_allclose(got, joint(new) - joint(x), rtol=1e-8, atol=1e-8)


def test_ratio_identity_of_the_input_law(key):
    x = jax.random.normal(key, (7, 3))
    prior = input_prior(3)
    a, b = (random_law(jax.random.fold_in(key, i), 3) for i in range(2))
    law = inputs_given(x, prior)
    joint = lambda value: prior.log_prob(value) + jnp.sum(value.log_prob(x))
    got = law.log_prob(a) - law.log_prob(b)
    np.testing.assert_allclose(got, joint(a) - joint(b), rtol=1e-8, atol=1e-8)


def test_wishart_draws_have_the_law_of_scipy(key):
    law = inputs_given(jax.random.normal(key, (6, 2)) @ jnp.array([[1.0, 0.4], [0.0, 0.7]]),
                       input_prior(2))  # fmt: skip
    draws = jax.lax.map(law.sample, jax.random.split(key, 20_000))
    reference = scipy.stats.wishart(float(law.nu), np.linalg.inv(law.scale)).rvs(20_000, 1)
    # Of a quadratic form of a Wishart matrix a'Λa / a'S⁻¹a is χ² with ν degrees.
    a = np.array([0.3, -1.2])
    form = np.einsum("i,nij,j->n", a, np.asarray(draws.precision), a)
    scale = a @ np.linalg.inv(law.scale) @ a
    root = np.linalg.cholesky(np.asarray(draws.precision) * float(law.kappa))
    z = np.einsum("nij,ni->nj", root, np.asarray(draws.mu - law.mean))
    p_values = {
        "form": scipy.stats.kstest(form / scale, scipy.stats.chi2(float(law.nu)).cdf).pvalue,
        "determinant": scipy.stats.ks_2samp(
            np.linalg.det(draws.precision), np.linalg.det(reference)
        ).pvalue,
        "mu 0": scipy.stats.kstest(z[:, 0], "norm").pvalue,
        "mu 1": scipy.stats.kstest(z[:, 1], "norm").pvalue,
    }
    assert not rejected(p_values)


def test_log_prob_is_that_of_a_normal(key):
    law = random_law(key, 3)
    x = np.asarray(jax.random.normal(key, (4, 3)))
    expected = scipy.stats.multivariate_normal(
        np.asarray(law.mu), np.linalg.inv(law.precision)
    ).logpdf(x)
    np.testing.assert_allclose(law.log_prob(x), expected, rtol=1e-9)


def test_draws_given_the_observed_entries(key):
    """The textbook conditional of a normal."""
    law = random_law(key, 3)
    cov = np.linalg.inv(law.precision)
    x = jnp.array([[0.7, 0.0, -0.4]])
    mask = jnp.array([[False, True, False]])
    draws = np.asarray(draw_missing(key, 20_000, x, mask, law))[:, 0]
    assert (draws[:, [0, 2]] == [0.7, -0.4]).all()
    seen = [0, 2]
    gain = cov[1, seen] @ np.linalg.inv(cov[np.ix_(seen, seen)])
    mean = law.mu[1] + gain @ (np.array([0.7, -0.4]) - np.asarray(law.mu)[seen])
    sd = np.sqrt(cov[1, 1] - gain @ cov[seen, 1])
    assert scipy.stats.kstest(draws[:, 1], scipy.stats.norm(mean, sd).cdf).pvalue > ALPHA


def test_all_missing_is_the_law_itself(key):
    law = random_law(key, 2)
    x = fill(key, 20_000, jnp.full((1, 2), jnp.nan), law)[:, 0]
    error = np.sqrt(np.diag(np.linalg.inv(law.precision)) / len(x))
    z = (np.mean(x, axis=0) - law.mu) / error
    assert not rejected({str(j): two_sided(float(value)) for j, value in enumerate(z)})


def test_rows_do_not_depend_on_their_neighbours_nor_on_blocks(key, monkeypatch):
    law = random_law(key, 3)
    x = jax.random.normal(key, (5, 3)).at[jnp.arange(4), jnp.arange(4) % 3].set(jnp.nan)
    whole = fill(key, 2, x, law)
    np.testing.assert_allclose(fill(key, 2, x[2:3], law)[:, 0], whole[:, 2], rtol=1e-12)
    monkeypatch.setattr(covariates, "BLOCK_VALUES", 18)
    np.testing.assert_allclose(fill(key, 2, x, law), whole, rtol=1e-12)


def test_collinear_and_constant_columns(key):
    x = jax.random.normal(key, (50, 1)) * jnp.array([1.0, 1.0, 0.0])
    law = inputs_given(x, input_prior(3)).sample(key)
    row = jnp.array([[jnp.nan, 0.5, 0.0]])
    assert np.isfinite(fill(key, 10, row, law)).all()
    np.testing.assert_allclose(fill(key, 200, row, law)[..., 0].mean(), 0.5, atol=0.2)
