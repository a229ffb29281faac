"""Smoothing of densities that are drawn: no wiggles, no mode lost, no cdf moved too far."""

import numpy as np
import pytest
from scipy.signal import find_peaks

from deepnoise import BDeepNoiseRegressor, PredictiveMixture
from deepnoise.estimators.insight import COMPONENTS, to_draw
from deepnoise.prediction.credible import bands
from deepnoise.prediction.density.derived import TOLERANCE, bandwidths, smoothed, widened

from .networks import densities

# What an eye can see of a curve that is drawn an inch or two high.
VISIBLE = 0.005


def modes(height, prominence=VISIBLE):
    padded = np.concatenate([[0], height, [0]])
    return len(find_peaks(padded, prominence=prominence * height.max())[0])


def jagged(centres, rows=3, components=8000, sd=0.03):
    """Normals around each centre, as few paths would draw them."""
    rng = np.random.default_rng(0)
    means = rng.choice(centres, (rows, components, 1)) + rng.normal(size=(rows, components, 1))
    return PredictiveMixture.of(means, np.full((1, components, 1, 1), sd**2))


@pytest.mark.parametrize(("centres", "expected"), [([0.0], 1), ([-2.5, 2.5], 2), ([-6, 0, 6], 3)])
def test_wiggles_go_and_modes_stay(centres, expected):
    raw, grid = jagged(centres), np.linspace(-10, 10, 1000)
    smooth = smoothed(raw)
    assert all(modes(height) > expected for height in raw.pdf_grid(grid))
    assert [modes(height) for height in smooth.pdf_grid(grid)] == [expected] * 3
    moved = np.abs(smooth.cdf_grid(grid) - raw.cdf_grid(grid)).max(axis=1)
    assert (moved <= 1.05 * TOLERANCE).all()


def test_a_density_without_wiggles_stays_as_it_is():
    means = [[[-1.0], [1.0]], [[0.0], [0.0]], [[0.0], [5.0]]]
    covs = [[[[0.25]], [[0.25]]], [[[1.0]], [[1.0]]], [[[1.0]], [[0.04]]]]
    assert bandwidths(PredictiveMixture.of(means, covs)).tolist() == [0, 0, 0]


def test_widening_adds_variance():
    raw = jagged([0.0])
    wide = widened(raw, np.array([0.0, 1.0, 2.0]))
    assert np.allclose(wide.var() - raw.var(), [0, 1, 4])
    assert np.allclose(wide[1:].mean(), raw[1:].mean())


def test_several_outcomes_are_smoothed_one_by_one():
    joint = PredictiveMixture.of(np.zeros((2, 1, 2)), np.eye(2)[None, None])
    with pytest.raises(ValueError, match="2 outcomes"):
        bandwidths(joint)


def test_bands_are_widened_with_the_density(key):
    given, grid = densities(key), np.linspace(-80, 80, 1600)
    plain, wide = (bands(given, grid, 0.9, [0.5], widen) for widen in (0.0, np.full(4, 2.0)))
    step = grid[1] - grid[0]
    spread = [
        (b.pdf.mean * grid**2).sum(1) * step - ((b.pdf.mean * grid).sum(1) * step) ** 2
        for b in (plain, wide)
    ]
    assert np.allclose(spread[1] - spread[0], 4, atol=0.02)


def test_the_drawn_density_of_a_unimodal_fit_has_one_mode():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 1))
    small = {"hidden": (5,), "chains": 2, "warmup": 50, "draws": 20, "random_state": 0}
    model = BDeepNoiseRegressor(**small).fit(x, x[:, 0] + rng.normal(size=80))
    fine = to_draw(model).predict_density(x[:6])
    assert fine.n_components >= COMPONENTS
    assert model.paths == 10
    low, high = fine.quantile([0.001, 0.999]).T
    drawn = smoothed(fine).pdf_grid(np.linspace(low.min(), high.max(), 400))
    assert [modes(height) for height in drawn] == [1] * 6
