"""The simulator, the prior and the joint density describe one model."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from jax.flatten_util import ravel_pytree

from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh, leaky_relu
from deepnoise.model.network import Latents, Scales, Theta, log_joint, sample_prior, simulate

from ..oracle import proper_prior
from ..statistics import mean_is_zero, rejected, same_law

WIDTHS = {"L0": (2, 1), "L1": (1, 2, 2), "L2": (2, 2, 1, 1)}
DRAWS = 20_000


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


def joint_draw(key, widths, x, h):
    key_theta, key_rows = jax.random.split(key)
    theta, scales = sample_prior(key_theta, proper_prior(widths), widths, float)
    return (theta, scales, *simulate(key_rows, theta, x, h))


@partial(jax.jit, static_argnums=(1, 2))
def prior_draw(key, widths, dtype):
    return sample_prior(key, proper_prior(widths, dtype), widths, dtype)


def logs(tree):
    return jax.tree.map(jnp.log, tree)


def unlogs(tree):
    return jax.tree.map(jnp.exp, tree)


@pytest.mark.parametrize("h", [hard_tanh, leaky_relu(0.3)], ids=["hard_tanh", "leaky_relu"])
@pytest.mark.parametrize("widths", WIDTHS)
def test_score_identities(widths, h, key):
    """E[∂ log p / ∂z_i] = 0 and E[z_i ∂ log p / ∂z_i] = -1 for every coordinate of the joint.

    Variances are logs, with their Jacobian; where simulate and log_joint disagree, one fails.
    """
    widths = WIDTHS[widths]
    x, prior = jnp.linspace(-1, 1, 3 * widths[0]).reshape(3, -1), proper_prior(widths)

    def one(key):
        theta, scales, latents, y = joint_draw(key, widths, x, h)
        z = theta.beta, theta.gamma, logs((theta.tau2, theta.sigma2)), logs(scales), latents, y

        def log_p(z):
            beta, gamma, log_noise, log_scales, latents, y = z
            theta = Theta(beta, gamma, *unlogs(log_noise))
            jacobian = sum(map(jnp.sum, jax.tree.leaves((log_noise, log_scales))))
            return log_joint(theta, unlogs(log_scales), latents, x, y, prior, h) + jacobian

        return ravel_pytree(z)[0], ravel_pytree(jax.grad(log_p)(z))[0]

    z, score = map(np.asarray, jax.jit(jax.vmap(one))(jax.random.split(key, DRAWS)))
    p_values = {}
    for i in range(z.shape[1]):
        p_values[f"score {i}"] = mean_is_zero(score[:, i])
        p_values[f"virial {i}"] = mean_is_zero(z[:, i] * score[:, i] + 1)
    assert not rejected(p_values)


def test_the_score_identities_see_a_wrong_density(key):
    """The same check fails when the density has σ² of another layer: it has power."""
    widths, h = (2, 2, 2, 1), hard_tanh
    x, prior = jnp.linspace(-1, 1, 6).reshape(3, 2), proper_prior(widths)

    def one(key):
        theta, scales, latents, y = joint_draw(key, widths, x, h)

        def wrong(u):
            swapped = Theta(theta.beta, theta.gamma, theta.tau2, theta.sigma2[::-1])
            return log_joint(swapped, scales, Latents(latents.v, u), x, y, prior, h)

        return ravel_pytree(latents.u)[0] * ravel_pytree(jax.grad(wrong)(latents.u))[0] + 1

    values = np.asarray(jax.jit(jax.vmap(one))(jax.random.split(key, DRAWS)))
    assert rejected({str(i): mean_is_zero(values[:, i]) for i in range(values.shape[1])})


def test_prior_draws_have_their_laws(key):
    """Variances are inverse-gamma; weights, with ρ² integrated, Student-t."""
    widths = (2, 3, 1)
    prior = proper_prior(widths)
    draw = jax.jit(jax.vmap(lambda key: sample_prior(key, prior, widths, float)))
    theta, scales = draw(jax.random.split(key, DRAWS))
    p_values = {}
    for l in range(2):
        pairs = [
            ("tau2", theta.tau2[l], prior.preact[l]),
            ("rho2", scales.rho2[l], prior.weight[l]),
            ("xi2", scales.xi2[l], prior.bias[l]),
        ]
        if l == 0:
            pairs.append(("sigma2", theta.sigma2[l], prior.postact[l]))
        for name, values, law in pairs:
            p_values |= ks(f"{name}[{l}]", values, scipy.stats.invgamma(law.a, scale=law.b))
        for name, values, law in (
            ("beta", theta.beta[l], prior.weight[l]),
            ("gamma", theta.gamma[l], prior.bias[l]),
        ):
            student = scipy.stats.t(2 * law.a, scale=np.sqrt(law.b / law.a))
            p_values |= ks(f"{name}[{l}]", values, student)
    assert not rejected(p_values)


def ks(name, values, law) -> dict[str, float]:
    columns = np.asarray(values).reshape(len(values), -1).T
    return {f"{name} {i}": scipy.stats.kstest(c, law.cdf).pvalue for i, c in enumerate(columns)}


def test_entries_of_a_prior_draw_are_independent(key):
    """No two entries, layers or kinds share their random bits."""
    widths = (2, 2, 2)
    prior = proper_prior(widths)
    draw = jax.jit(jax.vmap(lambda key: sample_prior(key, prior, widths, float)))
    theta, scales = draw(jax.random.split(key, DRAWS))
    variances = (theta.tau2, theta.sigma2, scales.rho2, scales.xi2)
    weights = [b / jnp.sqrt(r) for b, r in zip(theta.beta, scales.rho2, strict=True)]
    parts = [*jax.tree.leaves(variances), *weights]
    columns = np.column_stack([np.asarray(a).reshape(DRAWS, -1) for a in parts])
    ranks = np.argsort(np.argsort(columns, axis=0), axis=0) / DRAWS - 0.5
    size = columns.shape[1]
    pairs = [(i, j) for i in range(size) for j in range(i)]
    assert not rejected({f"{i}, {j}": mean_is_zero(ranks[:, i] * ranks[:, j]) for i, j in pairs})


def test_simulation_of_rows_does_not_depend_on_their_place(key):
    """Equal rows have equal laws, and independent noise."""
    widths, h = (1, 2, 1), hard_tanh
    theta = prior_draw(key, widths, float)[0]
    x = jnp.full((2 * DRAWS, 1), 0.7)
    y = np.asarray(jax.jit(simulate, static_argnums=3)(key, theta, x, h)[1][:, 0])
    first, second = y[::2], y[1::2]
    centred = [np.argsort(np.argsort(part)) / DRAWS - 0.5 for part in (first, second)]
    assert not rejected(
        {"law": same_law(first, second), "product": mean_is_zero(centred[0] * centred[1])}
    )


def test_shapes_and_dtypes(key):
    for dtype in (jnp.float32, jnp.float64):
        widths = (3, 4, 2, 2)
        theta, scales = prior_draw(key, widths, dtype)
        program = jax.jit(simulate, static_argnums=3)
        latents, y = program(key, theta, jnp.ones((5, 3), dtype), hard_tanh)
        state = GibbsState(theta, scales, latents)
        assert {a.dtype for a in jax.tree.leaves((state, y))} == {jnp.dtype(dtype)}
        assert y.shape == (5, 2)
        assert [v.shape for v in latents.v] == [u.shape for u in latents.u] == [(5, 4), (5, 2)]
        assert isinstance(scales, Scales)
        assert theta.L == 2
