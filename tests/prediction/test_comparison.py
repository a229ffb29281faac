"""Rivals and paired gains: what must be called useful, and what must not."""

import numpy as np
import pytest
from scipy import stats

from deepnoise.model.outcome import Window
from deepnoise.prediction import metrics
from deepnoise.prediction.comparison import (
    Gain,
    Usefulness,
    celled,
    gain,
    one_density,
    straight_line,
    usefulness,
    within,
)
from deepnoise.prediction.density.mixture import PredictiveMixture


def gaussians(means, sd):
    means = np.asarray(means, float)
    return PredictiveMixture.of(means[:, None, None], np.full((1, 1, 1, 1), sd**2))


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 2.0), (3.0, np.inf), (-np.inf, -4.0), (-np.inf, np.inf), (7.0, 7.5)]
)
def test_moments_within_a_window(low, high):
    log_mass, mean, variance = within(*(np.array([v]) for v in (low, high, 0.5, 1.5)))
    truth = stats.truncnorm((low - 0.5) / 1.5, (high - 0.5) / 1.5, 0.5, 1.5)
    mass = stats.norm.sf((low - 0.5) / 1.5) - stats.norm.sf((high - 0.5) / 1.5)
    assert np.exp(log_mass) == pytest.approx(mass, rel=1e-9)
    assert mean == pytest.approx(truth.mean(), rel=1e-6)
    assert variance == pytest.approx(truth.var(), rel=1e-5)


def test_a_value_that_was_seen_is_its_own_mean():
    log_mass, mean, variance = within(*(np.array([v]) for v in (2.0, 2.0, 0.0, 1.0)))
    assert log_mass == pytest.approx(stats.norm.logpdf(2.0))
    assert (mean, variance) == (2.0, 0.0)


def test_one_density_follows_skew_and_humps():
    rng = np.random.default_rng(0)
    for y, truth in (
        (np.exp(rng.normal(size=600)), stats.lognorm(1).logpdf),
        (
            rng.normal(np.where(np.arange(600) % 2, 5, -5), 1),
            lambda v: np.log((stats.norm.pdf(v, 5) + stats.norm.pdf(v, -5)) / 2),
        ),
    ):
        found = one_density(y[:300], 300)
        lost = np.mean(truth(y[300:])) + metrics.nll(found, y[300:])
        assert lost < 0.15
        normal = np.mean(truth(y[300:]) - stats.norm.logpdf(y[300:], y[:300].mean(), y[:300].std()))
        assert normal > 0.4


def test_censored_outcomes_do_not_bend_the_rivals():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 1))
    y = 3 + 2 * x[:, 0] + rng.normal(size=800)
    seen = Window(np.minimum(y, 4.0)[:, None], np.where(y < 4.0, y, np.inf)[:, None])
    line = straight_line(x, seen, np.array([[-1.0], [1.0], [np.nan]]))
    assert line.mean() == pytest.approx([1, 5, 3], abs=0.25)
    assert np.sqrt(line.var()[0]) == pytest.approx(1, abs=0.1)
    assert one_density(seen, 1).mean() == pytest.approx([3], abs=0.3)


def test_a_line_with_more_columns_than_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 200))
    line = straight_line(x, rng.normal(size=40), rng.normal(size=(5, 200)))
    assert np.isfinite(line.mean()).all()
    assert (line.var() > 0).all()
    assert straight_line(x[:1], np.array([2.0]), x[:3]).mean() == pytest.approx([2, 2, 2])


def test_gains_are_paired():
    rng = np.random.default_rng(0)
    hard = 10 * rng.normal(size=50)
    found = gain(hard + 0.1 + 0.01 * rng.normal(size=50), hard)
    assert found.sign == 1
    assert found.mean == pytest.approx(0.1, abs=0.01)
    assert gain(hard, rng.permutation(hard)).sign == 0
    assert gain(hard[:1], hard[:1]).sign == 0


@pytest.mark.parametrize(
    ("no_input", "line", "status"),
    [
        ((0.1, 0.2), (0.1, 0.2), "useful"),
        ((0.1, 0.2), (-0.1, 0.2), "line"),
        ((0.1, 0.2), (-0.2, -0.1), "beaten"),
        ((-0.1, 0.2), (0.1, 0.2), "same"),
        ((-0.2, -0.1), (0.1, 0.2), "worse"),
    ],
)
def test_what_is_useful(no_input, line, status):
    pair = [Gain(sum(ends) / 2, *ends, 50) for ends in (no_input, line)]
    assert Usefulness(*pair).status == status
    few = [Gain(one.mean, one.low, one.high, 9) for one in pair]
    assert Usefulness(*few).status == "unknown"


def test_no_density_gains_from_spikes_on_repeated_values():
    rng = np.random.default_rng(0)
    train, y = rng.integers(0, 6, 300).astype(float), rng.integers(0, 6, 300).astype(float)
    spikes = PredictiveMixture.of(
        np.broadcast_to(np.arange(6.0)[None, :, None], (300, 6, 1)), np.full((1, 6, 1, 1), 1e-12)
    )
    rival = one_density(train, 300)
    assert gain(spikes.log_prob(y), gaussians(np.full(300, 2.5), 1.7).log_prob(y)).mean > 5
    assert usefulness(spikes, y, rival, rival, train).no_input.mean < 0.3
    assert celled(y[:2], train).lower.tolist() == [
        -np.inf if value == 0 else value - 0.5 for value in y[:2]
    ]


def test_scores_and_places_of_windows():
    density = gaussians(np.zeros(3), 1.0)
    window = Window(np.array([[0.0], [0.0], [-np.inf]]), np.array([[0.0], [np.inf], [-1.0]]))
    expected = [stats.norm.logpdf(0), np.log(0.5), stats.norm.logcdf(-1)]
    assert metrics.log_scores(density, window) == pytest.approx(expected)
    many = gaussians(np.zeros(4000), 1.0)
    y = many.sample(1, 0)[:, 0]
    cut = np.random.default_rng(1).normal(size=4000)
    seen = Window(np.minimum(y, cut), np.where(y <= cut, y, np.inf))
    assert stats.kstest(metrics.pit_seen(many, seen), "uniform").pvalue > 1e-3
    assert np.array_equal(metrics.pit_seen(many, y), metrics.pit(many, y))
