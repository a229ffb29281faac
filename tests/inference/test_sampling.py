"""Running chains: what was stopped, cut, thinned or given company draws the same numbers."""

import logging
import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference import posterior
from deepnoise.inference.gibbs import sweep
from deepnoise.inference.kernels import Data, GibbsKernel, InterweavedKernel
from deepnoise.inference.posterior import Plan
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import Run, advance_one
from deepnoise.inference.sharding import Layout
from deepnoise.model.activation import hard_tanh

from ..oracle import random_model
from .fits import fit, resume

# One shape for all tests, so that each sampler is compiled once.
PLAN = Plan((3,), hard_tanh, seed=5, chains=2, warmup=6, draws=9, init="prior", sampler="gibbs")
SAMPLERS = ("gibbs", "interweaved")
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 1))


@pytest.fixture(params=SAMPLERS)
def plan(request):
    return replace(PLAN, sampler=request.param)


def assert_same(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_stopped_and_resumed_is_uninterrupted(plan):
    whole = fit(plan, X, Y)
    part = fit(replace(plan, draws=4), X, Y)
    resumed = resume(part, X, Y, 9)
    assert_same(resumed.draws, whole.draws)
    assert_same(resumed.run.state, whole.run.state)
    assert resumed.run.t == whole.run.t == 15
    assert part.run.n_draws == 4
    assert_same(part.draws, jax.tree.map(lambda a: a[:, :4], whole.draws))


@pytest.mark.parametrize("size", [1, 4])
def test_other_segments_draw_the_same(plan, size, monkeypatch):
    whole = fit(plan, X, Y)
    monkeypatch.setattr(posterior, "next_size", lambda *_: size)
    assert_same(fit(plan, X, Y).draws, whole.draws)


def test_thinning_keeps_every_second_draw():
    whole, thinned = fit(PLAN, X, Y), fit(replace(PLAN, thin=2, draws=4), X, Y)
    assert_same(thinned.draws, jax.tree.map(lambda a: a[:, 1:8:2], whole.draws))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_adding_chains_does_not_change_the_others(sampler):
    plan = replace(PLAN, sampler=sampler, warmup=0, draws=2)
    two, three = (fit(replace(plan, chains=c), X, Y) for c in (2, 3))
    assert_same(jax.tree.map(lambda a: a[:2], three.draws), two.draws)


@pytest.mark.parametrize("number", ["1", "3"])
def test_the_number_of_cores_does_not_matter(plan, number, monkeypatch):
    whole = fit(plan, X, Y)
    monkeypatch.setenv("OMP_NUM_THREADS", number)
    assert_same(fit(plan, X, Y).draws, whole.draws)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_together_draw_what_chains_apart_do(sampler, monkeypatch):
    """As one program, which GPUs run; rounding grows, so only the first draws are compared."""
    plan = replace(PLAN, sampler=sampler, warmup=0, draws=2)
    apart = fit(plan, X, Y)
    monkeypatch.setattr(Layout, "apart", False)
    together = fit(plan, X, Y)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    jax.tree.map(close, together.draws, apart.draws)


def test_chains_and_seeds_differ():
    first, other = fit(PLAN, X, Y).draws.beta[0], fit(replace(PLAN, seed=6), X, Y).draws.beta[0]
    assert (first[0] != first[1]).all()
    assert (first != other).all()


def test_ctrl_c_keeps_what_was_drawn(plan):
    whole = fit(plan, X, Y)

    def stop(posterior):
        if posterior.run.n_draws >= 3:
            raise KeyboardInterrupt

    stopped = fit(plan, X, Y, stop)
    count = stopped.run.n_draws
    assert 3 <= count < 9
    assert_same(stopped.draws, jax.tree.map(lambda a: a[:, :count], whole.draws))
    assert_same(resume(stopped, X, Y, 9).draws, whole.draws)


def test_ctrl_c_before_the_first_draw_is_raised():
    def stop(posterior):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(PLAN, X, Y, stop)


def test_snapshots_stay_as_they_were():
    """What ``on_segment`` was given does not change while the run goes on."""
    seen = []
    whole = fit(PLAN, X, Y, lambda posterior: seen.append((posterior, posterior.run.n_draws)))
    for snapshot, count in seen:
        assert snapshot.run.n_draws == count
        if count:
            assert_same(snapshot.draws, jax.tree.map(lambda a, n=count: a[:, :n], whole.draws))


def owned_elsewhere(a: np.ndarray) -> np.ndarray:
    """The same numbers as a read-only view of bytes, as a file map would give them."""
    return np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape)


