"""Row blocks: lazy equals eager, memory stays bounded, bad input is named."""

import pickle

import jax
import numpy as np
import pytest

from deepnoise.prediction.density import components as mixture_components
from deepnoise.prediction.density import mixture as module
from deepnoise.prediction.density.components import Remembered
from deepnoise.prediction.density.mixture import Components, PredictiveMixture
from deepnoise.prediction.density.quantile import _iterate
from deepnoise.prediction.density.sums import _over_points

from .mixtures import in_blocks, random_mixture, random_parts


class TestBlocks:
    @pytest.mark.parametrize("shared", [True, False])
    @pytest.mark.parametrize("outcomes", [1, 2])
    def test_lazy_equals_eager_whatever_the_blocks(self, monkeypatch, shared, outcomes):
        mixture = random_mixture(19, rows=11, outcomes=outcomes, shared=shared)
        y = np.random.default_rng(0).normal(size=(11, outcomes))
        calls = [
            lambda m: m.log_prob(y), lambda m: m.cdf(y), lambda m: m.quantile([0.1, 0.7]),
            lambda m: m.crps(y), lambda m: m.mean(), lambda m: m.cov(), lambda m: m.sample(3, 1),
            lambda m: m.cdf_grid([0.0, 1.0]), lambda m: m.log_mass(y, y + 1),
        ]  # fmt: skip
        whole = [call(mixture) for call in calls]
        monkeypatch.setattr(module, "BLOCK_VALUES", 2 * 5 * outcomes**2)
        for call, value in zip(calls, whole, strict=True):
            np.testing.assert_allclose(call(in_blocks(mixture)), value, rtol=1e-10)
        for part, all_ in zip(in_blocks(mixture).components(), mixture.components(), strict=True):
            np.testing.assert_allclose(part, all_, rtol=1e-15)

    def test_read_is_never_asked_for_more_than_the_bound(self, monkeypatch):
        monkeypatch.setattr(module, "BLOCK_VALUES", 4096)
        asked = []

        def read(start, stop):
            asked.append(stop - start)
            means = np.arange(start, stop)[:, None, None] + np.linspace(-1, 1, 50)[:, None]
            return Components(np.full((1, 50), 0.02), means, np.ones((1, 50, 1, 1)))

        mixture = PredictiveMixture.from_blocks(10_000, 1, 50, read)
        y = np.arange(10_000.0)
        assert np.ptp(mixture.log_prob(y)) < 1e-9
        assert np.ptp(mixture[5000:5300].crps(y[5000:5300])) < 1e-9
        mixture[:300].cdf_grid(np.arange(100.0))
        mixture[:100].hdi(0.5)
        mixture.var()
        assert max(asked) * 50 <= 4096
        asked.clear()
        mixture[:200].cdf_grid(np.arange(1000.0))
        assert max(asked) * 1000 <= 4096

    def test_blocks_are_computed_once_within_a_bound(self, monkeypatch):
        monkeypatch.setattr(module, "BLOCK_VALUES", 40)
        mixture, asked = random_mixture(3, rows=20), []

        def read(start, stop):
            asked.append((start, stop))
            return mixture.read(start, stop)

        def queried(read):
            found = PredictiveMixture.from_blocks(20, 1, mixture.n_components, read)
            return found.mean(), found.quantile([0.1, 0.9]), found.cdf_grid(np.arange(9.0))

        expected, fresh = queried(lambda *span: mixture.read(*span)), Remembered(read, 20)
        for part, all_ in zip(queried(fresh), expected, strict=True):
            np.testing.assert_array_equal(part, all_)
        assert len(set(asked)) == len(asked)
        assert sum(stop - start for start, stop in asked) == 20
        asked.clear()
        monkeypatch.setattr(mixture_components, "KEPT_VALUES", 45)
        monkeypatch.setattr(mixture_components, "AHEAD", 1)
        bounded = Remembered(read, 20)
        queried(bounded)
        assert sum(parts.means.size for parts in bounded.kept.values()) <= 45
        assert sum(stop - start for start, stop in asked) > 20

    def test_one_row_at_least(self, monkeypatch):
        monkeypatch.setattr(module, "BLOCK_VALUES", 1)
        assert random_mixture(20).mean().shape == (4,)

    @pytest.mark.parametrize("lazy", [True, False])
    @pytest.mark.parametrize("shared", [True, False])
    @pytest.mark.parametrize(
        "rows", [2, -1, slice(1, 5), slice(None, None, -2), [4, 0, 4], np.arange(6) % 2 == 0]
    )
    def test_rows(self, lazy, shared, rows):
        mixture = random_mixture(21, rows=6, shared=shared)
        some = (in_blocks(mixture) if lazy else mixture)[rows]
        truth = np.atleast_1d(mixture.mean()[rows])
        assert len(some) == len(truth)
        np.testing.assert_allclose(some.mean(), truth, rtol=1e-14)
        np.testing.assert_allclose(some.var(), np.atleast_1d(mixture.var()[rows]), rtol=1e-13)

    def test_another_number_of_rows_compiles_nothing(self):
        mixture = random_mixture(22, rows=16)
        mixture.quantile([0.1, 0.2, 0.3])
        mixture.log_prob(0.0)
        compiled = [kernel._cache_size() for kernel in (_over_points, _iterate)]
        mixture[:13].quantile([0.1, 0.2, 0.3, 0.4])
        mixture[:9].log_prob(1.0)
        assert [kernel._cache_size() for kernel in (_over_points, _iterate)] == compiled

    def test_pickles(self):
        mixture = random_mixture(23)
        again = pickle.loads(pickle.dumps(mixture.affine(2.0, 1.0)))
        np.testing.assert_array_equal(again.mean(), mixture.affine(2.0, 1.0).mean())

    def test_float64_stays_inside(self):
        random_mixture(24).quantile(0.5)
        assert jax.numpy.ones(1).dtype == np.float32


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"means": np.zeros((4, 5))}, "means must be"),
            ({"means": np.full((4, 5, 2), np.nan)}, "means must be finite"),
            ({"covs": np.ones((4, 5, 2))}, "covs must be"),
            ({"covs": np.ones((3, 5, 2, 2))}, "covs must be"),
            ({"covs": np.zeros((4, 5, 2, 2))}, "covs must have positive variances"),
            ({"covs": np.ones((1, 5, 2, 2))}, "covs must be positive definite"),
            ({"covs": np.tile([[2.0, 1.0], [0.0, 2.0]], (1, 5, 1, 1))}, "covs must be symmetric"),
            ({"covs": np.full((1, 5, 2, 2), np.inf)}, "covs must be finite"),
            ({"weights": np.ones((1, 4)) / 4}, "weights must be"),
            ({"weights": np.ones((1, 5))}, "weights must .* add up to one"),
            ({"weights": np.array([[1.5, -0.5, 0, 0, 0]])}, "weights must not be negative"),
            ({"weights": np.full((1, 5), np.nan)}, "weights must"),
        ],
    )
    def test_of_names_the_argument(self, change, message):
        means, covs, weights = random_parts(25, outcomes=2)
        with pytest.raises(ValueError, match=message):
            PredictiveMixture.of(**({"means": means, "covs": covs, "weights": weights} | change))

    def test_read_is_checked_too(self):
        bad = PredictiveMixture.from_blocks(
            3,
            1,
            2,
            lambda a, b: Components(
                np.ones((1, 2)) / 2, np.zeros((b - a, 2, 1)), -np.ones((1, 2, 1, 1))
            ),
        )
        with pytest.raises(ValueError, match="covs"):
            bad.mean()
        with pytest.raises(ValueError, match="n_rows"):
            PredictiveMixture.from_blocks(0, 1, 2, bad.read)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda m: m.log_prob([0.0, 1.0]), "y must fit"),
            (lambda m: m.cdf(np.nan), "y must not contain nan"),
            (lambda m: m.quantile(1.5), "levels"),
            (lambda m: m.quantile([[0.5]]), "levels"),
            (lambda m: m.interval(0.0), "coverage"),
            (lambda m: m.hdi(1.0), "coverage"),
            (lambda m: m.log_mass(1.0, 0.0), "low must not exceed high"),
            (lambda m: m.affine(0.0, 1.0), "scale"),
            (lambda m: m.affine(1.0, np.inf), "shift"),
            (lambda m: m[[]], "rows"),
        ],
    )  # fmt: skip
    def test_methods_name_the_argument(self, call, message):
        with pytest.raises(ValueError, match=message):
            call(random_mixture(26))

    def test_unknown_outcome(self):
        with pytest.raises(IndexError):
            random_mixture(27).marginal(1)
