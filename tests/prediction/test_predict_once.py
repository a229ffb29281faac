"""Noise paths of a table are simulated once, whatever is asked for, by any number of threads."""

import numpy as np
import pytest

from deepnoise.model.activation import hard_tanh
from deepnoise.prediction import predict
from deepnoise.prediction.density import mixture
from deepnoise.prediction.predict import predictive

from .networks import theta


@pytest.fixture
def simulated(monkeypatch):
    """Rows of each simulation."""
    rows, means = [], predict.component_means

    def counted(key, first, draws, x, *rest):
        rows.append(len(x))
        return means(key, first, draws, x, *rest)

    monkeypatch.setattr(predict, "component_means", counted)
    return rows


def table(key, rows=64, draws=5):
    rng = np.random.default_rng(0)
    return predictive(
        key, theta(rng, draws, (2, 3, 1)), rng.normal(size=(rows, 2)), hard_tanh, paths=4
    )


def test_a_mean_and_then_an_interval(key, simulated, monkeypatch):
    monkeypatch.setattr(mixture, "BLOCK_VALUES", 80)
    density = table(key).affine(2.0, 1.0)
    mean = density.mean()
    assert simulated == [32, 32]
    interval = density.interval(0.9)
    density.crps(mean)
    assert simulated == [32, 32]
    assert (interval[:, 0] < interval[:, 1]).all()


def test_threads_do_not_change_the_answer(key, monkeypatch):
    monkeypatch.setattr(predict, "DRAWS_A_BLOCK", 2)
    found = []
    for workers in (1, 3):
        monkeypatch.setattr(predict, "cores", lambda n=workers: n)
        found.append(table(key).components().means)
    np.testing.assert_array_equal(*found)
