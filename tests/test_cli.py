"""The command line from a table to pictures, and what stops it half way."""

import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from deepnoise import BDeepNoiseRegressor, load
from deepnoise.cli import main
from tests.cli_toy import ROWS, SETTINGS, TEST_ROWS, error, fit, home, predicted, run, table

__all__ = ["home"]
HEAVY = {"jax", "matplotlib", "numpy", "pandas", "polars", "scipy", "sklearn"}


@pytest.fixture
def model(home, tmp_path):
    """A copy that may be changed."""
    return shutil.copytree(home / "model", tmp_path / "model")


def test_help_imports_nothing_heavy():
    code = f"import sys, deepnoise.cli; assert not {HEAVY} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_help():
    listing = run("--help")
    assert listing.exit_code == 0
    for name, command in main.commands.items():
        assert name in listing.stdout
        assert "..." not in command.get_short_help_str(limit=60)
        shown = run(name, "--help").stdout
        assert "--debug" in shown
        assert '""' not in shown, "an empty default says nothing"


def test_fit_has_the_defaults_of_the_estimator():
    theirs = BDeepNoiseRegressor().get_params()
    needed = ["-", "--target", "y", "--out", "model"]
    ours = main.commands["fit"].make_context("fit", needed).params
    shared = {name: value for name, value in ours.items() if name in theirs}
    assert set(theirs) - set(shared) == {"progress", "random_state"}
    assert shared == {name: theirs[name] for name in shared}


def test_fit(home):
    summary = json.loads((home / "fit.json").read_text())
    assert (summary["rows"], summary["columns"], summary["draws"]) == (ROWS, 3, 10)
    assert {"max_rhat", "min_ess", "verdict", "advice", "seed"} <= set(summary)
    assert load(home / "model").encoder_.feature_names == (
        "size",
        "age",
        "colour=blue",
        "colour=red",
    )


def test_predict(home, tmp_path):
    out = tmp_path / "predicted.csv"
    options = ["--quantiles", "0.025,0.5,0.95", "--above", "50,1e3", "--keep", "id"]
    result = run("predict", home / "model", home / "test.csv", "--out", out, *options)
    assert (result.exit_code, result.output) == (0, "")
    found = pd.read_csv(out)
    risks = [f"p_above_{c}{end}" for c in (50, 1000) for end in ("", "_low", "_high")]
    assert list(found) == ["id", "mean", "sd", "q02.5", "q50", "q95", *risks]
    assert list(found["id"]) == [f"r{n}" for n in range(TEST_ROWS)]
    estimator, X = load(home / "model"), pd.read_csv(home / "test.csv").drop(columns=["id", "y"])
    assert np.allclose(found["mean"], estimator.predict(X))
    assert np.allclose(found[risks[:3]], estimator.predict_above(X, 50))


@pytest.mark.filterwarnings("always:X. not there when fitting")
def test_missing_features_and_unseen_levels(tmp_path):
    train, test = table(ROWS, 0), table(TEST_ROWS, 1)
    train.loc[4, "size"], train.loc[6, "colour"] = np.nan, None
    test.loc[0, "age"], test.loc[1, "colour"] = np.nan, "green"
    train.to_csv(tmp_path / "train.csv", index=False)
    test.to_csv(tmp_path / "test.csv", index=False)
    assert fit(tmp_path / "train.csv", tmp_path / "model", "--quiet").exit_code == 0
    result = run("predict", tmp_path / "model", tmp_path / "test.csv")
    assert "green" in result.stderr
    assert np.isfinite(pd.read_csv(io.StringIO(result.stdout))).all(axis=None)
    of_whole_rows = {"influence", "heatmap"}
    for rows, whole, names in ((test, TEST_ROWS - 2, of_whole_rows), (test[:1], 0, set())):
        rows.to_csv(tmp_path / "some.csv", index=False)
        result = run("plot", tmp_path / "model", tmp_path / "some.csv", "--out", tmp_path / "p")
        assert result.exit_code == 0, result.output
        assert f"{whole} rows without missing values" in result.stderr
        drawn = {path.stem for path in (tmp_path / "p").iterdir()}
        assert drawn == {"ridge", "fan", "trace", "rank", "calibration", "sharpness"} | names
        shutil.rmtree(tmp_path / "p")
    bad = run("plot", tmp_path / "model", tmp_path / "some.csv", "--out", "p", "--feature", "no")
    assert "--feature: 'no' is no column of numbers" in bad.stderr


