"""skpro's own checks on our distribution and on the adapter."""

import numpy as np
import pytest

from deepnoise.prediction.density.mixture import PredictiveMixture

pytest.importorskip("skpro")

import pandas as pd
from skpro.utils.estimator_checks import check_estimator

from deepnoise.estimators.skpro import BDeepNoiseProba, MixtureDistribution

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "cls", [MixtureDistribution, pytest.param(BDeepNoiseProba, marks=pytest.mark.slow)]
)
def test_skpro_checks(cls):
    check_estimator(cls, raise_exceptions=True, verbose=False)


@pytest.fixture
def standard_normal():
    return MixtureDistribution(PredictiveMixture.of([[[0.0]], [[0.0]]], [[[[1.0]]]]))


def test_energy_is_exact(standard_normal):
    assert np.allclose(standard_normal.energy(), 2 / np.sqrt(np.pi))
    at_zero = standard_normal.energy([[0.0], [0.0]])
    assert np.allclose(at_zero, np.sqrt(2 / np.pi))


def test_energy_gives_the_crps():
    rng = np.random.default_rng(0)
    density = PredictiveMixture.of(rng.normal(size=(5, 3, 1)), rng.gamma(2, size=(5, 3, 1, 1)))
    y = rng.normal(size=(5, 1))
    wrapped = MixtureDistribution(density)
    crps = wrapped.energy(y).to_numpy() - 0.5 * wrapped.energy().to_numpy()
    assert np.allclose(crps[:, 0], density.crps(y[:, 0]))


def test_subsets_keep_their_entries():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(4, 3, 2, 2))
    covs = factors @ factors.swapaxes(-1, -2) + np.eye(2)
    density = PredictiveMixture.of(rng.normal(size=(4, 3, 2)), covs)
    whole = MixtureDistribution(density, index=list("abcd"), columns=["u", "v"])
    part = whole.loc[["d", "a"], ["v"]]
    # Some processors round sums over one outcome, or over two rows, differently.
    expected = whole.var().loc[["d", "a"], ["v"]]
    pd.testing.assert_frame_equal(part.var(), expected, rtol=1e-14)
    swapped = whole.iloc[[1, 2], [1, 0]].mean()
    expected = whole.mean().iloc[[1, 2], [1, 0]]
    pd.testing.assert_frame_equal(swapped, expected, rtol=1e-14)
    assert whole.iat[2, 1].mean() == pytest.approx(whole.mean().iat[2, 1], rel=1e-14)
