"""``memory_limit``: what it accepts, what it refuses, and that it changes nothing else."""

import numpy as np
import pytest

from deepnoise import BDeepNoiseRegressor, load
from deepnoise.estimators import settings

X = np.random.default_rng(0).normal(size=(600, 2))
Y = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=600)
TOY = {
    "hidden": (3,),
    "chains": 2,
    "warmup": 2,
    "draws": 2,
    "thin": 1,
    "init": "prior",
    "sampler": "gibbs",
    "dtype": "float64",
    "random_state": 0,
}


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [(None, None), (10, 10), ("2GB", 2 * 10**9), ("1.5 MiB", 3 * 2**19), ("7B", 7)],
)
def test_sizes_are_read(value, bytes_):
    assert settings.memory("memory_limit", value) == bytes_


@pytest.mark.parametrize("value", ["2 G", "lots", 0, -1, 1.5, True, "GB"])
def test_other_sizes_are_refused(value):
    with pytest.raises(
        ValueError, match="memory_limit must be a number of bytes, such as 2000000000 or '2GB'"
    ):
        BDeepNoiseRegressor(memory_limit=value).fit(X, Y)


def test_the_default_sampler_does_not_stream():
    with pytest.raises(ValueError, match="use sampler='gibbs'"):
        BDeepNoiseRegressor(memory_limit="100KB", random_state=0).fit(X, Y)


@pytest.mark.slow
def test_a_limit_changes_nothing_and_survives_a_folder(tmp_path):
    free = BDeepNoiseRegressor(**TOY).fit(X, Y)
    limited = BDeepNoiseRegressor(**TOY, memory_limit="300KB", checkpoint=tmp_path / "m").fit(X, Y)
    np.testing.assert_allclose(limited.predict(X[:5]), free.predict(X[:5]), rtol=1e-9)
    again = load(tmp_path / "m").resume(3)
    np.testing.assert_allclose(again.predict(X[:5]), free.resume(3).predict(X[:5]), rtol=1e-9)
