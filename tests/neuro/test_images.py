"""From maps to region means: right, in order, remembered, and with every bad image by name."""

import re

import nibabel as nib
import numpy as np
import pytest
from nilearn.maskers import NiftiLabelsMasker

from deepnoise.datasets.neuro import images as neuro_images
from deepnoise.datasets.neuro.atlas import MNI_3MM, mni_grid
from deepnoise.datasets.neuro.images import ImageOptions, extract
from tests.neuro import toy

ATLAS = toy.atlas()


@pytest.fixture
def images(tmp_path):
    return toy.maps(tmp_path)


def change(path, action):
    values = toy.values(path).copy()
    action(values)
    toy.write(path, values)


def test_region_means_are_nilearns(images):
    found = extract(images, ATLAS)
    assert list(found.means.index) == list(images)
    assert tuple(found.means.columns) == toy.NAMES
    masker = NiftiLabelsMasker(ATLAS.image(), standardize=None).fit()
    theirs = [masker.transform(nib.load(path)).ravel() for path in images.values()]
    np.testing.assert_allclose(found.means, np.stack(theirs), rtol=1e-5)


def test_one_map_in_a_fourth_axis_is_a_map(images):
    expected = extract(images, ATLAS).means
    toy.write(images["s2"], toy.values(images["s2"])[..., None])
    np.testing.assert_array_equal(extract(images, ATLAS).means, expected)


