"""Subjects: columns, identifiers, images by name, missing values; every slip is named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deepnoise.datasets.neuro.features import Columns, ImageOptions, load_neuro, read_subjects
from deepnoise.studies.neuro.fit import features, filled
from tests.neuro import toy


def table(count: int = 6) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "subject": [f"s{n}" for n in range(count)],
            "g_score": np.linspace(-1, 1, count),
            "age": np.linspace(9, 11, count),
            "sex": ["F", "M"] * (count // 2),
            "site": [1, 2, 3] * (count // 3),
        }
    )


@pytest.fixture
def folder(tmp_path):
    toy.maps(tmp_path / "images")
    return tmp_path


def read(frame, folder, **settings):
    return read_subjects(frame, folder / "images", **settings)


def test_images_are_found_by_name(folder):
    found = read(table(), folder)
    assert found.images["s3"].name == "sub-s3.nii.gz"
    assert list(found.covariates.columns) == ["age", "sex", "site"]
    assert list(found.outcome) == list(table()["g_score"])
    assert list(found.covariates.index) == list(found.images) == list(found.outcome.index)


@pytest.mark.parametrize(
    ("subject", "file"),
    [
        ("sub-NDAR_INV1", "NDAR_INV1.nii"),
        ("NDAR_INV1", "deep/er/sub-NDAR_INV1_task-nback_contrast.nii.gz"),
        ("007", "007.nii.gz"),
    ],
)
def test_names_of_files(tmp_path, subject, file):
    path = toy.write(tmp_path / "images" / file, np.ones(toy.GRID.shape))
    toy.write(tmp_path / "images" / "NDAR.nii.gz", np.ones(toy.GRID.shape))
    frame = table(6).iloc[:2].assign(subject=[subject, "NDAR"])
    frame.to_csv(tmp_path / "subjects.csv", index=False)
    assert read(tmp_path / "subjects.csv", tmp_path).images[subject] == path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_kinds_of_tables_and_a_column_of_images(folder, suffix):
    frame = table().assign(image=[f"images/sub-s{n}.nii.gz" for n in range(6)])
    path = folder / f"subjects{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    found = read_subjects(path)
    assert found.images["s5"] == folder / "images" / "sub-s5.nii.gz"
    pd.testing.assert_frame_equal(
        found.covariates, read(frame.drop(columns="image"), folder).covariates
    )


def test_codes_are_categories_if_asked(folder):
    columns = Columns(categorical=("site",))
    loaded = load_neuro(table(), folder / "images", toy.atlas(), columns=columns)
    X = features(loaded, np.arange(4), images=False)
    assert list(X.columns) == ["age", "sex=F", "sex=M", "site=1", "site=2", "site=3"]
    np.testing.assert_array_equal(X["site=2"], [0, 1, 0, 0, 1, 0])
    with_images = features(loaded, np.arange(4), images=True)
    assert tuple(with_images.columns[:8]) == toy.NAMES


def test_missing_covariates(folder):
    frame = table()
    frame.loc[1, "age"] = np.nan
    frame.loc[4, "sex"] = None
    with pytest.raises(ValueError, match=r"subject 's1': 'age' is missing \(2 subjects"):
        read(frame, folder)
    dropped = read(frame, folder, missing="drop")
    assert dropped.dropped == ("s1", "s4")
    assert list(dropped.images) == ["s0", "s2", "s3", "s5"]
    kept = read(frame, folder, missing="fill")
    train = np.array([0, 1, 2])
    full = filled(kept.covariates, train)
    assert full.loc["s1", "age"] == pytest.approx(np.median([9.0, 9.8]))
    np.testing.assert_array_equal(full["age missing"], [0, 1, 0, 0, 0, 0])
    assert list(full["sex"]) == ["F", "M", "F", "M", "missing", "M"]
    with pytest.raises(ValueError, match="'age' is missing for every training subject"):
        filled(kept.covariates, np.array([1]))


def test_a_missing_outcome_cannot_be_filled(folder):
    frame = table()
    frame.loc[2, "g_score"] = np.nan
    with pytest.raises(ValueError, match=r"subject 's2': 'g_score' is missing"):
        read(frame, folder, missing="fill")


SLIPS = {
    "subjects? 's1' stand in more": lambda f: f.replace({"subject": {"s2": "s1"}}),
    "row 3 has no identifier": lambda f: f.assign(subject=f["subject"].where(f.index != 2)),
    "no column 'subject' of subjects": lambda f: f.drop(columns="subject"),
    "no column 'g_score'": lambda f: f.drop(columns="g_score"),
    "subject 's9' have no image": lambda f: f.replace({"subject": {"s2": "s9"}}),
    "1 files belong to no row of the table: sub-s5.nii.gz": lambda f: f.iloc[:5],
    "there are no rows": lambda f: f.iloc[:0],
    "there are no covariates": lambda f: f[["subject", "g_score"]],
    "subject 's3': column 'age' holds 'ten', not a number": lambda f: f.assign(
        age=[9, 9, 9, "ten", 9, 9]
    ),
    "column 'visit' holds 6 different values that are no numbers": lambda f: f.assign(
        visit=pd.date_range("2020-01-01", periods=6)
    ),
    "subject 's4': column 'age' is infinite": lambda f: f.assign(age=[9, 9, 9, 9, np.inf, 9]),
    "subject 's0': column 'g_score' holds 'low'": lambda f: f.assign(g_score=["low"] + 5 * [1]),
    "no subject has all covariates": lambda f: f.assign(age=np.nan),
}


@pytest.mark.parametrize("message", SLIPS)
def test_slips_are_named(folder, message):
    frame = SLIPS[message](table())
    missing = "drop" if "no subject" in message else "refuse"
    with pytest.raises(ValueError, match=message):
        read(frame, folder, missing=missing)


def test_more_slips(folder):
    with pytest.raises(ValueError, match="no column 'weight'"):
        read(table(), folder, columns=Columns(covariates=("weight",)))
    with pytest.raises(ValueError, match="'g_score' is no covariate"):
        read(table(), folder, columns=Columns(covariates=("age", "g_score")))
    with pytest.raises(ValueError, match="missing must be one of"):
        read(table(), folder, missing="ignore")
    with pytest.raises(ValueError, match="name a folder"):
        read_subjects(table())
    with pytest.raises(ValueError, match="is no folder"):
        read_subjects(table(), folder / "nowhere")
    (folder / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no file \*\.nii"):
        read_subjects(table(), folder / "empty")
    toy.write(folder / "images" / "sub-s2_again.nii.gz", np.ones(toy.GRID.shape))
    with pytest.raises(ValueError, match=r"subject 's2' has two images, sub-s2.*sub-s2"):
        read(table(), folder)


def test_text_that_is_no_category(tmp_path):
    frame = table(30).assign(note=[f"note {n}" for n in range(30)])
    toy.maps(tmp_path / "images", 30)
    with pytest.raises(ValueError, match=r"'note' holds 30 different values .* leave it out"):
        read(frame, tmp_path)
    chosen = Columns(covariates=("age", "sex"))
    assert read(frame, tmp_path, columns=chosen).covariates.shape == (30, 2)


def test_a_column_of_images_that_are_not_there(folder):
    frame = table().assign(image=[f"sub-s{n}.nii.gz" for n in range(6)])
    with pytest.raises(ValueError, match="subject 's4' have no image in column 'image'"):
        read(frame.assign(image=frame["image"].where(frame.index != 4)), folder)
    (folder / "images" / "sub-s1.nii.gz").unlink()
    with pytest.raises(ValueError, match="the files of subject 's1' do not exist"):
        read(frame, folder)


def test_a_covariate_named_like_a_region(folder):
    frame = table().rename(columns={"age": "L low"})
    with pytest.raises(ValueError, match="'L low' is also the name of a region"):
        load_neuro(frame, folder / "images", toy.atlas())


def test_those_left_out_are_listed(folder):
    toy.damage(folder / "images" / "sub-s3.nii.gz")
    frame = table()
    frame.loc[0, "age"] = np.nan
    loaded = load_neuro(frame, folder / "images", toy.atlas(), missing="drop")
    assert [problem.subject for problem in loaded.problems] == ["s0", "s3"]
    assert list(loaded.outcome.index) == ["s1", "s2", "s4", "s5"]
    assert loaded.imaging.index.equals(loaded.covariates.index)
    options = ImageOptions(cache=Path(folder / "cache"))
    again = load_neuro(frame, folder / "images", toy.atlas(), missing="drop", options=options)
    pd.testing.assert_frame_equal(again.imaging, loaded.imaging)
