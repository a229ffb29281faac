"""The simulated cohort: its law is what it says, its files are real, its seed decides it."""

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import scipy.stats

from deepnoise.datasets.neuro.cohort import (
    PREFERRED,
    SplitNormal,
    activations,
    cohort_truth,
    simulate_cohort,
)
from deepnoise.datasets.neuro.features import load_neuro
from tests.neuro import toy
from tests.statistics import ALPHA

MIDPOINTS = (np.arange(200_000) + 0.5) / 200_000


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return simulate_cohort(tmp_path_factory.mktemp("cohort"), toy.atlas(), 40, seed=3)


@pytest.fixture(scope="module")
def table(cohort):
    return load_neuro(cohort.table, cohort.images, cohort.atlas)


@pytest.mark.parametrize("skew", [-0.7, 0.0, 0.4])
def test_a_split_normal_has_its_moments(skew):
    law = SplitNormal(np.array([1.5]), np.array([0.7]), np.array([skew]))
    values = law.quantile(MIDPOINTS)[0]
    assert values.mean() == pytest.approx(1.5, abs=1e-4)
    assert values.std() == pytest.approx(0.7, abs=1e-3)
    third = np.mean(((values - 1.5) / 0.7) ** 3)
    assert np.sign(round(third, 3)) == np.sign(skew)
    assert (np.diff(values) > 0).all()
    # The halves meet at the mode, with the share of the left one below it.
    left = scipy.stats.norm.ppf(0.25) * (1 - skew)
    half = 0.7 / np.sqrt(1 - skew**2 + 4 * skew**2 * (1 - 2 / np.pi))
    mode = law.quantile([(1 - skew) / 2])[0, 0]
    assert law.quantile([0.25 * (1 - skew)])[0, 0] == pytest.approx(mode + half * left)


def features_of(table):
    return pd.concat([table.imaging, table.covariates], axis=1)


def test_true_influence_is_the_gradient_of_the_law(cohort, table):
    features, step = features_of(table).select_dtypes("number"), 1e-5
    found = cohort.truth.influence(features)
    assert (found.loc[list(cohort.truth.spread), "sd"] > 0).all()
    for name in features.columns:
        scale = cohort.truth.scale.get(name, 1.0)
        up, down = (features.assign(**{name: features[name] + s * step * scale}) for s in (1, -1))
        laws = cohort.truth.law(up), cohort.truth.law(down)
        for part in ("mean", "sd"):
            slope = (getattr(laws[0], part) - getattr(laws[1], part)) / (2 * step)
            assert found.loc[name, part] == pytest.approx(np.abs(slope).mean(), abs=1e-7)


def test_outcomes_follow_the_law(cohort, table):
    """Many outcomes at the same features, against the law's own quantiles."""
    law = cohort.truth.law(features_of(table))
    rng = np.random.default_rng(0)
    draws = np.stack([law.sample(rng) for _ in range(100)])
    edges = law.quantile(np.linspace(0.1, 0.9, 9))
    counts = np.bincount((draws[..., None] > edges).sum(axis=-1).ravel(), minlength=10)
    assert scipy.stats.chisquare(counts).pvalue > ALPHA
    assert np.ptp(law.sd) > 0.3 * law.sd.mean()
    assert law.skew.min() < -0.2 < 0.2 < law.skew.max()


def test_files_are_real_and_hold_what_the_truth_used(cohort, table):
    written = pd.read_csv(cohort.table)
    assert list(written.columns[:2]) == ["subject", "g_score"]
    assert written.shape == (40, 10)
    assert len(list(cohort.images.glob("*.nii.gz"))) == 40
    image = nib.load(cohort.images / "sub-0001.nii.gz")
    assert image.shape == toy.GRID.shape
    np.testing.assert_array_equal(image.affine, toy.GRID.affine)
    centre = pd.Series(cohort.truth.centre)
    regions = [name for name in centre.index if name in toy.NAMES]
    assert len(regions) >= 3
    np.testing.assert_allclose(table.imaging[regions].mean(), centre[regions], rtol=1e-12)


def test_the_seed_decides_everything(cohort, tmp_path):
    again = simulate_cohort(tmp_path / "a", toy.atlas(), 40, seed=3, jobs=1)
    other = simulate_cohort(tmp_path / "b", toy.atlas(), 40, seed=4)
    assert again.table.read_bytes() == cohort.table.read_bytes()
    name = "sub-0007.nii.gz"
    mine = toy.values(cohort.images / name)
    np.testing.assert_array_equal(toy.values(again.images / name), mine)
    assert np.abs(toy.values(other.images / name) - mine).max() > 0.1
    with pytest.raises(ValueError, match="at least 2"):
        simulate_cohort(tmp_path / "c", toy.atlas(), 1)


def test_maps_are_smooth(cohort):
    values = toy.values(cohort.images / "sub-0003.nii.gz")
    inside = (toy.atlas().region[:-1] >= 0) & (toy.atlas().region[1:] >= 0)
    neighbours = values[:-1][inside], values[1:][inside]
    assert np.corrcoef(*neighbours)[0, 1] > 0.5


def test_mirrored_regions_agree_most():
    atlas = toy.atlas()
    drawn = activations(np.random.default_rng(0), atlas, 4000)
    np.testing.assert_allclose(drawn.var(axis=0), 1, atol=0.12)
    mirrored = np.corrcoef(drawn.T)[np.arange(4), np.arange(4, 8)]
    np.testing.assert_allclose(mirrored, 0.5, atol=0.06)


def test_regions_that_matter():
    named = cohort_truth((*PREFERRED, "Hippocampus_L", "Thalamus_R", "Amygdala_L"))
    assert set(PREFERRED) <= set(named.on_mean)
    small = cohort_truth(toy.NAMES)
    assert len([name for name in small.on_mean if name in toy.NAMES]) == 2
    assert len([name for name in small.spread if name in toy.NAMES]) == 3
