"""A model with fewer draws: what it keeps, what it costs, how it is saved."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import deepnoise

from .toy import PLAIN, sloped, small


@pytest.fixture(scope="module")
def model():
    return small(**PLAIN).fit(*sloped())


def test_draws_are_evenly_spaced_in_each_chain(model):
    few, many = model.thinned(5), model.posterior_.draws.beta[0]
    kept = few.posterior_.draws.beta[0]
    np.testing.assert_array_equal(kept, many[:, [0, 4, 9, 14, 19]])
    assert few.predict_density(sloped()[0]).n_components == 2 * 5 * 4 + 1
    assert few.thinned(2, paths=1).predict_density(sloped()[0]).n_components == 2 * 2 + 1
    assert model.posterior_.run.n_draws == 20
    assert model.paths == 4


def test_all_draws_are_the_model_itself(model):
    X, _ = sloped()
    np.testing.assert_array_equal(model.thinned().predict(X), model.predict(X))
    assert model.predict_density(X).cdf_distance(model.thinned(20).predict_density(X)).max() < 3e-4


@pytest.mark.parametrize("paths", [1, 4])
def test_the_mean_error_of_the_cdf_is_below_the_stated_bound(independent, paths):
    """sqrt(pi / (2 n)) for n draws that are independent: 400 of 800, beside that of the 800."""
    X, few = sloped()[0], independent.thinned(200, paths)
    found = independent.predict_density(X).cdf_distance(few.predict_density(X))
    assert 0.001 < found.mean() < np.sqrt(np.pi / 800) + np.sqrt(np.pi / 1600)


@pytest.fixture(scope="module")
def independent():
    """A fitted model whose draws are shuffled and moved by independent noise."""
    model, rng = small(**PLAIN, draws=400).fit(*sloped()), np.random.default_rng(0)
    for gamma in model.posterior_.draws.gamma:
        gamma[...] = gamma[:, rng.permutation(400)] + 0.3 * rng.normal(size=gamma.shape)
    return model


def test_it_is_saved_and_loaded_like_any_other(model, tmp_path):
    X, _ = sloped()
    few = model.thinned(5, paths=2)
    few.save(tmp_path / "few")
    again = deepnoise.load(tmp_path / "few")
    np.testing.assert_array_equal(again.predict(X), few.predict(X))
    assert again.paths == 2
    assert again.diagnostics_.rows
    assert again.resume(8).posterior_.run.n_draws == 8
    model.save(tmp_path / "many")
    sizes = [sum(f.stat().st_size for f in (tmp_path / p).iterdir()) for p in ("few", "many")]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "draws must be a whole number of at least 1"),
        ((-3,), "draws must be a whole number of at least 1"),
        ((2.0,), "draws must be a whole number of at least 1"),
        ((True,), "draws must be a whole number of at least 1"),
        ((21,), "draws must be at most 20, what each chain has; got 21"),
        ((5, 0), "paths must be a whole number of at least 1"),
        ((5, 1.5), "paths must be a whole number of at least 1"),
    ],
)
def test_bad_numbers_are_named(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.thinned(*arguments)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        small().thinned(2)


def test_a_thinned_copy_does_not_carry_the_draws_that_it_left(model):
    few = model.thinned(2)
    assert len(pickle.dumps(few)) < len(pickle.dumps(model)) - model.posterior_.draws.beta[0].nbytes
