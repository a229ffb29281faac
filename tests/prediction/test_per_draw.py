"""The law of every single draw: moments, likelihoods, quantiles across draws, bands."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

from deepnoise.model.marginal import path_log_likelihood
from deepnoise.prediction import per_draw
from deepnoise.prediction.credible import above, above_each, bands
from deepnoise.prediction.density.mixture import PredictiveMixture
from deepnoise.prediction.per_draw import (
    in_words,
    log_likelihood,
    moments,
    predictive_functionals,
    weighted_quantiles,
)

from .networks import densities


def mixture_of_draw(given, m):
    """The mixture of one draw over its paths."""
    means = np.concatenate([block[:, m] for _, block in given.blocks()])
    return PredictiveMixture.of(means, np.repeat(given.covs()[m][None, None], means.shape[1], 1))


@pytest.mark.parametrize("widths", [(2, 1), (2, 3, 1), (2, 3, 2, 2)])
def test_moments_and_likelihood_are_those_of_the_mixture(key, widths):
    given = densities(key, widths)
    mean, sd = moments(given)
    y = np.random.default_rng(1).normal(size=(4, widths[-1]))
    likelihood = log_likelihood(given, y)
    for m in range(5):
        mixture = mixture_of_draw(given, m)
        assert np.allclose(mean[:, m], mixture.mean().reshape(4, -1))
        assert np.allclose(sd[:, m] ** 2, mixture.var().reshape(4, -1))
        assert np.allclose(likelihood[:, m], with_normal(mixture, y))


def with_normal(mixture, y):
    """Log density of the mixture and, as one more component, the normal with its moments."""
    means, cov = mixture.components().means, mixture.components().covs[0, 0]
    far = [
        stats.multivariate_normal(row.mean(0), cov + np.cov(row.T, bias=True)).logpdf(value)
        for row, value in zip(means, y, strict=True)
    ]
    paths = means.shape[1]
    return np.logaddexp(mixture.log_prob(y) + np.log(paths), far) - np.log(paths + 1)


def test_paths_are_the_models(key):
    given = densities(key)
    y = np.random.default_rng(1).normal(size=(4, 1))
    with jax.enable_x64(True):
        theta = jax.tree.map(lambda a: jax.numpy.asarray(a[2]), given.draws)
        expected = np.asarray(path_log_likelihood(key, theta, given.x, y, given.h, given.paths))
    found = mixture_of_draw(given, 2).log_prob(y * given.scale + given.shift)
    assert np.allclose(found, expected - np.log(given.scale))


def test_outcomes_that_no_path_reaches_are_not_impossible(key):
    given = densities(key, paths=20, rows=50)
    tau2, sigma2 = ((*given.draws.tau2[:-1], np.full((5, 1), 1e-5)), (np.full((5, 3), 1e-5),))
    few = replace(given, draws=replace(given.draws, tau2=tau2, sigma2=sigma2))
    other = replace(few, key=jax.random.key(9), paths=50)
    # The outcome of each row is that of a path of its own.
    means = np.concatenate([part[:, 0] for _, part in other.blocks()])
    y = means[np.arange(50), np.arange(50)]
    many = log_likelihood(replace(few, paths=20_000), y)[:, 0]
    paths_alone = mixture_of_draw(few, 0).log_prob(y)
    assert np.mean(np.abs(paths_alone - many)) > 20
    assert np.mean(np.abs(log_likelihood(few, y)[:, 0] - many)) < 3


def test_equal_draws_give_equal_laws(key):
    given = densities(key)
    same = jax.tree.map(lambda a: np.repeat(a[:1], 5, axis=0), given.draws)
    mean, _ = moments(per_draw.DrawDensities(**{**vars(given), "draws": same}))
    assert np.ptp(mean, axis=1).max() == 0


def test_blocks_of_rows_change_nothing(key, monkeypatch):
    given = densities(key, rows=9)
    whole = moments(given)
    monkeypatch.setattr(per_draw, "BLOCK_VALUES", 600)
    assert len(list(given.blocks())) > 3
    assert np.allclose(moments(given), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mean[7]", "mean, row 8"),
        ("sd[7,1]", "sd of outcome 2, row 8"),
        ("log_density[0]", "log density, row 1"),
        ("probability[26,a, b]", "P(a, b), row 27"),
        ("log_probability[3]", "log probability, row 4"),
        ("my own", "my own"),
    ],
)
def test_functionals_in_words(name, words):
    assert in_words(name) == words


def test_functionals_have_names_chains_and_draws(key):
    given = densities(key, widths=(2, 3, 2), draws=6, paths=per_draw.PATHS_TO_JUDGE)
    y = np.zeros((4, 2))
    values = predictive_functionals(given, y, chains=2, rows=[3, 5, 8, 9])
    assert len(values) == 4 * 5
    assert values["mean[5,1]"].shape == (2, 3)
    assert np.array_equal(values["sd[9,0]"].ravel(), moments(given)[1][3, :, 0])
    assert np.array_equal(values["log_density[8]"].ravel(), log_likelihood(given, y)[2])


def test_above_is_the_weighted_mean_and_quantile(key):
    weights = [0.1, 0.4, 0.2, 0.3, 0.0]
    given = densities(key, weights=weights)
    found = above(given, 0.7, level=0.5)
    each = np.stack([mixture_of_draw(given, m).probability_above(0.7) for m in range(5)])
    assert np.allclose(found.mean, weights @ each)
    for n in range(4):
        order = np.argsort(each[:, n])
        total = np.cumsum(np.array(weights)[order])
        assert found.lower[n] == pytest.approx(each[order, n][np.argmax(total >= 0.25)])
        assert found.upper[n] == pytest.approx(each[order, n][np.argmax(total >= 0.75)])


def test_above_at_several_thresholds(key):
    given = densities(key)
    found = above_each(given, [-0.5, 0.7, 2.0], 0.9)
    assert found.mean.shape == (4, 3)
    for m, c in enumerate([-0.5, 0.7, 2.0]):
        one = above(given, c, 0.9)
        for part in ("mean", "lower", "upper"):
            assert np.allclose(getattr(found, part)[:, m], getattr(one, part))


def test_above_at_a_threshold_a_row(key):
    given = densities(key, widths=(2, 3, 2))
    c = np.arange(8.0).reshape(4, 2)
    found = above(given, c, 0.9)
    assert found.mean.shape == (4, 2)
    assert np.allclose(found.mean[2], above(given, c[2], 0.9).mean[2])
    with pytest.raises(ValueError, match=r"c must fit \(4, 2\)"):
        above(given, np.zeros(3), 0.9)
    with pytest.raises(ValueError, match="nan"):
        above(given, np.nan, 0.9)


def test_bands_are_those_of_the_draws(key):
    given = densities(key)
    grid, levels = np.linspace(-9, 9, 7), np.array([0.2, 0.5])
    found = bands(given, grid, 0.6, levels)
    each = [mixture_of_draw(given, m) for m in range(5)]
    assert np.allclose(found.pdf.mean, np.mean([d.pdf_grid(grid) for d in each], axis=0))
    assert np.allclose(found.cdf.mean, np.mean([d.cdf_grid(grid) for d in each], axis=0))
    quantiles = np.array([d.quantile(levels) for d in each])
    assert np.allclose(found.quantile.mean, quantiles.mean(axis=0))
    assert np.allclose(found.quantile.lower, np.sort(quantiles, axis=0)[0])
    assert np.allclose(found.quantile.upper, np.sort(quantiles, axis=0)[3])


def test_bands_of_several_outcomes(key):
    given = densities(key, widths=(2, 3, 2))
    grid = np.c_[np.linspace(-5, 5, 4), np.linspace(0, 1, 4)]
    found = bands(given, grid, 0.9)
    assert found.cdf.lower.shape == (4, 4, 2)
    assert found.grid.shape == (4, 2)
    assert found.quantile.mean.shape == (4, 19, 2)


@pytest.mark.parametrize(
    ("grid", "level", "probabilities", "message"),
    [
        ([], 0.9, [0.5], "grid must be"),
        ([[1.0, 2.0]], 0.9, [0.5], "grid must be"),
        ([np.inf], 0.9, [0.5], "grid must be finite"),
        ([1.0], 1.0, [0.5], "level must be between 0 and 1"),
        ([1.0], 0.9, [0.0], "probabilities must be"),
    ],
)
def test_bad_bands(key, grid, level, probabilities, message):
    with pytest.raises(ValueError, match=message):
        bands(densities(key), grid, level, probabilities)


def test_weighted_quantiles_of_many_values():
    values = np.random.default_rng(0).normal(size=(2, 2000))
    weights = np.full(2000, 1 / 2000)
    found = weighted_quantiles(values, weights, [0.1, 0.9], axis=1)
    assert np.allclose(found, stats.norm.ppf([[0.1], [0.9]]), atol=0.1)
    assert np.array_equal(weighted_quantiles(values, weights, [1.0], 1)[0], values.max(axis=1))
