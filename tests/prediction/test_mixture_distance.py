"""The distance of two mixtures' cdfs: known cases, and against a dense grid."""

import numpy as np
import pytest
from scipy.special import ndtr

from .mixtures import random_mixture, row_of, univariate


def test_shifted_normals():
    means = np.array([[0.0], [5.0]])
    one, other = univariate(means, [[2.0]]), univariate(means + 0.6, [[2.0]])
    largest = 2 * ndtr(0.15) - 1
    found = one.cdf_distance(other)
    assert (found >= largest).all()
    assert (found <= largest + 2.1e-4).all()


def test_it_bounds_the_supremum_and_is_close_to_it():
    one, other = random_mixture(0, components=6), random_mixture(1, components=9)
    found = one.cdf_distance(other)
    for n in range(len(one)):
        largest = np.abs(dense_cdf(one, n) - dense_cdf(other, n)).max()
        assert largest <= found[n] <= largest + 1e-3


def dense_cdf(mixture, n):
    weights, means, sds = row_of(mixture, n)
    return ndtr((np.linspace(-60, 60, 40_001)[:, None] - means) / sds) @ weights


def test_a_jump_between_two_points_is_not_missed():
    one, other = univariate([[0.0, 0.3]], [[1.0, 1e-9]]), univariate([[0.0, 0.301]], [[1.0, 1e-9]])
    assert one.cdf_distance(other)[0] >= 0.5


def test_several_outcomes_and_a_wrong_shape():
    pair = random_mixture(3, outcomes=2)
    assert pair.cdf_distance(pair).shape == (4, 2)
    assert pair.cdf_distance(pair).max() <= 2.1e-4
    with pytest.raises(ValueError, match="other must have"):
        pair.cdf_distance(pair.marginal(0))
    with pytest.raises(ValueError, match="other must have"):
        pair.cdf_distance(pair[:2])
