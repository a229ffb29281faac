"""Awkward data and extreme variances: every draw stays finite, in both precisions."""

import jax
import numpy as np
import pytest

from deepnoise.inference.posterior import Plan
from deepnoise.inference.priors import PriorSpec
from deepnoise.model.activation import hard_tanh

from .fits import fit

RNG = np.random.default_rng(1)
BASE = RNG.normal(size=(6, 3))
TARGET = RNG.normal(size=(6, 1))
ROWS = {
    "duplicated": (BASE[:, [0, 0, 0]], TARGET),
    "collinear": (np.c_[BASE[:, :2], BASE[:, :1] - 2 * BASE[:, 1:2]], TARGET),
    "constant column": (np.c_[BASE[:, :2], np.ones(6)], TARGET),
    "constant y": (BASE, np.zeros((6, 1))),
    "repeated rows": (np.repeat(BASE[:1], 6, axis=0), TARGET),
    "outlier": (BASE * [[1e6, 1, 1]], TARGET * 1e4),
    "fewer rows than columns": (RNG.normal(size=(2, 5)), TARGET[:2]),
    "one row": (BASE[:1], TARGET[:1]),
}


def draws_of(x, y, **settings):
    plan = Plan((3, 2), hard_tanh, seed=0, chains=1, warmup=10, draws=20, init="prior", **settings)
    return fit(plan, x, y).draws


@pytest.mark.parametrize("sampler", ["gibbs", pytest.param("interweaved", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROWS)
def test_awkward_rows(name, sampler):
    draws = draws_of(*ROWS[name], sampler=sampler)
    assert all(np.isfinite(a).all() for a in jax.tree.leaves(draws))


PINNED = {
    "noise at 1e-10": {"preact": (1e4, 1e-6), "postact": (1e4, 1e-6)},
    "noise at 1e10": {"preact": (1e4, 1e14), "postact": (1e4, 1e14)},
    "weights at 1e-20": {"weight": (1e4, 1e-16), "bias": (1e4, 1e-16)},
    "weights at 1e20": {"weight": (1e4, 1e24), "bias": (1e4, 1e24)},
    "the paper's": dict.fromkeys(("weight", "bias", "preact", "postact"), (0.001, 0.001)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sampler", ["gibbs", pytest.param("interweaved", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PINNED)
def test_extreme_variances(name, sampler, dtype):
    usual = dict.fromkeys(("weight", "bias", "preact", "postact"), (3.0, 2.0))
    prior = PriorSpec.of({**usual, **PINNED[name]})
    draws = draws_of(BASE, TARGET, sampler=sampler, dtype=dtype, prior=prior)
    assert all(np.isfinite(a).all() for a in jax.tree.leaves(draws))
