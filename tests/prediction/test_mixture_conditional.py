"""Conditional densities against the joint ones, and where numbers are hard."""

import numpy as np
import pytest
from hypothesis import given as drawn

from deepnoise.prediction.density import mixture as module
from deepnoise.prediction.density.mixture import PredictiveMixture

from .mixtures import in_blocks, quick, random_mixture, seeds


@drawn(seeds)
@quick
def test_joint_is_known_times_conditional(seed):
    mixture = random_mixture(seed, outcomes=3)
    y = np.random.default_rng(seed).normal(size=(4, 3)) * 3
    one = mixture.conditional({1: y[:, 1]})
    chain = mixture.marginal(1).log_prob(y[:, 1]) + one.log_prob(y[:, [0, 2]])
    np.testing.assert_allclose(chain, mixture.log_prob(y), rtol=1e-9, atol=1e-9)
    two = mixture.conditional({2: y[:, 2], 1: y[:, 1]})
    chain = mixture.marginal(1).log_prob(y[:, 1]) + one.marginal(1).log_prob(y[:, 2])
    chain += two.log_prob(y[:, 0])
    np.testing.assert_allclose(chain, mixture.log_prob(y), rtol=1e-9, atol=1e-9)


def test_order_and_steps_do_not_matter():
    mixture = random_mixture(1, outcomes=3)
    both = mixture.conditional({0: 0.3, -1: -0.2})
    for other in (
        mixture.conditional({2: -0.2, 0: 0.3}),
        mixture.conditional({2: -0.2}).conditional({0: 0.3}),
    ):
        for part, same in zip(other.components(), both.components(), strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-9)


def test_rejection_sampling_agrees():
    mixture = random_mixture(2, rows=1, outcomes=2)
    y = mixture.sample(400_000, 0)[0]
    near = y[np.abs(y[:, 0] - 0.5) < 0.02, 1]
    found = mixture.conditional({0: 0.5})
    error = found.var()[0] ** 0.5 / np.sqrt(len(near))
    assert len(near) > 500
    assert abs(near.mean() - found.mean()[0]) < 4 * error
    assert near.std() == pytest.approx(found.var()[0] ** 0.5, rel=0.1)


def test_one_component_is_a_regression():
    cov = np.array([[4.0, 3.0], [3.0, 9.0]])
    found = PredictiveMixture.of([[[1.0, 2.0]]], cov[None, None]).conditional({0: 3.0})
    assert found.n_outcomes == 1
    assert found.mean() == pytest.approx(2 + 3 / 4 * (3 - 1))
    assert found.var() == pytest.approx(9 - 3**2 / 4)


@pytest.mark.parametrize("far", [60.0, 1e8, -1e160, 1e300])
def test_far_tails_have_no_nan(far):
    """The wider component takes all the weight; beyond 1e150 sds none is told from another."""
    means = np.array([[[0.0, 1.0], [0.0, 2.0]]])
    covs = np.array([[np.eye(2), 4 * np.eye(2)]])
    found = PredictiveMixture.of(means, covs).conditional({0: far})
    weights = found.components().weights
    assert weights.sum() == pytest.approx(1)
    if abs(far) < 1e150:
        assert weights[0] == pytest.approx([0, 1], abs=1e-12)
    assert np.isfinite(found.mean()).all()
    assert np.isfinite(found.quantile([0.01, 0.99])).all()


def test_a_component_of_no_weight_stays_out():
    mixture = PredictiveMixture.of(
        [[[0.0, 0.0], [50.0, 7.0]]], np.eye(2)[None, None].repeat(2, 1), [[1.0, 0.0]]
    )
    assert mixture.conditional({0: 50.0}).mean() == pytest.approx(0)


def test_outcomes_that_determine_each_other():
    cov = np.array([[1.0, 2.0], [2.0, 4.0 * (1 + 1e-15)]])
    mixture = PredictiveMixture.of(np.zeros((1, 1, 2)), cov[None, None])
    found = mixture.conditional({0: 0.7})
    assert found.mean() == pytest.approx(1.4)
    assert 0 < found.var()[0] < 1e-14


@pytest.mark.parametrize("shared", [True, False])
def test_blocks_change_nothing(monkeypatch, shared):
    mixture = random_mixture(3, rows=9, outcomes=2, shared=shared)
    y = np.linspace(-3, 3, 9)
    whole = mixture.conditional({1: y})
    monkeypatch.setattr(module, "BLOCK_VALUES", 2 * 5 * 4)
    np.testing.assert_allclose(in_blocks(mixture).conditional({1: y}).mean(), whole.mean())
    np.testing.assert_allclose(whole[[7, 2]].mean(), whole.mean()[[7, 2]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "given must map outcomes to their values"),
        (3.0, "given must map outcomes to their values"),
        ({3: 0.0}, "given: there is no outcome 3; they are 0 to 1"),
        ({"y": 0.0}, "given: there is no outcome 'y'"),
        ({0: 0.0, -2: 1.0}, "outcome 0 is given twice"),
        ({0: 0.0, 1: 1.0}, "given must leave out at least one outcome"),
        ({0: np.nan}, r"given\[0\] must not contain nan"),
        ({0: np.inf}, r"given\[0\] must be finite"),
        ({0: [1.0, 2.0]}, r"given\[0\] must fit"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        random_mixture(4, outcomes=2).conditional(given)
