"""Families and sites stay on one side of a split."""

import numpy as np
import pytest

from deepnoise.datasets.neuro.features import Columns, load_neuro, read_subjects
from deepnoise.studies.neuro.fit import OPPONENTS, NeuroPlan, Task, split_rows
from tests.cli_toy import error, run
from tests.neuro import toy
from tests.neuro.hand import table_of
from tests.neuro.test_table import folder, read, table  # noqa: F401


def families(rows=60):
    return np.arange(rows) // 3


def test_whole_families_go_to_one_side():
    groups = families()
    data = table_of(np.arange(60.0), groups=groups)
    splits = list(split_rows(data, NeuroPlan(splits=5, test_share=0.2)))
    assert len(splits) == 5
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == 12
        assert sorted([*train, *test]) == list(range(60))
    plain = split_rows(table_of(np.arange(60.0)), NeuroPlan(splits=5, test_share=0.2))
    assert any(set(groups[train]) & set(groups[test]) for train, test in plain)


def test_too_few_groups():
    data = table_of(np.arange(60.0), groups=np.arange(60) // 30)
    with pytest.raises(
        ValueError, match=r"'family' has 2 of them, of which 1 would be left to fit"
    ):
        next(split_rows(data, NeuroPlan()))


def test_groups_are_read_and_are_no_covariate(folder):  # noqa: F811
    found = read(table(), folder, columns=Columns(groups="site"))
    assert list(found.groups) == ["1", "2", "3", "1", "2", "3"]
    assert list(found.covariates.columns) == ["age", "sex"]
    both = Columns(groups="site", covariates=("age", "site"))
    assert list(read(table(), folder, columns=both).covariates.columns) == ["age", "site"]
    assert read(table(), folder).groups is None
    frame = table()
    frame.loc[1, "age"] = np.nan
    loaded = load_neuro(
        frame, folder / "images", toy.atlas(), columns=Columns(groups="site"), missing="drop"
    )
    assert list(loaded.groups.index) == list(loaded.outcome.index) == ["s0", "s2", "s3", "s4", "s5"]


def test_slips_with_groups_are_named(folder):  # noqa: F811
    with pytest.raises(ValueError, match=r"groups: the table has no column 'family'; there are"):
        read(table(), folder, columns=Columns(groups="family"))
    with pytest.raises(ValueError, match=r"groups: 'g_score' is no column of groups"):
        read(table(), folder, columns=Columns(groups="g_score"))
    frame = table()
    frame["site"] = frame["site"].where(frame.index != 2)
    with pytest.raises(ValueError, match=r"groups: subject 's2' have none in column 'site'"):
        read(frame, folder, columns=Columns(groups="site"))


@pytest.mark.parametrize("name", ["ridge", "random forest"])
def test_opponents_do_not_learn_their_spread_from_siblings(name):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.arange(90) // 6)
    # Siblings share x and y, and x says nothing about strangers.
    X = table_of(np.zeros(90), rng.normal(size=(15, 8))[groups]).imaging
    y = rng.normal(size=15)[groups] + 0.05 * rng.normal(size=90)
    spread = {
        label: OPPONENTS[name](Task(X, y, X.iloc[:1], 0, (3,), known)).density.var()[0]
        for label, known in (("alone", None), ("grouped", groups))
    }
    assert spread["grouped"] > 1.1 * spread["alone"]


def test_the_command_line_names_a_missing_column(tmp_path):
    data = tmp_path / "subjects.csv"
    toy.maps(tmp_path / "images")
    table().to_csv(data, index=False)
    atlas, names = toy.save_atlas(tmp_path)
    options = ["--atlas", atlas, "--atlas-names", names, "--out", tmp_path / "out", "--quiet"]
    given = ["--table", data, "--images", tmp_path / "images", "--groups", "family"]
    text = error(run("study", "neuro", *given, *options), 2)
    assert "groups: the table has no column 'family'" in text
    simulated = run("study", "neuro", "--simulate", 30, "--groups", "site", *options)
    assert "not related: leave it out" in error(simulated, 2)
    assert read_subjects(data, tmp_path / "images").groups is None