@pytest.mark.parametrize("kind", ["subject", "voxel", "both"])
def test_standardised_maps(images, kind):
    found = extract(images, ATLAS, ImageOptions(standardize=kind)).means
    inside = ATLAS.region >= 0
    voxels = np.stack([toy.values(path)[inside] for path in images.values()]).astype(float)
    if kind != "voxel":
        voxels = (voxels - voxels.mean(1, keepdims=True)) / voxels.std(1, keepdims=True)
    if kind != "subject":
        voxels = (voxels - voxels.mean(0)) / voxels.std(0)
    region = ATLAS.region[inside]
    expected = np.stack([voxels[:, region == r].mean(axis=1) for r in range(8)], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_images_of_any_grid_are_resampled(tmp_path):
    """A linear map is the same on every grid, and so are its region means."""
    images = {
        f"s{n}": linear_map(tmp_path / f"{n}.nii", size, 216) for n, size in enumerate((3, 5))
    }
    with pytest.raises(ValueError, match=r"subject 's1': image has 44 x .* where most have 73"):
        extract(images, ATLAS)
    found = extract(images, ATLAS, ImageOptions(resample=True))
    assert found.atlas.grid.same(MNI_3MM)
    np.testing.assert_allclose(found.means.loc["s0"], found.means.loc["s1"], atol=1e-4)


def test_voxels_outside_the_field_of_view_are_not_zeros(tmp_path):
    images = {
        f"s{n}": linear_map(tmp_path / f"{n}.nii", 4, edge) for n, edge in enumerate((216, 180))
    }
    with pytest.raises(ValueError, match=r"subject 's1': .* NaN or lie outside it, the first in"):
        extract(images, ATLAS, ImageOptions(resample=True))
    found = extract(images, ATLAS, ImageOptions(resample=True, nan_voxels="skip")).means
    np.testing.assert_allclose(found["L low"]["s0"], found["L low"]["s1"], atol=1e-4)


def linear_map(path, size, edge):
    grid = mni_grid(float(size), tuple(int(edge / size) + 1 for _ in range(3)))
    world = np.moveaxis(np.indices(grid.shape), 0, -1) @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    return toy.write(path, world @ [0.02, -0.01, 0.03] + 5, grid.affine)


def test_a_damaged_image_is_reported_and_the_rest_go_on(images):
    expected = extract(images, ATLAS).means
    toy.damage(images["s1"])
    images["s3"].write_text("no image at all")
    images["s4"].write_bytes(b"")
    found = extract(images, ATLAS)
    assert sorted(problem.subject for problem in found.problems) == ["s1", "s3", "s4"]
    assert all("cannot be read" in problem.reason for problem in found.problems)
    np.testing.assert_array_equal(found.means, expected.loc[["s0", "s2", "s5"]])


def poke(value):
    return lambda values: values.__setitem__(ATLAS.region == 5, value)


BAD = {
    "has 12 voxels that are NaN, the first in 'R high'": poke(np.nan),
    "has 12 infinite voxels": poke(np.inf),
    "is empty .* in 'R high'": poke(0.0),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_voxels_name_the_subject(images, message):
    count = int(np.sum(ATLAS.region == 5))
    message = message.replace("12", str(count))
    change(images["s2"], BAD[message.replace(str(count), "12")])
    with pytest.raises(ValueError, match=f"subject 's2': image {message}"):
        extract(images, ATLAS)
    found = extract(images, ATLAS, ImageOptions(skip_bad=True))
    assert [problem.subject for problem in found.problems] == ["s2"]
    assert list(found.means.index) == ["s0", "s1", "s3", "s4", "s5"]


def test_several_bad_images_are_named_at_once(images):
    for name in ("s0", "s2", "s3", "s5"):
        change(images[name], poke(np.nan))
    with pytest.raises(ValueError, match=r"'s0'.*'s2'.*'s3'.*and 1 more"):
        extract(images, ATLAS)


def test_nan_voxels_may_be_left_out(images):
    one = tuple(np.argwhere(ATLAS.region == 5)[0])
    others = toy.values(images["s2"])[ATLAS.region == 5][1:].mean()
    change(images["s2"], lambda values: values.__setitem__(one, np.nan))
    found = extract(images, ATLAS, ImageOptions(nan_voxels="skip")).means
    assert found.loc["s2", "R high"] == pytest.approx(others, rel=1e-6)
    change(images["s2"], poke(np.nan))
    with pytest.raises(ValueError, match=r"'s2': image is empty"):
        extract(images, ATLAS, ImageOptions(nan_voxels="skip"))


def test_nan_outside_the_regions_is_no_matter(images):
    expected = extract(images, ATLAS).means
    change(images["s2"], lambda values: values.__setitem__(ATLAS.region < 0, np.nan))
    np.testing.assert_array_equal(extract(images, ATLAS).means, expected)


def test_resampling_keeps_nan_where_it_was(tmp_path):
    grid = mni_grid(6.0, (31, 37, 31))
    values = np.ones(grid.shape)
    values[:10] = np.nan
    moved = neuro_images.resampled(values, grid, MNI_3MM)
    assert np.isnan(moved[:17]).all()
    np.testing.assert_allclose(moved[20:40, 20:40, 20:40], 1, atol=1e-6)


def test_shapes_and_affines_must_agree(images):
    toy.write(images["s4"], toy.values(images["s4"])[:-1])
    with pytest.raises(ValueError, match=r"subject 's4': image has 12 x 15 x 11 voxels of 15"):
        extract(images, ATLAS)
    shifted = toy.GRID.affine.copy()
    shifted[0, 3] += 4
    toy.write(images["s4"], np.ones(toy.GRID.shape), shifted)
    with pytest.raises(ValueError, match=r"subject 's4': .* from \(-86, -126, -72\)"):
        extract(images, ATLAS)
    assert len(extract(images, ATLAS, ImageOptions(skip_bad=True)).means) == 5


def test_a_series_of_maps_is_refused(images):
    toy.write(images["s4"], np.ones((*toy.GRID.shape, 3)))
    with pytest.raises(ValueError, match=r"subject 's4': image must be one map of three axes"):
        extract(images, ATLAS)


def test_a_constant_map_cannot_be_standardised(images):
    toy.write(images["s4"], np.ones(toy.GRID.shape))
    with pytest.raises(ValueError, match=r"subject 's4': image has the same value in every voxel"):
        extract(images, ATLAS, ImageOptions(standardize="subject"))


def test_nothing_left(images):
    for path in images.values():
        toy.damage(path)
    with pytest.raises(ValueError, match=r"no image can be used; subject 's0': image cannot be"):
        extract(images, ATLAS)
    with pytest.raises(ValueError, match="there is no subject"):
        extract({}, ATLAS)


def test_a_mask_leaves_voxels_out(images, tmp_path):
    half = np.indices(toy.GRID.shape)[1] % 2
    mask = toy.write(tmp_path / "mask.nii", half)
    found = extract(images, ATLAS, ImageOptions(mask=mask)).means
    expected = toy.values(images["s0"])[(ATLAS.region == 3) & (half > 0)].mean()
    assert found.loc["s0", toy.NAMES[3]] == pytest.approx(expected, rel=1e-5)
    wrong = toy.write(tmp_path / "wrong.nii", half[1:])
    with pytest.raises(ValueError, match=r"mask .*wrong\.nii has 12 x 15"):
        extract(images, ATLAS, ImageOptions(mask=wrong))


def test_region_means_are_remembered_by_content(images, tmp_path, monkeypatch):
    cache, read = tmp_path / "cache", []
    original = neuro_images.Extraction.region_means

    def counted(self, path):
        read.append(path)
        return original(self, path)

    monkeypatch.setattr(neuro_images.Extraction, "region_means", counted)
    options = ImageOptions(cache=cache)
    first = extract(images, ATLAS, options).means
    assert len(read) == 6
    np.testing.assert_array_equal(extract(images, ATLAS, options).means, first)
    assert len(read) == 6
    change(images["s1"], lambda values: values.__iadd__(1))
    again = extract(images, ATLAS, options).means
    assert read[6:] == [images["s1"]]
    np.testing.assert_allclose(again.loc["s1"], first.loc["s1"] + 1, rtol=1e-5)
    extract(images, ATLAS, ImageOptions(cache=cache, standardize="subject"))
    assert len(read) == 13
    assert all(re.fullmatch(r"[0-9a-f]{64}\.npy", file.name) for file in cache.iterdir())


def test_progress_counts_every_image(images):
    seen = []
    extract(images, ATLAS, ImageOptions(standardize="voxel"), lambda *now: seen.append(now))
    assert seen == [(n, 12) for n in range(1, 13)]


def test_bad_options():
    with pytest.raises(ValueError, match="standardize must be one of"):
        ImageOptions(standardize="all")
    with pytest.raises(ValueError, match="nan_voxels must be one of"):
        ImageOptions(nan_voxels="zero")
    with pytest.raises(ValueError, match="jobs must be"):
        ImageOptions(jobs=0)
