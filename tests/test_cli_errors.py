"""Bad input: one line that says what and where, the right status, and nothing lost."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deepnoise.cli.predict import quantile_name
from tests.cli_toy import ROWS, TINY, error, fit, home, run, table

__all__ = ["home"]


def changed(row, column, value):
    frame = table(ROWS, 0)
    frame[column] = frame[column].astype(object)
    frame.loc[row, column] = value
    return frame.to_csv(index=False)


TABLES = {
    "empty": ("", "is empty"),
    "blank lines": ("\n\n", "is empty"),
    "header only": ("id,size,y\n", "has no rows"),
    "one row": ("id,size,y\na,1,2\n", "has only one row; at least two are needed"),
    "target only": ("id,y\na,1\nb,2\n", "has no columns but the target"),
    "no target": ("id,size\na,1\nb,2\n", "no column 'y'; there are 'id', 'size'"),
    "no id": ("size,y\n1,2\n2,3\n", "--drop: data.csv has no column 'id'"),
    "twice": ("id,size,size,y\na,1,2,3\nb,1,2,3\n", "two columns are called 'size'"),
    "nameless": (",id,size,y\n0,a,1,2\n1,b,2,3\n", "column 1 has no name"),
    "long row": ("id,size,y\na,1,2\nb,2,3,4\n", "Expected 3 fields in line 3, saw 4"),
    "long rows": ("id,size,y\na,1,2,9\nb,2,3,9\n", "rows have more fields than the header"),
    "text": (changed(4, "size", "abc"), "column 'size', row 5 holds 'abc'"),
    "infinite": (changed(4, "size", np.inf), "column 'size', row 5 is infinite"),
    "text target": (changed(3, "y", "?"), "column 'y', row 4 holds '?', not a number"),
    "missing target": (changed(3, "y", np.nan), "column 'y', row 4 is missing"),
    "infinite target": (changed(3, "y", -np.inf), "column 'y', row 4 is infinite"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_cannot_be_fitted(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, message = TABLES[case]
    (tmp_path / "data.csv").write_text(text)
    found = error(fit("data.csv", "model", "--quiet"), 2)
    assert message in found
    assert "data.csv" in found
    assert not (tmp_path / "model").exists()


NEW_TABLES = {
    "extra": (lambda f: f.assign(weight=1), "columns not seen when fitting: 'weight'"),
    "missing": (lambda f: f.drop(columns="size"), "no column 'size', which the model needs"),
    "text": (lambda f: f.assign(size="big"), "column 'size', row 1 holds 'big', not a number"),
    "infinite": (lambda f: f.assign(age=np.inf), "column 'age', row 1 is infinite"),
}


@pytest.mark.parametrize("case", NEW_TABLES)
def test_tables_that_cannot_be_predicted(case, home, tmp_path):
    change, message = NEW_TABLES[case]
    change(pd.read_csv(home / "test.csv")).to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "out.csv"
    assert message in error(run("predict", home / "model", tmp_path / "new.csv", "--out", out), 2)
    assert not out.exists()


@pytest.mark.parametrize("name", ["x.xlsx", "x.csv.gz", "x.json"])
def test_tables_of_other_formats_are_refused_before_the_work(name, home, tmp_path):
    found = error(run("predict", tmp_path / "none", home / "test.csv", "--out", tmp_path / name), 2)
    ending = name[name.rindex(".") :]
    assert found.endswith(f"{name}: tables are written as .csv or .parquet, not as {ending}")
    assert not (tmp_path / name).exists()


def test_extra_columns_may_be_kept(home, tmp_path):
    pd.read_csv(home / "test.csv").assign(weight=1).to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", home / "model", tmp_path / "new.csv", "--keep", "weight")
    assert result.stdout.startswith("weight,mean,sd,q05,q50,q95\n1,")
    everything = run("predict", home / "model", tmp_path / "new.csv", "--keep", "all")
    assert everything.stdout.startswith("id,size,age,colour,y,weight,mean,")
    assert "no column 'z'" in error(
        run("predict", home / "model", tmp_path / "new.csv", "--keep", "z"), 2
    )


def test_files_that_are_no_tables(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00\x81")
    (tmp_path / "a.parquet").write_text("hello")
    assert "not UTF-8" in error(fit(tmp_path / "a.csv", tmp_path / "m"), 2)
    assert "is no Parquet file" in error(fit(tmp_path / "a.parquet", tmp_path / "m"), 2)
    assert "does not exist" in error(fit(tmp_path / "b.csv", tmp_path / "m"), 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hidden", "a,b"], "no list of widths"),
        (["--chains", "0"], "'--chains'"),
        (["--activation", "foo"], "activation must be"),
        (["--prior", "foo"], "prior must be"),
        (["--bogus"], "No such option"),
    ],
)
def test_bad_usage(home, tmp_path, options, message):
    assert message in error(fit(home / "train.csv", tmp_path / "model", *options), 2)
    assert not (tmp_path / "model").exists()


def test_bad_usage_elsewhere(home):
    model, test = home / "model", home / "test.csv"
    assert "Missing option '--out'" in error(run("fit", test, "--target", "y"), 2)
    assert "No such command" in error(run("bogus"), 2)
    assert "between 0 and 1" in error(run("predict", model, test, "--quantiles", "2"), 2)
    assert "no list of numbers" in error(run("predict", model, test, "--above", "a"), 2)
    assert "no column 'z'" in error(run("score", model, test, "--target", "z"), 2)
    sizes = run("study", "synthetic", "--out", home / "rows.jsonl", "--sizes", "1000,0")
    assert "no list of whole numbers from 1" in error(sizes, 2)
    bad = run("plot", model, test, "--out", home / "no", "--feature", "colour")
    assert "'colour' is no column of numbers" in error(bad, 2)


def test_outputs_that_cannot_be_written(home, tmp_path):
    (tmp_path / "file").write_text("precious")
    model, test = home / "model", home / "test.csv"
    taken, below = tmp_path / "file", tmp_path / "file" / "x"
    assert "exists: --force" in error(run("predict", model, test, "--out", taken), 2)
    assert "is a folder" in error(run("predict", model, test, "--out", tmp_path), 2)
    assert "no such folder" in error(run("predict", model, test, "--out", below), 2)
    assert "Not a directory" in error(fit(home / "train.csv", below), 1)
    assert "exists: --force" in error(fit(home / "train.csv", taken), 2)
    assert "is not a model" in error(fit(home / "train.csv", taken, "--force"), 2)
    assert "Not a directory" in error(run("plot", model, test, "--out", below), 1)
    assert taken.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder(home, tmp_path):
    tmp_path.chmod(0o500)
    result = run("predict", home / "model", home / "test.csv", "--out", tmp_path / "x.csv")
    assert "permission denied" in error(result, 1)
    assert "Permission denied" in error(fit(home / "train.csv", tmp_path / "m"), 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_when_predicting(home):
    result = run("predict", home / "model", home / "test.csv", "--out", "/dev/full", "--force")
    assert "No space left" in error(result, 1)


def test_damaged_models(home, tmp_path):
    folder, test = shutil.copytree(home / "model", tmp_path / "model"), home / "test.csv"
    draws = next(folder.glob("draws-*"))
    whole = draws.read_bytes()
    draws.write_bytes(whole[: len(whole) // 2])
    for command in (["predict", folder, test], ["score", folder, test], ["diagnose", folder]):
        assert "is damaged" in error(run(*command), 2)
    draws.write_bytes(whole)
    header = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps({**header, "version": 99}))
    assert "use a newer deepnoise" in error(run("score", folder, test), 2)
    assert "is not a model folder" in error(run("score", tmp_path / "none", test), 2)


def test_a_model_that_does_not_know_its_target(home, tmp_path):
    folder, test = shutil.copytree(home / "model", tmp_path / "model"), home / "test.csv"
    (folder / "table.json").write_text("{")
    assert "table.json is damaged" in error(run("score", folder, test), 2)
    (folder / "table.json").unlink()
    assert "use --target" in error(run("score", folder, test), 2)
    assert "not seen when fitting: 'id', 'y'" in error(run("predict", folder, test), 2)
    assert run("predict", folder, test, "--target", "y", "--keep", "id").exit_code == 0


def test_missing_packages(home, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        assert "tables need pandas" in error(fit(home / "train.csv", tmp_path / "m"), 1)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        result = run("plot", home / "model", home / "test.csv", "--out", tmp_path / "p")
        assert "pictures need matplotlib" in error(result, 1)


def test_debug_shows_where(home):
    result = run("score", home / "model", home / "test.csv", "--target", "z", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


def test_long_text_columns_are_remarked_upon(home, tmp_path, monkeypatch):
    monkeypatch.setattr("deepnoise.cli.chains.watch", lambda _: False)
    out = tmp_path / "model"
    result = run("fit", home / "train.csv", "--target", "y", "--out", out, *TINY, "--prior", "foo")
    assert "Warning: column 'id' is text with 24 different values" in result.stderr


def test_names_of_quantiles():
    assert [quantile_name(p) for p in (0.05, 0.5, 0.975, 0.07)] == ["q05", "q50", "q97.5", "q07"]
