"""``PredictiveMixture`` against scipy, high precision and Monte Carlo."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from deepnoise.prediction.density.mixture import PredictiveMixture

from .mixtures import in_blocks, oracle_cdf, quick, random_mixture, random_parts, seeds, univariate


class TestDensities:
    @pytest.mark.parametrize("outcomes", [1, 2, 3])
    @pytest.mark.parametrize("shared", [True, False])
    def test_log_prob_is_the_joint_density_of_scipy(self, outcomes, shared):
        means, covs, weights = random_parts(1, outcomes=outcomes, shared=shared)
        y = np.random.default_rng(2).normal(size=(4, outcomes))
        truth = [
            logsumexp(
                [
                    stats.multivariate_normal.logpdf(y[n], means[n, c], covs[0 if shared else n, c])
                    for c in range(5)
                ],
                b=weights[0 if shared else n],
            )
            for n in range(4)
        ]
        mixture = PredictiveMixture.of(means, covs, weights)
        np.testing.assert_allclose(mixture.log_prob(y), truth, rtol=1e-11)
        np.testing.assert_allclose(mixture.pdf(y), np.exp(truth), rtol=1e-11)
        grid = mixture.log_prob_grid(y)
        assert grid.shape == (4, 4)
        np.testing.assert_allclose(np.diag(grid), truth, rtol=1e-11)

    def test_log_prob_is_finite_far_away_and_minus_infinity_at_infinity(self):
        mixture = univariate([[0.0, 1.0]], [[1.0, 2.0]])
        assert mixture.log_prob([1e6])[0] == pytest.approx(-0.5 * (1e6 - 1) ** 2 / 4, rel=1e-6)
        assert mixture.log_prob([np.inf])[0] == -np.inf

    def test_cdf_and_tail_agree_with_scipy(self):
        mixture, y = random_mixture(3), np.array([-4.0, 0.0, 2.0, 30.0])
        truth = [oracle_cdf(mixture, n, y[n]) for n in range(4)]
        np.testing.assert_allclose(mixture.cdf(y), truth, rtol=1e-12)
        np.testing.assert_allclose(mixture.probability_above(y) + truth, 1, rtol=1e-12)
        assert univariate([[0.0]], [[1.0]]).probability_above(30.0)[0] == pytest.approx(
            stats.norm.sf(30), rel=1e-10
        )

    def test_grids_are_points_one_by_one(self):
        mixture, grid = random_mixture(4), np.linspace(-8, 8, 7)
        each = np.stack([mixture.cdf(g) for g in grid], 1)
        np.testing.assert_allclose(mixture.cdf_grid(grid), each, rtol=1e-14)
        each = np.stack([mixture.pdf(g) for g in grid], 1)
        np.testing.assert_allclose(mixture.pdf_grid(grid), each, rtol=1e-14)

    @quick
    @given(seeds)
    def test_cdf_increases_from_zero_to_one(self, seed):
        values = random_mixture(seed).cdf_grid([-np.inf, *np.linspace(-30, 30, 101), np.inf])
        assert (np.diff(values) >= -1e-15).all()
        np.testing.assert_allclose(values[:, [0, -1]], [[0, 1]] * 4, atol=1e-15)


class TestMass:
    @pytest.mark.parametrize(
        ("low", "high"),
        [(-1, 2), (3, 3.5), (-39, -38), (38, np.inf), (-np.inf, -200), (50, 50 + 1e-9),
         (-1e-12, 1e-12), (300, 301), (-0.4, 0.4), (1.0, 1.0009), (20, 20.00002), (-5, 60)],
    )  # fmt: skip
    def test_log_mass_is_right_to_many_digits_at_any_distance(self, low, high):
        mpmath = pytest.importorskip("mpmath")
        with mpmath.workdps(60):
            root, parts = mpmath.sqrt(2), []
            for mean, sd in ((0.0, 1.0), (0.5, 3.0)):
                a, b = ((mpmath.mpf(x) - mean) / sd / root for x in (low, high))
                a, b = (a, b) if b > 0 else (-b, -a)
                parts.append(mpmath.erfc(a) - mpmath.erfc(b))
            truth = float(mpmath.log((0.25 * parts[0] + 0.75 * parts[1]) / 2))
        mixture = univariate([[0.0, 0.5]], [[1.0, 3.0]], [[0.25, 0.75]])
        found = mixture.log_mass(low, high)[0]
        assert found == pytest.approx(truth, rel=1e-12, abs=2e-9)
        assert mixture.probability_between(low, high)[0] == pytest.approx(np.exp(truth), rel=1e-8)

    def test_all_and_nothing(self):
        mixture = random_mixture(5)
        np.testing.assert_allclose(mixture.log_mass(-np.inf, np.inf), 0, atol=1e-15)
        assert (mixture.log_mass(1.0, 1.0) == -np.inf).all()

    @quick
    @given(seeds)
    def test_mass_is_the_difference_of_cdfs(self, seed):
        mixture = random_mixture(seed)
        low, high = np.sort(np.random.default_rng(seed).normal(size=(2, 4)) * 4, axis=0)
        np.testing.assert_allclose(
            mixture.probability_between(low, high), mixture.cdf(high) - mixture.cdf(low), atol=1e-14
        )


class TestMoments:
    @pytest.mark.parametrize("outcomes", [1, 2])
    def test_mean_and_covariance(self, outcomes):
        means, covs, weights = random_parts(10, outcomes=outcomes)
        mixture = PredictiveMixture.of(means, covs, weights)
        mean = np.einsum("nc,ncq->nq", weights, means)
        second = np.einsum("nc,ncpq->npq", weights, covs + means[..., None] * means[..., None, :])
        cov = second - mean[:, :, None] * mean[:, None]
        np.testing.assert_allclose(mixture.mean().reshape(4, -1), mean, rtol=1e-12)
        np.testing.assert_allclose(mixture.cov(), cov, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            mixture.var().reshape(4, -1), np.diagonal(cov, axis1=1, axis2=2), rtol=1e-9
        )

    @pytest.mark.parametrize("shared", [True, False])
    def test_draws_follow_the_law(self, shared):
        mixture = random_mixture(11, rows=3, shared=shared)
        draws = mixture.sample(4000, 0)
        assert draws.shape == (3, 4000)
        for n in range(3):
            uniform = mixture[n].cdf_grid(draws[n])[0]
            assert stats.kstest(uniform, "uniform").pvalue > 1e-4

    def test_draws_of_several_outcomes_have_their_moments(self, key):
        mixture = random_mixture(12, rows=2, outcomes=2)
        draws = mixture.sample(200_000, key)
        assert draws.shape == (2, 200_000, 2)
        sd = np.sqrt(mixture.var())
        np.testing.assert_allclose(draws.mean(1) / sd, mixture.mean() / sd, atol=0.02)
        for n in range(2):
            np.testing.assert_allclose(np.cov(draws[n].T), mixture.cov()[n], rtol=0.05, atol=0.1)

    def test_same_seed_same_draws(self, key):
        mixture = random_mixture(13)
        np.testing.assert_array_equal(mixture.sample(5, key), mixture.sample(5, key))
        np.testing.assert_array_equal(mixture.sample(5, 3), in_blocks(mixture).sample(5, 3))
        assert (mixture.sample(5, 3) != mixture.sample(5, 4)).all()
        assert (mixture.sample(5) != mixture.sample(5)).all()
        old, new = np.random.RandomState(1), np.random.default_rng(1)
        assert (mixture.sample(5, old) != mixture.sample(5, old)).all()
        assert (mixture.sample(5, new) != mixture.sample(5, new)).all()
        raw = jax.random.PRNGKey(0)
        np.testing.assert_array_equal(
            mixture.sample(5, raw), mixture.sample(5, jax.random.wrap_key_data(raw))
        )


class TestTransformations:
    @quick
    @given(seeds, st.sampled_from([-3.0, 0.01, 250.0]), st.floats(-10, 10))
    def test_affine_of_one_outcome(self, seed, scale, shift):
        mixture = random_mixture(seed)
        moved, y = mixture.affine(scale, shift), np.array([-1.0, 0.0, 1.0, 5.0])
        there = scale * y + shift
        np.testing.assert_allclose(
            moved.log_prob(there), mixture.log_prob(y) - np.log(abs(scale)), rtol=1e-8, atol=1e-8
        )
        above = mixture.cdf(y) if scale > 0 else mixture.probability_above(y)
        np.testing.assert_allclose(moved.cdf(there), above, rtol=1e-8)
        np.testing.assert_allclose(moved.crps(there), abs(scale) * mixture.crps(y), rtol=1e-8)
        low, high = mixture.quantile([0.1, 0.9]).T
        ends = np.sort(np.stack([scale * low + shift, scale * high + shift], 1), 1)
        np.testing.assert_allclose(
            moved.quantile([0.1, 0.9]), ends, rtol=1e-7, atol=1e-7 * abs(scale)
        )

    def test_affine_of_several_outcomes(self):
        mixture, y = random_mixture(17, outcomes=2), np.random.default_rng(0).normal(size=(4, 2))
        scale, shift = np.array([2.0, -0.5]), np.array([1.0, 3.0])
        moved = mixture.affine(scale, shift)
        np.testing.assert_allclose(
            moved.log_prob(scale * y + shift), mixture.log_prob(y), rtol=1e-11
        )
        np.testing.assert_allclose(moved.mean(), scale * mixture.mean() + shift, rtol=1e-12)

    def test_marginals_are_what_univariate_methods_see(self):
        mixture, y = random_mixture(18, outcomes=3), np.random.default_rng(0).normal(size=(4, 3))
        for q in range(3):
            one = mixture.marginal(q)
            np.testing.assert_allclose(mixture.cdf(y)[:, q], one.cdf(y[:, q]), rtol=1e-14)
            np.testing.assert_allclose(mixture.crps(y)[:, q], one.crps(y[:, q]), rtol=1e-12)
            np.testing.assert_allclose(mixture.var()[:, q], one.var(), rtol=1e-12)
            np.testing.assert_allclose(mixture.interval(0.9)[..., q], one.interval(0.9), rtol=1e-12)
            np.testing.assert_allclose(
                mixture.log_mass(y - 1, y)[:, q], one.log_mass(y[:, q] - 1, y[:, q]), rtol=1e-12
            )
        assert mixture.cdf_grid([0.0, 1.0]).shape == (4, 2, 3)
        assert mixture.probability_above(0.0).shape == (4, 3)
