"""Running studies: stopped and continued, failing, in processes, by the command line."""

import json
import math

import numpy as np
import pytest

from deepnoise.baselines import registry
from deepnoise.cli import main
from deepnoise.studies import runner
from deepnoise.studies.ledger import Ledger
from deepnoise.studies.paper import SyntheticStudy, UciStudy
from deepnoise.studies.runner import OutcomeJudge, header, peak_memory
from deepnoise.studies.spec import Case, Spec, read_spec
from tests.cli_toy import run as command

from .toy import quick_study, uci_folder


def test_a_stopped_study_goes_on_where_it_stopped(tmp_path, monkeypatch):
    study, ledger = quick_study(tmp_path)
    real, count = runner.work, iter(range(10))

    def interrupted(task):
        if next(count) == 2:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(runner, "work", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(study, ledger)
    assert [row["split"] for row in ledger.rows()] == [0, 1]
    monkeypatch.setattr(runner, "work", real)
    assert runner.run(study, ledger) == 1
    assert runner.run(study, ledger) == 0
    assert [row["split"] for row in ledger.rows()] == [0, 1, 2]
    assert list(tmp_path.glob("*.claims")) == []


def test_a_row_says_all_that_is_needed_to_make_it_again(tmp_path):
    study, ledger = quick_study(tmp_path, splits=1)
    runner.run(study, ledger)
    (row,) = ledger.rows()
    assert row["settings"] == {"restarts": 0}
    assert row["settings_hash"] == study.spec.settings_hash("gp")
    assert {"deepnoise", "jax"} <= set(row["versions"])
    assert {"rmse", "nll", "crps", "coverage95", "wepi95", "lattice_nll"} == set(row["metrics"])
    assert row["fit_seconds"] > 0
    assert row["memory_mib"] > 10
    assert row["rows"] == 60
    # The law that y follows can be told from its mass, and never from more than all of it.
    assert 0 < row["metrics"]["lattice_nll"] < math.log(6)


def test_a_failed_row_is_told_and_the_study_goes_on(tmp_path):
    study, ledger = quick_study(tmp_path, gp={"restarts": -1})
    said = []
    assert runner.run(study, ledger, say=said.append) == 3
    assert all("restarts must be" in row["error"] for row in ledger.rows())
    assert "failed: ValueError" in said[0]
    assert runner.run(study, ledger) == 0
    assert runner.run(study, Ledger(ledger.path, retry=True)) == 3


def test_a_method_whose_package_is_absent_is_skipped_with_a_message(tmp_path, monkeypatch):
    absent = registry._peer("Other", "Nothing", "no_such_package")
    monkeypatch.setitem(registry.METHODS, "gp", absent)
    study, ledger = quick_study(tmp_path)
    said = []
    assert runner.run(study, ledger, say=said.append) == 0
    assert said == ["skipped: Other needs no_such_package: pip install 'deepnoise[peers]'"]
    with pytest.raises(ModuleNotFoundError, match="needs no_such_package"):
        registry.make("gp")


@pytest.mark.slow
def test_two_processes_make_the_same_rows_as_one(tmp_path):
    study, ledger = quick_study(tmp_path)
    assert runner.run(study, ledger) == 3
    _, other = quick_study(tmp_path / "data")
    assert runner.run(study, other, jobs=2) == 3
    scores = [{row["split"]: row["metrics"] for row in led.rows()} for led in (ledger, other)]
    assert scores[0] == scores[1]


def test_the_synthetic_protocol():
    study = SyntheticStudy(read_spec("synthetic-smoke"))
    task = study.task(Case("de", "skewed-60", 1, 0))
    again = study.task(Case("cqr", "skewed-60", 1, 0))
    other = study.task(Case("de", "skewed-60", 0, 0))
    assert task.X.shape == (60, 1)
    assert task.judge.truth.shape == (100, 100)
    assert np.array_equal(task.X, again.X)
    assert not np.array_equal(task.X, other.X)


def test_wepi_of_quantiles_is_that_of_the_density():
    x = np.random.default_rng(0).normal(size=(200, 1))
    y = x[:, 0] + 0.5 * np.random.default_rng(1).normal(size=200)
    model = registry.make("gp", restarts=0).fit(x, y)
    exact = OutcomeJudge(y).of_density(model.predict_density(x))
    by_quantiles = OutcomeJudge(y).of_quantiles(model, x)
    assert by_quantiles["wepi95"] == pytest.approx(exact["wepi95"], rel=0.05)
    assert by_quantiles["wepi95"] >= exact["wepi95"]
    assert by_quantiles["crps"] == pytest.approx(exact["crps"], rel=1e-6)


def test_infinite_scores_are_null_in_the_ledger():
    assert runner.finite({"wepi95": math.inf, "rmse": 1}) == {"wepi95": None, "rmse": 1.0}


def test_memory_is_counted_from_now_on():
    peak = peak_memory()
    before = peak()
    block = np.ones(50_000_000 // 8)
    assert peak() > before + 20
    assert block.sum() > 0


@pytest.mark.parametrize("study", ["uci", "synthetic"])
def test_the_smoke_specs_run_whole(study, tmp_path):
    ledger = tmp_path / "l.jsonl"
    options = ["--out", ledger, "--smoke"]
    if study == "uci":
        options += ["--data", uci_folder(tmp_path / "data", splits=2)]
    else:
        options += ["--figure", tmp_path / "figure.png"]
    done = command("study", study, *options)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert not [row["error"] for row in rows if "error" in row]
    spec = read_spec(f"{study}-smoke")
    assert len(rows) == len(spec.methods) * len(spec.set_names()) * spec.splits
    for style in ("text", "markdown", "latex"):
        shown = command("table", ledger, "--format", style)
        assert shown.exit_code == 0
        assert "B-DeepNoise" in shown.stdout
    if study == "synthetic":
        assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.slow
def test_only_a_method_that_can_be_told_is_told_what_was_rounded(tmp_path):
    study = UciStudy(Spec("uci", ("bdeepnoise", "gp"), ("wine",), 1), uci_folder(tmp_path / "data"))
    ours, theirs = map(study.task, study.cases())
    np.testing.assert_array_equal(ours.outcomes.upper - ours.outcomes.lower, 1.0)
    np.testing.assert_array_equal(theirs.outcomes, theirs.y)
    assert (header(ours)["rounding"], header(theirs)["rounding"]) == (1.0, None)


def test_the_batched_path_agrees_with_single_fits(tmp_path):
    folder = uci_folder(tmp_path / "data", splits=2)
    options = ["--smoke", "--methods", "bdeepnoise", "--data", folder]
    for name, more in (("one", []), ("all", ["--batched"])):
        done = command("study", "uci", *options, "--out", tmp_path / f"{name}.jsonl", *more)
        assert done.exit_code == 0, done.output
    single, batched = (Ledger(tmp_path / f"{name}.jsonl").rows() for name in ("one", "all"))
    assert [row["batch"] for row in batched] == [2, 2]
    for one, other in zip(single, batched, strict=True):
        assert one["settings_hash"] == other["settings_hash"]
        # Sums of another program round differently, and chains amplify that.
        assert other["metrics"]["rmse"] == pytest.approx(one["metrics"]["rmse"], rel=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["uci", "--figure", "f.png"], "--figure"),
        (["uci", "--batched", "--scheduler", "tcp://x:1"], "--scheduler"),
        (["uci", "--methods", "magic"], "unknown method 'magic'"),
        (["uci", "--spec", "synthetic"], "synthetic study"),
        (["uci", "--data", "nowhere", "--sets", "wine"], "nowhere"),
        (["uci", "--data", "nowhere", "--sets", "wine"], "--download"),
        (["other"], "other"),
    ],
)
def test_errors_of_the_command_are_one_line(options, message, tmp_path):
    done = command("study", *options, *([] if options == ["other"] else ["--out", tmp_path / "l"]))
    assert done.exit_code != 0
    assert message in done.output
    assert "Traceback" not in done.output
    assert "study" in main.commands
