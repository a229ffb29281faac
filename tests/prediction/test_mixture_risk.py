"""Expected losses and tail means against draws, scipy and each other."""

import numpy as np
import pytest
from scipy import integrate, stats

from deepnoise.prediction.density.mixture import PredictiveMixture

RNG = np.random.default_rng(0)
MANY = PredictiveMixture.of(RNG.normal(size=(3, 700, 1)), RNG.gamma(2.0, size=(1, 700, 1, 1)))
TWO = PredictiveMixture.of([[[-1.0], [3.0]]], [[[[0.25]], [[4.0]]]], [[0.3, 0.7]])


@pytest.mark.parametrize("density", [MANY, TWO])
def test_polynomials_are_exact(density):
    np.testing.assert_allclose(density.expect(lambda y: y), density.mean(), rtol=1e-12)
    second = density.expect(np.square) - density.mean() ** 2
    np.testing.assert_allclose(second, density.var(), rtol=1e-10)
    np.testing.assert_allclose(density.expect(np.ones_like), 1.0, rtol=1e-12)


@pytest.mark.parametrize("density", [MANY, TWO])
def test_kinks(density):
    """E|Y - c| = E(Y - c)⁺ + E(c - Y)⁺, both by tail means."""
    cut = density.quantile(0.9)
    above = 0.1 * (density.tail_mean(0.9) - cut)
    below = 0.9 * (cut - density.tail_mean(0.9, "lower"))
    for row in range(len(density)):
        loss = density[row].expect(lambda y, c=cut[row]: np.abs(y - c))
        np.testing.assert_allclose(loss, above[row] + below[row], rtol=3e-3)


@pytest.mark.parametrize("level", [0.01, 0.5, 0.999])
def test_tail_mean_by_integration(level):
    cut = TWO.quantile(level)[0]
    whole, _ = integrate.quad(lambda y: y * TWO.pdf([y])[0], cut, cut + 40, limit=200)
    assert TWO.tail_mean(level)[0] == pytest.approx(whole / (1 - level), rel=1e-6)


def test_far_tails_and_several_outcomes():
    normal = PredictiveMixture.of([[[5.0]]], [[[[4.0]]]])
    truth = 5 + 2 * stats.norm.expect(lambda z: z, lb=stats.norm.isf(1e-9)) / 1e-9
    assert normal.tail_mean(1 - 1e-9)[0] == pytest.approx(truth, rel=1e-4)
    pair = PredictiveMixture.of([[[0.0, 1.0]]], [[[[1.0, 0.2], [0.2, 4.0]]]])
    assert pair.tail_mean(0.9).shape == pair.expect(np.abs).shape == (1, 2)
    assert pair.tail_mean(0.9)[0, 1] == pytest.approx(pair.marginal(1).tail_mean(0.9)[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TWO.tail_mean(1.0), "level must be between 0 and 1"),
        (lambda: TWO.tail_mean(0.9, "right"), "side must be 'upper' or 'lower'"),
        (lambda: TWO.expect(np.sum), "loss must map an array to one of its shape"),
    ],
)
def test_wrong_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_one_row_may_be_taken_several_times():
    many = TWO[[0, 0, 0]]
    np.testing.assert_allclose(many.log_prob([0.0, 1.0, 2.0]), TWO.log_prob_grid([0, 1, 2])[0])
    again = MANY[1][np.zeros(4, int)]
    np.testing.assert_allclose(again.mean(), np.full(4, MANY.mean()[1]))
