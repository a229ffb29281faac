"""Chains and fits in threads: LAPACK must not wait in the pool that its work is queued in."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference import in_memory
from deepnoise.inference.posterior import Plan
from deepnoise.inference.runtime import cores, numerics
from deepnoise.model import gaussian
from deepnoise.model.activation import hard_tanh
from deepnoise.model.gaussian import InformationGaussian, sample_weights, unshared

from .fits import fit

ROOT = Path(__file__).parents[2]
# Sixty matrices of 61 x 61 for each chain, and rows with gaps: far more than jaxlib 0.10 leaves to
# one thread.  Where they wait for each other they do so for ever.
WIDE = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from deepnoise import BDeepNoiseRegressor
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 40)), rng.normal(size=300)
X[rng.random(X.shape) < 0.1] = np.nan

def fit(seed):
    settings = dict(chains=4, warmup=0, draws=40, thin=1, sampler="gibbs", progress=False)
    return BDeepNoiseRegressor((60,), **settings, random_state=seed).fit(X, y).predict(X[:200])

fit(0)
with ThreadPoolExecutor(3) as pool:
    assert all(np.isfinite(mean).all() for mean in pool.map(fit, range(3)))
"""


@pytest.mark.slow
def test_wide_networks_in_threads_do_not_wait_for_each_other():
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", WIDE],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_batch_is_shared_out_below_the_limit(monkeypatch):
    assert unshared(41, 21**3 // 3) == 41
    assert unshared(200, 51**3 // 3) == 4
    assert unshared(3, 300**3) == 1
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    assert unshared(200, 51**3 // 3) == 200


@pytest.mark.parametrize("limit", [1, 500, 10**9])
def test_draws_do_not_depend_on_the_batches(limit, key, monkeypatch):
    monkeypatch.setattr(gaussian, "SHARED_LAPACK", limit)
    with numerics():
        root = jax.random.normal(key, (7, 5, 5))
        precision = root @ jnp.swapaxes(root, 1, 2) + jnp.eye(5)
        law = InformationGaussian(precision, jnp.ones((7, 5)))
        (drawn,) = sample_weights(key, [law])
        noise = gaussian.normals(key, (35,), float).reshape(7, 5)
        np.testing.assert_allclose(drawn, law.at(noise), rtol=1e-12)


def test_cores_are_those_of_the_system_and_at_most_what_was_asked_for(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    usable = cores()
    assert 1 <= usable <= (os.cpu_count() or 1)
    for text, number in {"1": 1, "1000000": usable, "0": usable, "many": usable}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert cores() == number


def test_gradients_of_many_rows_are_taken_in_blocks(monkeypatch):
    """Rounding grows from sweep to sweep, so only the first ones are compared."""
    plan = Plan((3,), hard_tanh, 4, chains=2, warmup=0, draws=2, init="prior", dtype="float64")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = x[:, :1] + 0.3 * rng.normal(size=(60, 1))
    whole = fit(plan, x, y)
    monkeypatch.setattr(in_memory, "MANY_ROWS", 60)
    monkeypatch.setattr(in_memory, "BLOCK", 16)
    compiled = in_memory.advance_one._cache_size()
    parts = fit(plan, x, y)
    assert in_memory.advance_one._cache_size() == compiled + 1
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    jax.tree.map(close, parts.draws, whole.draws)