def test_predict_through_pipes_and_parquet(home, tmp_path):
    straight = predicted(home / "model", home / "test.csv")
    piped = run("predict", home / "model", "-", input=(home / "test.csv").read_bytes())
    assert piped.stdout == straight
    table(TEST_ROWS, 1).to_parquet(tmp_path / "test.parquet")
    out = tmp_path / "out.parquet"
    assert run("predict", home / "model", tmp_path / "test.parquet", "--out", out).exit_code == 0
    assert np.allclose(pd.read_parquet(out), pd.read_csv(io.StringIO(straight)))


def test_columns_are_matched_by_name_and_separators_found(home, tmp_path):
    test = pd.read_csv(home / "test.csv")
    test[test.columns[::-1]].to_csv(tmp_path / "other.csv", index=False, sep=";")
    straight = predicted(home / "model", home / "test.csv")
    assert predicted(home / "model", tmp_path / "other.csv") == straight
    test.drop(columns=["id", "y"]).to_csv(tmp_path / "bare.csv", index=False)
    assert predicted(home / "model", tmp_path / "bare.csv") == straight


def test_a_model_without_column_names(tmp_path):
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    made = BDeepNoiseRegressor(**SETTINGS, random_state=0).fit(X, X[:, 0])
    made.save(tmp_path / "model")
    data = tmp_path / "x.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(y=X[:, 0]).to_csv(data, index=False)
    found = pd.read_csv(io.StringIO(predicted(tmp_path / "model", data, "--target", "y")))
    assert np.allclose(found["mean"], made.predict(X))
    message = error(run("predict", tmp_path / "model", data), 2)
    assert "4 columns without names, there are 5" in message
    drawn = run("plot", tmp_path / "model", data, "--target", "y", "--out", tmp_path / "p")
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "p" / "heatmap.png").exists()


def test_score(home):
    people = run("score", home / "model", home / "test.csv")
    report = json.loads(run("score", home / "model", home / "test.csv", "--json").stdout)
    assert report["rows"] == TEST_ROWS
    assert {"rmse", "nll", "crps", "coverage_90"} <= set(report)
    assert f"{report['rmse']:.6g}" in people.stdout


def test_diagnose(home):
    result = run("diagnose", home / "model")
    assert "2 chains of 10 draws" in result.stdout
    table, said = result.stdout.splitlines()[:11], result.stdout.splitlines()[11:]
    assert re.match(r"log density, row \d+ ", table[-1])
    assert said[-1].startswith("next: deepnoise resume")
    found = json.loads(run("diagnose", home / "model", "--json").stdout)
    assert len(found["rows"]) == 3 * ROWS
    assert len(run("diagnose", home / "model", "--all").stdout.splitlines()) == 3 * ROWS + 4


def test_influence(home):
    rows = json.loads(run("influence", home / "model", home / "test.csv", "--json").stdout)
    names = [row["column"] for row in rows]
    assert sorted(names) == ["age", "colour", "colour=blue", "colour=red", "size"]
    assert names.index("colour=blue") == names.index("colour") + 1
    columns = [row for row in rows if row["size"] is not None]
    assert columns == sorted(columns, key=lambda row: -row["size"])
    for row in columns:
        assert row["clear"] == (row["size"] > row["floor"])
        assert (row["direction"] is None) == (row["column"] == "colour")
    text = run("influence", home / "model", home / "test.csv").stdout
    noise = [line for line in text.splitlines() if "not distinguishable from noise" in line]
    assert len(noise) == sum(not row["clear"] for row in rows)