def padded(a: np.ndarray) -> np.ndarray:
    """The same numbers as a view of a larger array with its own meaning."""
    larger = np.zeros((a.shape[0], 50, *a.shape[2:]), a.dtype)
    larger[:, 20 : 20 + a.shape[1]] = a
    return larger[:, 20 : 20 + a.shape[1]]


@pytest.mark.parametrize("view", [owned_elsewhere, padded, np.array, jnp.asarray])
def test_draws_that_came_from_elsewhere_can_be_continued(view):
    whole, part = fit(PLAN, X, Y), fit(replace(PLAN, draws=4), X, Y)
    draws = jax.tree.map(view, part.draws)
    moved = replace(part, run=Run(part.run.state, part.run.t, draws))
    assert_same(resume(moved, X, Y, 9).draws, whole.draws)


def test_two_continuations_do_not_share_memory():
    def stop(posterior):
        if posterior.run.n_draws >= 3:
            raise KeyboardInterrupt

    stopped = fit(PLAN, X, Y, stop)
    first = resume(stopped, X, Y, 9)
    before = jax.tree.map(np.copy, first.draws)
    resume(stopped, X, Y + 3, 9)
    assert_same(first.draws, before)


def compilations(caplog):
    """Names of the programs compiled so far, by JAX's own log."""
    texts = [record.getMessage() for record in caplog.records]
    return [m.group(1) for text in texts if (m := re.match(r"Compiling (\S+)", text))]


def test_a_second_fit_compiles_nothing(plan, caplog):
    fit(plan, X, Y)
    size = advance_one._cache_size()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        again = fit(replace(plan, seed=17, draws=7), X + 1, Y)
        resume(again, X, Y, 9)
    assert advance_one._cache_size() == size
    assert not compilations(caplog)


def test_one_program_serves_warmup_draws_and_resume(caplog):
    plan = replace(PLAN, hidden=(4,))  # a shape that no other test has compiled
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        resume(fit(plan, X, Y), X, Y, 90)
    programs = compilations(caplog)
    for name in ("begin_chain", "begin_state", "draw_chain"):
        assert sum(name in program for program in programs) == 1


def chosen_rows(key, rows):
    """(old, new) states of a sweep that refreshes ``rows`` rows of eight."""
    state, x, y, prior = random_model(key, (2, 3, 2, 1), hard_tanh, 8)
    program = jax.jit(lambda key, s: sweep(key, s, x, y, prior, hard_tanh, rows=rows))
    return state, program(jax.random.fold_in(key, 1), state)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 8, 100])
def test_only_the_chosen_rows_get_new_latents(rows, key):
    with numerics():
        old, new = chosen_rows(key, rows)
        changed = jax.tree.map(lambda a, b: (a != b).all(axis=1), old.latents, new.latents)
        moved = np.array(jax.tree.leaves(changed))
        assert (moved.sum(axis=1) == min(rows, 8)).all()
        assert (moved == moved[0]).all(), "v and u of a row are refreshed together"
        assert (new.theta.beta[0] != old.theta.beta[0]).all()


def test_all_rows_is_the_plain_sweep(key):
    with numerics():
        assert_same(chosen_rows(key, 8), chosen_rows(key, None))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_first_step_reads_no_scales(sampler, key):
    """Erratum E7: rho2 and xi2 need no start, the first step draws them before it uses them."""
    kernel = GibbsKernel(hard_tanh, settle=0)
    if sampler == "interweaved":
        kernel = InterweavedKernel(hard_tanh, warmup=10, settle=0)
    with numerics():
        state, x, y, prior = random_model(key, (2, 3, 1), hard_tanh)
        program = jax.jit(
            lambda scales: kernel.step(
                key, 0, kernel.init(key, state.theta, scales, data := Data(x, y, prior)), data
            )
        )
        lost = lambda part: jax.tree.map(lambda a: a * jnp.nan, part)
        unknown = replace(state.scales, rho2=lost(state.scales.rho2), xi2=lost(state.scales.xi2))
        assert_same(program(unknown), program(state.scales))
