"""Streamed sweeps: the draws of a run in memory, whatever the blocks, stopped or not."""

import signal
from contextlib import closing
from dataclasses import replace

import jax
import numpy as np
import pytest

from deepnoise.inference import block_sweep, runtime, streaming, warmstart
from deepnoise.inference.posterior import Plan, draw_more
from deepnoise.inference.runtime import numerics
from deepnoise.inference.streaming import OnDisk
from deepnoise.inference.warmstart import WarmStart
from deepnoise.model.activation import hard_sigmoid, hard_tanh
from deepnoise.model.network import Latents

from .fits import fit, resume

ROWS = 700
PLAN = Plan(
    (4,),
    hard_tanh,
    seed=3,
    chains=2,
    warmup=5,
    draws=3,
    thin=2,
    init="prior",
    sampler="gibbs",
    dtype="float64",
)
# Blocks of 234 rows, the last filled up.
LIMIT = streaming.row_bytes(PLAN, 2, 1) * 300


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 2))
    return x, np.tanh(x[:, :1]) + 0.3 * rng.normal(size=(ROWS, 1))


@pytest.fixture(scope="module")
def whole(rows):
    """A run in memory."""
    return fit(PLAN, *rows)


def on_disk(plan, x, y, limit=LIMIT, on_segment=None):
    with closing(OnDisk(plan, x, y, limit)) as rows:
        return draw_more(rows.begin(), rows, plan.draws, on_segment)


def resumed_on_disk(posterior, x, y, draws):
    with closing(OnDisk(PLAN, x, y, LIMIT)) as rows:
        return draw_more(rows.take_up(posterior), rows, draws)


def close(ours, theirs, tolerance=1e-9):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance), ours, theirs
    )


def test_draws_and_latents_are_those_of_a_run_in_memory(rows, whole):
    seen = []
    streamed = on_disk(PLAN, *rows, on_segment=lambda p: seen.append(p.run.t))
    assert seen == [2, 4, 6, 8, 10, 12]
    assert streamed.run.t == whole.run.t
    close(streamed.draws, whole.draws)
    close(streamed.run.state, whole.run.whole().state)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-3), ("float64", 1e-9)])
def test_deeper_and_from_a_start_that_some_rows_gave(rows, monkeypatch, dtype, tolerance):
    monkeypatch.setattr(warmstart, "START_ROWS", 100)
    start = WarmStart(steps=20, batch=16, check_every=10)
    changed = {"hidden": (4, 3), "init": "gradient", "dtype": dtype, "warmstart": start}
    plan, (x, y) = replace(PLAN, **changed), (a.astype(dtype) for a in rows)
    limit = streaming.row_bytes(plan, 2, 1) * 300
    streamed, whole = on_disk(plan, x, y, limit), fit(plan, x, y)
    close(streamed.start.theta, whole.start.theta, tolerance)
    close(streamed.draws, whole.draws, tolerance)
    close(streamed.run.state, whole.run.state, tolerance)


def test_a_run_can_change_between_memory_and_disk(rows, whole):
    part = fit(replace(PLAN, draws=1), *rows)
    streamed = resumed_on_disk(part, *rows, 2)
    back = resume(streamed, *rows, 3)
    close(back.draws, whole.draws)


def test_an_earlier_round_keeps_its_latents(rows):
    """A later round that is stopped is given up for the one before."""
    with closing(OnDisk(PLAN, *rows, LIMIT)) as backend:
        first = draw_more(backend.begin(), backend, PLAN.draws)
        before = [np.array(a) for a in jax.tree.leaves(first.run.state.latents)]
        draw_more(backend.take_up(first), backend, PLAN.draws + 2)
        for now, then in zip(jax.tree.leaves(first.run.state.latents), before, strict=True):
            np.testing.assert_array_equal(now, then)


@pytest.mark.usefixtures("ctrl_c")
def test_other_handlers_of_ctrl_c_are_kept():
    heard = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    with runtime.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        assert not heard
    assert heard == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with runtime.uninterrupted():
        signal.raise_signal(signal.SIGINT)


def test_sums_are_taken_chunk_by_chunk_and_leave_padding_out():
    size, total = 2 * block_sweep.CHUNK, 2 * block_sweep.CHUNK - 5
    rng = np.random.default_rng(0)
    x, v, u, y = (rng.normal(size=(size, width)).astype(np.float32) for width in (2, 3, 3, 1))
    with numerics():
        rows = block_sweep.Rows(x, y, np.int64(0), total)
        latents, none = Latents((v,), (u,)), block_sweep.no_sums((2, 3, 1))
        sums = block_sweep.added(hard_sigmoid, none, latents, rows)
    x, v, u, y = (a[:total].astype(float) for a in (x, v, u, y))
    one = np.ones((total, 1))
    bars = np.hstack([x, one]), np.hstack([u, one])
    close(sums.gram, tuple(bar.T @ bar for bar in bars), 1e-12)
    close(sums.cross, (v.T @ bars[0], y.T @ bars[1]), 1e-12)
    close(sums.square, ((v**2).sum(0), (y**2).sum(0)), 1e-12)
    close(sums.apart, (((u - np.clip(v / 6 + 0.5, 0, 1)) ** 2).sum(0),), 1e-12)


def test_start_rows_are_different_rows_from_everywhere():
    with numerics():
        chosen = np.asarray(warmstart.start_rows(jax.random.key(0), 10_000_019))
    assert len(chosen) == warmstart.START_ROWS
    assert (np.diff(chosen) > 0).all()
    assert (chosen * warmstart.START_ROWS // 10_000_019 == np.arange(len(chosen))).mean() > 0.99


@pytest.fixture
def ctrl_c():
    """Heard also where the tests run in the background, whose shell has it ignored."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_waits_for_a_whole_draw(rows):
    def interrupt(posterior):
        if posterior.run.n_draws == 1:
            signal.raise_signal(signal.SIGINT)

    stopped = on_disk(PLAN, *rows, on_segment=interrupt)
    assert stopped.run.n_draws == 1
    resumed = resumed_on_disk(stopped, *rows, 3)
    unbroken = on_disk(PLAN, *rows)
    close(resumed.draws, unbroken.draws, 0)
    reached = []

    def block():
        with runtime.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert reached


def test_what_cannot_be_streamed_is_refused(rows):
    x, y = rows
    with pytest.raises(ValueError, match="sampler='gibbs'"):
        OnDisk(replace(PLAN, sampler="interweaved"), x, y, 10**6)
    holes = np.where(x > 2, np.nan, x)
    with pytest.raises(ValueError, match="fill missing values of X"):
        OnDisk(PLAN, holes, y, 10**6)
    with pytest.raises(ValueError, match="memory_limit of 1000 bytes is too small"):
        OnDisk(PLAN, x, y, 1000)