def test_plot(home, tmp_path):
    out = tmp_path / "pictures"
    command = ["plot", home / "model", home / "test.csv", "--out", out, "--feature", "size"]
    result = run(*command)
    assert result.exit_code == 0, result.output
    names = "calibration fan heatmap influence rank ridge sharpness trace"
    assert " ".join(sorted(path.stem for path in out.iterdir())) == names
    for path in out.iterdir():
        assert str(path) in result.stdout
        with Image.open(path) as picture:
            assert min(picture.size) > 200
    assert "exists: --force replaces it" in error(run(*command), 2)


def test_resume_equals_a_longer_fit(home, model, tmp_path):
    assert "already has 10 draws per chain" in error(run("resume", model), 2)
    summary = json.loads(run("resume", model, "--draws", 14, "--json").stdout)
    assert summary["draws"] == 14
    whole = tmp_path / "whole"
    assert fit(home / "train.csv", whole, "--draws", 14, "--quiet").exit_code == 0
    both = [predicted(folder, home / "test.csv") for folder in (model, whole)]
    assert both[0] == both[1]


def interrupt(monkeypatch, when):
    """Ctrl-C as soon as ``when(sweeps, draws)``."""

    def watch(_):
        def report(done, _, posterior):
            if when(done, posterior.run.n_draws):
                raise KeyboardInterrupt

        return report

    monkeypatch.setattr("deepnoise.cli.chains.watch", watch)


@pytest.mark.parametrize("when", [lambda t, n: n >= 3, lambda t, n: t >= 3], ids=["draws", "warm"])
def test_an_interrupted_fit_is_continued(home, tmp_path, monkeypatch, when):
    folder = tmp_path / "model"
    with monkeypatch.context() as patch:
        interrupt(patch, when)
        message = error(fit(home / "train.csv", folder), 1)
    assert message.startswith("interrupted")
    assert f"continue with: deepnoise resume {folder}" in message
    assert run("resume", folder).exit_code == 0
    both = [predicted(f, home / "test.csv") for f in (folder, home / "model")]
    assert both[0] == both[1]


def test_an_interrupted_replacement_leaves_the_old_model(home, model, monkeypatch):
    before = predicted(model, home / "test.csv")
    assert "exists: --force replaces it" in error(fit(home / "train.csv", model), 2)
    with monkeypatch.context() as patch:
        interrupt(patch, lambda t, n: n >= 3)
        message = error(fit(home / "train.csv", model, "--force", "--seed", 1), 1)
    assert f"are kept in {model}.fitting" in message
    assert predicted(model, home / "test.csv") == before
    assert fit(home / "train.csv", model, "--force", "--seed", 1).exit_code == 0
    assert [path.name for path in model.parent.iterdir()] == ["model"]
    assert predicted(model, home / "test.csv") != before


def test_a_separate_checkpoint_is_continued(home, tmp_path, monkeypatch):
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    with monkeypatch.context() as patch:
        interrupt(patch, lambda t, n: n >= 3)
        error(fit(home / "train.csv", out, "--checkpoint", checkpoint), 1)
    assert not out.exists()
    refused = fit(home / "train.csv", home / "model", "--checkpoint", checkpoint)
    assert "exists: --force" in error(refused, 2)
    assert fit(home / "train.csv", out, "--checkpoint", checkpoint).exit_code == 0
    both = [predicted(f, home / "test.csv") for f in (out, home / "model")]
    assert both[0] == both[1]


def test_a_full_disk_costs_nothing(home, model, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = predicted(model, home / "test.csv")
    with monkeypatch.context() as patch:
        patch.setattr("deepnoise.inference.model_folder.to_disk", full)
        assert "No space left" in error(run("resume", model, "--draws", 14), 1)
        assert "No space left" in error(fit(home / "train.csv", tmp_path / "new"), 1)
    assert not (tmp_path / "new").exists()
    assert predicted(model, home / "test.csv") == before


def test_demo(tmp_path):
    result = run("demo", "--quick", "--out", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    assert "one Gaussian" in result.stdout
    assert "chains" in result.stdout
    assert (tmp_path / "demo" / "heatmap.png").exists()
