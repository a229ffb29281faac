"""CRPS against quadrature, sums over all pairs, and scoringrules."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from deepnoise.prediction.density.crps import _by_integral, _by_pairs, _lags, _least_lags, _step

from .mixtures import (
    oracle_cdf,
    oracle_half_difference,
    quick,
    random_mixture,
    row_of,
    seeds,
    univariate,
)


class TestCrps:
    def test_against_the_integral_of_its_definition(self):
        mixture, y = random_mixture(14), np.array([-3.0, 0.0, 1.0, 20.0])
        for n, found in enumerate(mixture.crps(y)):
            cdf = partial(oracle_cdf, mixture, n)
            low = integrate.quad(lambda z, f=cdf: f(z) ** 2, -60, y[n], limit=500)[0]
            high = integrate.quad(lambda z, f=cdf: (1 - f(z)) ** 2, y[n], 80, limit=500)[0]
            assert found == pytest.approx(low + high, rel=1e-6)

    @quick
    @given(seeds, st.sampled_from([1.0, 0.05, 1e-3, 1e-6, None]))
    def test_many_components_against_all_pairs(self, seed, sd):
        rng = np.random.default_rng(seed)
        sds = (
            sd * np.exp(0.3 * rng.normal(size=(2, 150)))
            if sd
            else 10.0 ** rng.uniform(-8, 2, (2, 150))
        )
        mixture = univariate(rng.normal(size=(2, 150)) + 10, sds, rng.dirichlet(np.ones(150), 2))
        found = mixture.crps([9.0, 12.0])
        for n, y in enumerate((9.0, 12.0)):
            weights, means, sds_n = row_of(mixture, n)
            z = (y - means) / sds_n
            first = weights @ (sds_n * (2 * stats.norm.pdf(z) + z * (2 * stats.norm.cdf(z) - 1)))
            truth = first - oracle_half_difference(mixture, n)
            assert found[n] == pytest.approx(truth, rel=1e-8)

    def test_both_ways_agree(self):
        rng = np.random.default_rng(15)
        mixture = univariate(rng.normal(size=(3, 90)), np.exp(0.3 * rng.normal(size=(1, 90))))
        law = mixture.components().law(0)
        low, high = (law.means - 6.5 * law.sds).min(-1), (law.means + 6.5 * law.sds).max(-1)
        step = _step(law) * np.ones(3)
        smooth = _by_integral(law, low, step, np.ceil((high - low) / step))
        np.testing.assert_allclose(smooth, _by_pairs(law), rtol=1e-9)

    @quick
    @given(seeds, st.sampled_from([1e3, 0.0]), st.floats(0.02, 3.0))
    def test_many_components_are_within_what_is_stated(self, seed, centre, sd):
        rng = np.random.default_rng(seed)
        sds = sd * np.exp(0.3 * rng.normal(size=(1, 400)))
        mixture = univariate(rng.normal(size=(3, 400)) + centre, sds)
        law = mixture.components().law(0)
        pairs = _by_pairs(law)
        low, high = (law.means - 6.5 * law.sds).min(-1), (law.means + 6.5 * law.sds).max(-1)
        step = _step(law) * np.ones(3)
        quick = _by_integral(law, low, step, np.ceil((high - low) / step))
        np.testing.assert_allclose(quick, pairs, rtol=0, atol=1e-7 * np.sqrt(mixture.var()).min())

    @quick
    @given(seeds, st.floats(0.01, 3.0))
    def test_neighbours_to_visit_are_not_overrated(self, seed, sd):
        law = univariate(np.random.default_rng(seed).normal(size=(3, 90)), [[sd] * 90])
        law = law.components().law(0)
        assert (_least_lags(law) <= _lags(law)).all()

    def test_against_scoringrules(self):
        scoringrules = pytest.importorskip("scoringrules")
        rng = np.random.default_rng(16)
        means, sds, y = rng.normal(size=(3, 6)), np.exp(rng.normal(size=(3, 6))), rng.normal(size=3)
        truth = scoringrules.crps_mixnorm(y, means, sds)
        np.testing.assert_allclose(univariate(means, sds).crps(y), truth, rtol=1e-10)
