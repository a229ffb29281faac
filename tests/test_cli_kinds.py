"""The command line with classes, times to an event and windows: fit, predict, score, resume."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from deepnoise import BDeepNoiseClassifier, BDeepNoiseSurvival, between, load, plots
from deepnoise.cli import main
from deepnoise.cli.report import table as report_table
from tests.cli_toy import ROWS, TEST_ROWS, TINY, error, fit, run, table

SIZES = ["small", "middle", "large"]


def lived(rows: int, seed: int) -> pd.DataFrame:
    """The table with a time, whether it was seen to its end, and a class."""
    frame = table(rows, seed)
    time = np.exp((frame["y"] - 50) / 10)
    size = np.array(SIZES)[np.digitize(frame["y"], [45, 55])]
    return frame.drop(columns="y").assign(
        time=time.clip(upper=2.0), died=(time < 2.0).astype(int), size_class=size
    )


OPTIONS = {
    "times": ["--target", "time", "--event", "died", "--drop", "id,size_class"],
    "classes": ["--target", "size_class", "--classes", "--drop", "id,time,died"],
    "ordered": [
        *["--target", "size_class", "--classes", "--drop", "id,time,died"],
        *["--ordered", ",".join(SIZES), "--link", "logit"],
    ],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    train = lived(ROWS, 0).astype({"age": float})
    train.loc[0, "age"] = np.nan  # R-hat is shown of rows with gaps too
    train.to_csv(folder / "train.csv", index=False)
    lived(TEST_ROWS, 1).to_csv(folder / "test.csv", index=False)
    for kind, options in OPTIONS.items():
        result = run("fit", folder / "train.csv", "--out", folder / kind, *TINY, *options)
        assert result.exit_code == 0, result.output
        assert "R-hat" in result.stderr  # shown while it runs, of what this kind predicts
    return folder


def written(*arguments) -> pd.DataFrame:
    result = run("predict", *arguments)
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def score(*arguments) -> dict:
    result = run("score", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_times(home):
    model, test = load(home / "times"), pd.read_csv(home / "test.csv")
    assert isinstance(model, BDeepNoiseSurvival)
    found = written(
        home / "times", home / "test.csv", "--above", "1.5", "--keep", "id", "--grid=1.5"
    )
    risk = ["p_above_1.5", "p_above_1.5_low", "p_above_1.5_high"]
    assert list(found) == ["id", "q05", "q50", "q95", *risk, "pdf_1.5"]
    X = test[["size", "age", "colour"]]
    assert np.allclose(found["q50"], model.predict(X))
    assert np.allclose(found["p_above_1.5"], model.predict_survival(X, [1.5])[:, 0])
    log_density = model.predict_density(X).pdf_grid(np.log([1.5]))[:, 0]
    assert np.allclose(found["pdf_1.5"], log_density / 1.5)
    report = score(home / "times", home / "test.csv")
    assert report["rows"] == TEST_ROWS
    assert report["concordance"] == model.score(X, (test["time"], test["died"]))
    assert 0 <= report["coverage_90"] <= 1
    assert "must be positive" in error(
        run("predict", home / "times", home / "test.csv", "--above", "0"), 2
    )


def test_a_report_knows_which_times_were_cut_off(home):
    frame = pd.read_csv(home / "test.csv")
    X, y, name = report_table(home / "times", load(home / "times"), frame, None, "test.csv")
    assert (name, list(X)) == ("time", ["size", "age", "colour"])
    assert np.array_equal(y.lower, frame["time"])
    assert np.array_equal(np.isinf(y.upper), frame["died"] == 0)


@pytest.mark.parametrize("kind", ["classes", "ordered"])
def test_classes(kind, home):
    model, test = load(home / kind), pd.read_csv(home / "test.csv")
    assert isinstance(model, BDeepNoiseClassifier)
    assert list(model.classes_) == (SIZES if kind == "ordered" else sorted(SIZES))
    found = written(home / kind, home / "test.csv")
    ends = [f"p_{name}{end}" for name in model.classes_ for end in ("", "_low", "_high")]
    assert list(found) == ["predicted", *ends]
    X = test[["size", "age", "colour"]]
    assert list(found["predicted"]) == list(model.predict(X))
    assert np.allclose(found[ends[::3]], model.predict_proba(X))
    report = score(home / kind, home / "test.csv")
    assert report["accuracy"] == model.score(X, test["size_class"])
    assert set(report) == {"rows", "accuracy", "nll", "brier"}


@pytest.mark.parametrize("kind", OPTIONS)
def test_diagnose_and_resume(kind, home):
    judged = json.loads(run("diagnose", home / kind, "--json").stdout)
    assert (judged["chains"], judged["draws"]) == (2, 10)
    result = run("resume", home / kind, "--draws", 12, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["draws"] == 12


@pytest.mark.slow
def test_classes_of_numbers_can_be_ordered(tmp_path):
    frame = lived(ROWS, 0)
    frame["size_class"] = frame["size_class"].map({"small": 1, "middle": 2, "large": 3})
    frame.to_csv(tmp_path / "train.csv", index=False)
    options = [*OPTIONS["classes"], "--ordered", "3,2,1", "--quiet"]
    result = run("fit", tmp_path / "train.csv", "--out", tmp_path / "m", *TINY, *options)
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "m").classes_.tolist() == [3, 2, 1]


def test_the_defaults_of_the_classifier():
    needed = ["-", "--target", "y", "--out", "model", "--classes"]
    assert main.commands["fit"].make_context("fit", needed).params["link"] == "probit"
    assert BDeepNoiseClassifier().link == "probit"


WRONG = {
    "two kinds": (["--event", "died", "--classes"], "--event and --classes do not go together"),
    "not for classes": (["--classes", "--guard", "0.1"], "--guard: not for --classes"),
    "for classes": (["--link", "logit"], "--link: only for --classes"),
    "order": (["--classes", "--ordered", "a,b"], "--ordered must name every class once: "),
    "no event": (["--event", "size"], "column 'size', row 1 holds"),
    "no column": (["--event", "dead"], "no column 'dead'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_kinds(case, home, tmp_path):
    options, message = WRONG[case]
    result = run(
        "fit", home / "train.csv", "--target", "time", "--out", tmp_path / "m", "--quiet", *options
    )
    assert message in error(result, 2)
    assert not (tmp_path / "m").exists()


def test_bad_rows(home, tmp_path):
    for column, value, message in (
        ("time", 0.0, "column 'time', row 3 holds 0: times must be positive"),
        ("died", np.nan, "column 'died', row 3 is missing"),
    ):
        frame = lived(ROWS, 0)
        frame.loc[2, column] = value
        frame.to_csv(tmp_path / "bad.csv", index=False)
        fitted = run("fit", tmp_path / "bad.csv", "--out", tmp_path / "m", *OPTIONS["times"])
        assert message in error(fitted, 2)
    frame = lived(TEST_ROWS, 1).assign(size_class="huge")
    frame.to_csv(tmp_path / "bad.csv", index=False)
    scored = error(run("score", home / "classes", tmp_path / "bad.csv"), 2)
    assert "'huge', a class that was not there when fitting" in scored
    frame.drop(columns="died").to_csv(tmp_path / "bad.csv", index=False)
    assert "no column 'died'" in error(run("score", home / "times", tmp_path / "bad.csv"), 2)


def test_what_classes_do_not_have_is_refused(home, tmp_path):
    for command in (["influence"], ["report", "--out", "x.html"]):
        result = run(command[0], home / "classes", home / "test.csv", *command[1:])
        assert "predicts classes: for it there are predict, score, diagnose, plot" in error(
            result, 2
        )
    result = run("predict", home / "classes", home / "test.csv", "--above", "1")
    assert "--above: " in error(result, 2)
    options = ["--out", tmp_path / "p", "--feature", "size"]
    drawn = run("plot", home / "classes", home / "test.csv", *options)
    assert "--feature: " in error(drawn, 2)


@pytest.mark.slow
def test_pictures_of_every_kind(home, tmp_path, monkeypatch):
    bars, named = plots.influence_bars, []
    monkeypatch.setattr(
        plots, "influence_bars", lambda found, name: named.append(name) or bars(found, name)
    )
    chains = {"trace", "rank"}
    for kind, more in (("times", {"ridge", "fan", "influence", "heatmap"}), ("classes", set())):
        drawn = run("plot", home / kind, home / "test.csv", "--out", tmp_path / kind)
        assert drawn.exit_code == 0, drawn.output
        assert {path.stem for path in (tmp_path / kind).iterdir()} == chains | more
        assert ("outcomes are not drawn" in drawn.stderr) == (kind == "times")
    assert named == ["log time"]
    assert "of log time: " in run("influence", home / "times", home / "test.csv").stderr


def test_rows_in_words_count_from_one(home):
    name = json.loads(run("diagnose", home / "classes", "--json").stdout)["rows"][0]["name"]
    assert name == "probability[0,large]"
    assert "\nP(large), row 1 " in run("diagnose", home / "classes", "--all").stdout


@pytest.mark.slow
def test_censored_outcomes(tmp_path):
    train = table(ROWS, 0)
    train = train.assign(most=train["y"].where(train["y"] < 55), y=train["y"].clip(upper=55))
    train.to_csv(tmp_path / "train.csv", index=False)
    result = fit(tmp_path / "train.csv", tmp_path / "model", "--upper", "most", "--quiet")
    assert result.exit_code == 0, result.output
    window = load(tmp_path / "model").rows_.seen
    assert np.isinf(window.upper).sum() == (train["y"] == 55).sum()
    found = run("score", tmp_path / "model", tmp_path / "train.csv", "--json")
    seen = between(train["y"], train["most"].fillna(np.inf))
    expected = load(tmp_path / "model").score_report(train[["size", "age", "colour"]], seen)
    rows = {"rows": ROWS, "seen_exactly": int((train["y"] < 55).sum())}
    assert json.loads(found.stdout) == pytest.approx({**rows, **expected})
    drawn = run("plot", tmp_path / "model", tmp_path / "train.csv", "--out", tmp_path / "p")
    assert "outcomes are not drawn" in drawn.stderr
    assert not {"calibration", "sharpness"} & {path.stem for path in (tmp_path / "p").iterdir()}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"most": -99.0}, "row 1: 'y' exceeds 'most'"),
        ({"y": np.nan, "most": np.nan}, "'y' and 'most' are empty in every row"),
        ({"y": np.inf, "most": np.inf}, "'y' and 'most' are empty in every row"),
        ({"most": "x"}, "column 'most', row 1 holds 'x', not a number"),
        ({"most": 99.0, "size": np.nan}, "all values of column 'size' are missing; drop it"),
    ],
)
def test_bad_windows_and_empty_columns(columns, message, tmp_path):
    table(ROWS, 0).assign(**columns).to_csv(tmp_path / "wrong.csv", index=False)
    wrong = fit(tmp_path / "wrong.csv", tmp_path / "model", "--upper", "most", "--quiet")
    assert message in error(wrong, 2)


def test_counts_with_exposure(tmp_path):
    rng = np.random.default_rng(0)
    frame = table(ROWS, 0).drop(columns="y").assign(years=rng.uniform(0.5, 2.0, ROWS))
    data = frame.assign(claims=rng.poisson(frame["years"]))
    data.to_csv(tmp_path / "data.csv", index=False)
    options = ["--target", "claims", "--drop", "id", "--support", "counts", "--exposure", "years"]
    result = run("fit", tmp_path / "data.csv", "--out", tmp_path / "model", *TINY, *options)
    assert result.exit_code == 0, result.output
    found = written(tmp_path / "model", tmp_path / "data.csv", "--above", "1,2")
    assert (found["q05"] >= 0).all()
    assert (found["q95"] % 1 == 0).all()
    assert (found["p_above_2"] <= found["p_above_1"]).all()
    assert np.isfinite(score(tmp_path / "model", tmp_path / "data.csv")["nll"])
    data.loc[2, "years"] = 0.0
    data.to_csv(tmp_path / "zero.csv", index=False)
    wrong = error(run("predict", tmp_path / "model", tmp_path / "zero.csv"), 2)
    assert wrong.endswith("zero.csv: exposure must be positive and finite; in row 3 it is 0")


def test_rows_outside_the_support_are_counted_as_the_file_counts_them(tmp_path):
    data = table(ROWS, 0)
    data["y"] = data["y"].abs() + 1
    data.loc[2, "y"] = -4.0
    data.to_csv(tmp_path / "data.csv", index=False)
    wrong = error(fit(tmp_path / "data.csv", tmp_path / "model", "--support", "positive"), 2)
    assert wrong.endswith("but in row 3 it is -4")
    assert "data.csv: y: support='positive' needs values above 0" in wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--support", "negative"], "not positive, counts or two ends"),
        (["--support", "positive", "--classes"], "--support: not for --classes"),
        (["--support", "positive", "--target", "size", "--event", "years"], "not for --event"),
        (["--support", "1,0"], "low < high"),
        (["--support", "positive"], "needs values above 0"),
    ],
)
def test_wrong_supports(tmp_path, options, message):
    frame = table(ROWS, 0).drop(columns="y").assign(years=1, claims=np.arange(ROWS) % 3)
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ["--target", "claims", "--drop", "id", "--out", tmp_path / "model", *TINY, *options]
    result = run("fit", tmp_path / "data.csv", *arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_cross_fitted_chains_and_conformal_intervals(tmp_path):
    table(ROWS, 0).to_csv(tmp_path / "train.csv", index=False)
    table(TEST_ROWS, 1).to_csv(tmp_path / "test.csv", index=False)
    result = fit(tmp_path / "train.csv", tmp_path / "model", "--cross-fit", 2)
    assert result.exit_code == 0, result.output
    found = written(tmp_path / "model", tmp_path / "test.csv", "--conformal", 0.7)
    X = table(TEST_ROWS, 1).drop(columns=["id", "y"])
    ends = load(tmp_path / "model").predict_conformal(X, 0.7)
    np.testing.assert_allclose(found[["conformal_low", "conformal_high"]], ends, rtol=1e-9)
    asked = ["--conformal", 0.9, "--groups", "colour"]
    result = run("predict", tmp_path / "model", tmp_path / "test.csv", *asked)
    assert result.exit_code == 0
    assert "Warning: 8 of 8 intervals are infinite: a guarantee of 0.9 needs 38" in result.stderr


def test_conformal_intervals_of_a_usual_model_are_an_error(home):
    asked = ["--conformal", 0.9]
    wrong = run("predict", home / "classes", home / "test.csv", *asked)
    assert "predicts classes, which have none" in error(wrong, 2)
    wrong = run("predict", home / "times", home / "test.csv", *asked)
    assert "predict_conformal needs cross-fitted chains" in error(wrong, 2)
    wrong = run("predict", home / "times", home / "test.csv", "--groups", "colour")
    assert "--groups: needs --conformal" in error(wrong, 2)
