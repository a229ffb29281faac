"""Rows are padded to few sizes: the padding counts nothing, and similar tables share a program."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from deepnoise.inference import in_memory
from deepnoise.inference.in_memory import may_fill
from deepnoise.inference.posterior import Plan
from deepnoise.inference.sampling import advance_one
from deepnoise.inference.sharding import Layout, rung
from deepnoise.model.activation import hard_tanh
from deepnoise.model.outcome import Window

from .fits import fit, resume

PLAN = Plan((3,), hard_tanh, seed=2, chains=2, warmup=2, draws=3, init="prior", dtype="float64")
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = X[:, :1] + 0.3 * rng.normal(size=(40, 1))
CENSORED = Window(Y[:37], np.where(Y[:37] > 0.5, np.inf, Y[:37]))


@pytest.mark.parametrize(
    ("hidden", "sampler", "y"),
    [
        ((3,), "gibbs", Y[:37]),
        ((3,), "interweaved", Y[:37]),
        pytest.param((4, 3), "interweaved", Y[:37], marks=pytest.mark.slow),
        pytest.param((4, 3), "interweaved", CENSORED, marks=pytest.mark.slow),
    ],
    ids=["gibbs", "interweaved", "two layers", "censored"],
)
def test_padding_changes_nothing(hidden, sampler, y, monkeypatch):
    plan = replace(PLAN, hidden=hidden, sampler=sampler)
    padded = fit(plan, X[:37], y)
    assert padded.run.layout.size == 40
    monkeypatch.setattr(in_memory, "may_fill", lambda plan, x: False)
    plain = fit(plan, X[:37], y)
    same = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
    jax.tree.map(same, padded.draws, plain.draws)
    jax.tree.map(same, padded.run.whole().state, plain.run.whole().state)


def test_padding_that_counts_is_noticed(monkeypatch):
    """The check above can fail: rows of zeros that count are other data."""
    padded = fit(PLAN, X[:37], Y[:37])
    monkeypatch.setattr(Layout, "counted", lambda self, dtype: np.ones(self.size, dtype))
    wrong = fit(PLAN, X[:37], Y[:37])
    assert np.abs(padded.draws.tau2[-1] - wrong.draws.tau2[-1]).max() > 1e-3


def test_tables_of_about_the_same_length_share_a_program():
    fit(PLAN, X[:37], Y[:37])
    before = advance_one._cache_size()
    for rows in (38, 40):
        fit(PLAN, X[:rows], Y[:rows])
    assert advance_one._cache_size() == before


def test_a_padded_run_resumes_to_the_same_draws():
    whole = fit(replace(PLAN, draws=5), X[:37], Y[:37])
    part = fit(PLAN, X[:37], Y[:37])
    stored = replace(part, run=part.run.whole())
    assert stored.run.state.gibbs.latents.v[0].shape[1] == 37
    jax.tree.map(
        np.testing.assert_array_equal, resume(stored, X[:37], Y[:37], 5).draws, whole.draws
    )


def test_what_may_be_padded():
    gaps = np.where(X > 2, np.nan, X)
    assert may_fill(PLAN, X)
    assert not may_fill(PLAN, gaps)
    assert not may_fill(replace(PLAN, init="gradient"), X)
    assert not may_fill(replace(PLAN, outcome="choice", levels=3), X)


def test_rungs():
    sizes = np.arange(1, 100_000)
    rungs = np.array([rung(int(n)) for n in sizes])
    assert (rungs >= sizes).all()
    assert (rungs <= sizes * 9 / 8).all()
    assert all(rung(int(n)) == n for n in rungs)
    assert len(np.unique(rungs)) < 130
