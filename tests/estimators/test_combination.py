"""What is made of the chains: guard and stacked weights."""

import numpy as np
import pytest
from sklearn.base import clone

from deepnoise import load

from .toy import sloped, small, unguarded


@pytest.fixture(scope="module")
def rows():
    return sloped()


@pytest.fixture(scope="module")
def model(rows):
    return small().fit(*rows)


def test_the_guard_widens_and_does_not_move(rows, model):
    X, y = rows
    alone = clone(model).set_params(guard=0.0).fit(X, y)
    with_guard, without = (m.predict_density(X) for m in (model, alone))
    assert without.n_components == 2 * 20 * 4
    np.testing.assert_allclose(with_guard.mean(), without.mean(), rtol=1e-9)
    np.testing.assert_allclose(with_guard.var(), 0.999 * without.var() + 0.001 * y.var(), rtol=1e-6)
    far = with_guard.mean() + 5 * y.std()
    assert with_guard.log_prob(far).min() > without.log_prob(far).max()


def test_the_guard_is_in_a_probability_and_its_ends(rows, model):
    X, y = rows
    c = y.max() + y.std()
    probability, lower, upper = model.predict_above(X, c).T
    np.testing.assert_allclose(probability, model.predict_density(X).probability_above(c))
    assert (lower <= probability).all()
    assert (probability <= upper).all()
    assert (lower > 0).all()


def test_stacked_chains(rows, tmp_path):
    X, y = rows
    model = small(combine="stacked", chains=3).fit(X, y)
    assert model.chain_weights_.sum() == pytest.approx(1)
    assert not np.allclose(model.chain_weights_, 1 / 3)
    parts = unguarded(model, X).components().means.mean(axis=2)
    by_chain = parts.reshape(len(X), 3, -1).mean(axis=2)
    np.testing.assert_allclose(model.predict(X), by_chain @ model.chain_weights_, rtol=1e-9)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_checkpoint_keeps_stacked_weights(rows, tmp_path):
    settings = {"combine": "stacked", "chains": 3, "checkpoint": tmp_path / "chains"}
    model = small(**settings).fit(*rows)
    np.testing.assert_array_equal(load(tmp_path / "chains").chain_weights_, model.chain_weights_)


@pytest.mark.parametrize("wrong", [{"guard": 1.0}, {"guard": "some"}, {"combine": "best"}])
def test_bad_guard_and_combine(rows, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small(**wrong).fit(*rows)
