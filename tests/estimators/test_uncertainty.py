"""Where the uncertainty comes from, by the estimator; the shape of test_bdeepnoise.py."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from .toy import PLAIN, sloped, small, unguarded


@pytest.fixture(scope="module")
def rows():
    return sloped()


@pytest.fixture(scope="module")
def model(rows):
    return small(**PLAIN).fit(*rows)


def test_entropy_adds_up_to_that_of_the_posterior_predictive(rows, model):
    X, y = rows
    found = model.decompose_entropy(X[:4])
    assert np.allclose(found.aleatoric + found.epistemic, found.total)
    assert (found.epistemic > 0).all()
    grid = np.linspace(y.min() - 300, y.max() + 300, 20_001)
    log_p = unguarded(model, X[:4]).log_prob_grid(grid)
    exact = np.trapezoid(-log_p * np.exp(log_p), grid, axis=1)
    assert np.allclose(found.total, exact, atol=1e-6)


def test_the_bound_is_in_the_users_units(rows, model):
    X, y = rows
    parts = model.decompose(X)
    assert parts.bounds.shape == (2,)
    assert (parts.aleatoric <= parts.bounds.sum()).all()
    thousand = small(**PLAIN).fit(X, 1000 * y).decompose(X)
    assert thousand.bounds == pytest.approx(1e6 * parts.bounds, rel=1e-3)


def test_several_outcomes_are_one_entropy(rows):
    X, y = rows
    model = small(**PLAIN).fit(X, np.c_[y, -y])
    found = model.decompose_entropy(X[:3])
    assert found.total.shape == (3,)
    assert (found.standard_error > 0).all()
    density = model.predict_density(X[:3])
    conditional = density.conditional({0: y[:3]})
    chain = density.marginal(0).log_prob(y[:3]) + conditional.log_prob(-y[:3])
    assert np.allclose(chain, density.log_prob(np.c_[y, -y][:3]))
    assert density.cov().shape == (3, 2, 2)


def test_unfitted(rows):
    with pytest.raises(NotFittedError):
        small().decompose_entropy(rows[0])
