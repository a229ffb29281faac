"""Quantiles, central intervals and highest-density regions, by root finding and definition."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from .mixtures import oracle_cdf, quick, random_mixture, seeds, univariate

HARD = {
    "one component": ([[2.0]], [[3.0]]),
    "sds 1e8 apart": ([[0.0, 0.3, -1.0, 0.1]], [[1.0, 1e-8, 1e8, 1e-4]]),
    "modes far apart": ([[-1e6, 0.0, 1e6]], [[1.0, 0.1, 2.0]]),
    "spikes": (np.linspace(-1, 1, 200)[None], np.full((1, 200), 1e-7)),
    "one very wide": ([[*np.linspace(-1, 1, 99), 0.0]], [[*np.ones(99), 1e8]]),
    "far from zero": ([[1e5, 1e5 + 1]], [[0.1, 0.2]]),
}
LEVELS = np.array([1e-6, 1e-3, 0.02, 0.25, 0.5, 0.51, 0.9, 0.999, 1 - 1e-6])


class TestQuantiles:
    @pytest.mark.parametrize("case", HARD)
    def test_hard_cases(self, case):
        means, sds = HARD[case]
        mixture = univariate(means, sds)
        found = mixture.quantile(LEVELS)
        assert (np.diff(found) >= 0).all()
        slack = 4e-15 * np.abs(found) + 2e-11 * np.min(sds)
        low, high = (mixture.cdf_grid((found + sign * slack)[0])[0] for sign in (-1, 1))
        tolerance = 1e-10 * np.minimum(LEVELS, 1 - LEVELS) + 1e-15
        assert (low <= LEVELS + tolerance).all()
        assert (high >= LEVELS - tolerance).all()

    def test_against_root_finding(self):
        mixture, levels = random_mixture(6), np.array([0.001, 0.3, 0.5, 0.97])
        found = mixture.quantile(levels)
        for n in range(4):
            for m, p in enumerate(levels):
                cdf = partial(oracle_cdf, mixture, n)
                truth = optimize.brentq(lambda x, f=cdf, p=p: f(x) - p, -500, 500, xtol=1e-13)
                assert found[n, m] == pytest.approx(truth, rel=1e-9, abs=1e-9)

    @quick
    @given(seeds, st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=6))
    def test_cdf_of_quantile_is_the_level(self, seed, levels):
        mixture, levels = random_mixture(seed), np.array(levels)
        found = mixture.quantile(levels)
        back = np.stack([mixture.cdf(found[:, m]) for m in range(len(levels))], 1)
        np.testing.assert_allclose(back, np.broadcast_to(levels, back.shape), rtol=1e-9)

    def test_shapes_and_ends(self):
        mixture = random_mixture(7)
        assert mixture.quantile(0.5).shape == (4,)
        np.testing.assert_array_equal(mixture.quantile([0.5])[:, 0], mixture.quantile(0.5))
        np.testing.assert_array_equal(mixture.quantile([0, 1]), [[-np.inf, np.inf]] * 4)
        assert random_mixture(7, outcomes=2).quantile([0.1, 0.5, 0.9]).shape == (4, 3, 2)

    @quick
    @given(seeds, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_intervals_are_nested(self, seed, one, other):
        mixture = random_mixture(seed)
        inner, outer = (mixture.interval(c) for c in sorted((one, other)))
        assert (outer[:, 0] <= inner[:, 0] + 1e-8).all()
        assert (outer[:, 1] >= inner[:, 1] - 1e-8).all()

    def test_many_components_and_rows(self):
        rng = np.random.default_rng(8)
        mixture = univariate(rng.normal(size=(300, 1100)), np.exp(rng.normal(size=(1, 1100))))
        back = mixture.cdf(mixture.quantile(0.9))
        np.testing.assert_allclose(back, 0.9, atol=1e-11)


class TestHighestDensity:
    def test_two_intervals_where_there_are_two_modes(self):
        mixture = univariate([[-5.0, 5.0], [0.0, 0.1]], [[1.0, 1.0], [1.0, 1.0]])
        two, one = mixture.hdi(0.9)
        assert two.shape == (2, 2)
        assert one.shape == (1, 2)
        np.testing.assert_allclose(two[0], -two[1][::-1], atol=1e-7)
        np.testing.assert_allclose(two[1] - 5, stats.norm.interval(0.9), atol=1e-5)

    def test_is_the_central_interval_of_a_gaussian(self):
        (region,) = univariate([[2.0]], [[3.0]]).hdi(0.8)
        np.testing.assert_allclose(region, [stats.norm.interval(0.8, 2, 3)], atol=1e-7)

    @quick
    @given(seeds, st.floats(0.05, 0.999))
    def test_mass_is_the_coverage_and_density_equal_at_the_ends(self, seed, coverage):
        mixture = random_mixture(seed)
        for n, region in enumerate(mixture.hdi(coverage)):
            assert (np.diff(region.ravel()) >= 0).all()
            ends = mixture[n].cdf_grid(region.ravel())[0].reshape(-1, 2)
            assert np.sum(ends[:, 1] - ends[:, 0]) == pytest.approx(coverage, abs=2e-9)
            log_f = mixture[n].log_prob_grid(region.ravel())[0]
            assert np.ptp(log_f) < 1e-5

    @quick
    @given(seeds)
    def test_is_no_longer_than_the_central_interval(self, seed):
        mixture = random_mixture(seed, components=3)
        central = np.diff(mixture.interval(0.9))[:, 0]
        length = np.array([np.sum(region[:, 1] - region[:, 0]) for region in mixture.hdi(0.9)])
        assert (length <= central + 1e-6).all()

    def test_spikes_among_wide_components(self):
        mixture = univariate([[0.0, 0.5, 3.0]], [[1.0, 1e-3, 1e-5]])
        (region,) = mixture.hdi(0.95)
        ends = mixture.cdf_grid(region.ravel())[0].reshape(-1, 2)
        assert np.sum(ends[:, 1] - ends[:, 0]) == pytest.approx(0.95, abs=1e-8)
        assert len(region) == 2

    def test_several_outcomes(self):
        mixture = random_mixture(9, outcomes=2)
        regions = mixture.hdi(0.5)
        alone = mixture.marginal(1).hdi(0.5)
        assert [len(row) for row in regions] == [2] * 4
        np.testing.assert_allclose(regions[2][1], alone[2], rtol=1e-12)
