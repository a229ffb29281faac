"""Runs that were stopped, cut, thinned or widened draw the same numbers."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference import sampling
from deepnoise.inference.kernels import Data, GibbsKernel
from deepnoise.inference.posterior import Plan, chain_priors, fit, resume
from deepnoise.inference.runtime import numerics
from deepnoise.model.activation import hard_tanh

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 1))


@pytest.fixture(params=["gibbs", "interweaved"])
def plan(request):
    return Plan(
        (3,), hard_tanh, seed=5, chains=2, warmup=6, draws=12, init="prior", sampler=request.param
    )


@pytest.fixture
def whole(plan):
    return fit(plan, X, Y).draws


def assert_same(a, b):
    for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(left, right)


def test_resumed_equals_uninterrupted(plan, whole):
    part = fit(replace(plan, draws=5), X, Y)
    assert part.run.n_draws == 5
    assert_same(resume(part, X, Y, 12).draws, whole)


def test_segments_do_not_matter(plan, whole, monkeypatch):
    monkeypatch.setattr(sampling, "_next_size", lambda *_: 1)
    assert_same(fit(plan, X, Y).draws, whole)


def test_thinning_keeps_every_second_draw(plan, whole):
    thinned = fit(replace(plan, thin=2, draws=6), X, Y).draws
    assert_same(thinned, jax.tree.map(lambda a: a[:, 1::2], whole))


def test_more_chains_leave_the_others_alone(plan, whole):
    """Another number of chains is another program: the same random numbers, rounding apart."""
    more = fit(replace(plan, chains=3), X, Y).draws
    first = jax.tree.map(lambda a: a[:2, 0], more)
    for left, right in zip(
        jax.tree.leaves(first), jax.tree.leaves(jax.tree.map(lambda a: a[:, 0], whole)), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=2e-3, atol=2e-3)


def test_chains_and_seeds_differ(plan, whole):
    other = fit(replace(plan, seed=6), X, Y).draws
    assert not np.array_equal(whole.beta[0][0], whole.beta[0][1])
    assert not np.array_equal(whole.beta[0], other.beta[0])


def test_ctrl_c_keeps_what_was_drawn(plan, whole):
    def stop(posterior):
        if posterior.run.n_draws >= 3:
            raise KeyboardInterrupt

    stopped = fit(plan, X, Y, on_segment=stop)
    kept = stopped.run.n_draws
    assert 3 <= kept < 12
    assert_same(stopped.draws, jax.tree.map(lambda a: a[:, :kept], whole))
    assert_same(resume(stopped, X, Y, 12).draws, whole)


def test_ctrl_c_in_warm_up_is_not_swallowed(plan):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(plan, X, Y, on_segment=stop)


def test_one_compilation_serves_all(plan, whole):
    del whole
    before = sampling.advance._cache_size()
    fit(replace(plan, seed=9, draws=20), X, Y)
    resume(fit(replace(plan, draws=2), X, Y), X, Y, 7)
    assert sampling.advance._cache_size() == before


def test_some_rows_a_sweep(plan):
    """With ``rows``, only that many rows get new latents."""
    posterior = fit(replace(plan, sampler="gibbs"), X, Y)
    with numerics():
        state = jax.tree.map(lambda a: a[0], posterior.run.state)
        rows = jnp.asarray(X, plan.dtype), jnp.asarray(Y, plan.dtype)
        priors = chain_priors(plan, posterior.start.theta, *rows)
        data = Data(*rows, jax.tree.map(lambda a: a[0], priors))
        after = GibbsKernel(hard_tanh, settle=0, rows=4).step(jax.random.key(1), 0, state, data)
        moved = jnp.any(after.latents.v[0] != state.latents.v[0], axis=1)
    assert moved.sum() == 4
