"""``deepnoise report`` and what can be wrong with its input."""

import sys

import numpy as np
import pandas as pd
import pytest

from deepnoise import BDeepNoiseClassifier, BDeepNoiseSurvival
from deepnoise.cli.models import Columns, remember
from tests.cli_toy import error, run
from tests.estimators.toy import PLAIN
from tests.report.pages import NUMBER, fitted, parsed, table
from tests.report.test_outcomes import SIZES, times

ROWS = 25


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a model, as ``deepnoise fit`` would leave it, and test.csv."""
    folder = tmp_path_factory.mktemp("report")
    fitted().save(folder / "model")
    remember(folder / "model", Columns("y"))
    X, y = table(ROWS, 1)
    X.assign(y=y).to_csv(folder / "test.csv", index=False)
    return folder


def test_report(home, tmp_path):
    out = tmp_path / "report.html"
    result = run("report", home / "model", home / "test.csv", "--out", out, "--show", "1,2,3,5,7,8")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(out)
    page = parsed(out.read_text("utf-8"))
    assert "25 rows of test.csv" in page.text
    assert {"row-5-title", "row-8-title", "scores", "convergence"} <= set(page.ids)
    again = run("report", home / "model", home / "test.csv", "--out", out)
    assert "exists: --force replaces it" in error(again, 2)


def test_names_of_rows_and_thresholds(home, tmp_path):
    named = pd.read_csv(home / "test.csv").assign(id=[f"a{n}" for n in range(ROWS)])
    named.to_csv(tmp_path / "named.csv", index=False)
    more = ["--keep", "id", "--above", "50", "--show", "3"]
    result = run("report", home / "model", tmp_path / "named.csv", "--out", "-", *more)
    assert result.exit_code == 0, result.output
    text = parsed(result.stdout).text
    assert "Row 3 (id a2)" in text
    assert "P(y ≥ 50)" in text


def test_censored_outcomes(home, tmp_path):
    X, y = table(ROWS, 1)
    X.assign(y=np.minimum(y, 50.0), most=np.where(y < 50, y, np.nan)).to_csv(
        tmp_path / "cut.csv", index=False
    )
    result = run("report", home / "model", tmp_path / "cut.csv", "--out", "-", "--upper", "most")
    assert result.exit_code == 0, result.output
    text = parsed(result.stdout).text
    assert f"{int((y >= 50).sum())} rows not seen exactly" in text
    assert "Observed: above 50" in text


@pytest.mark.slow
def test_times_and_classes(tmp_path):
    X, y = times(40, 0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    sizes = {**SIZES, "draws": 10, "warmup": 10}
    BDeepNoiseSurvival(**sizes, **PLAIN).fit(frame, y).save(tmp_path / "times")
    data = tmp_path / "times.csv"
    frame.assign(t=y[0], end=np.where(y[1], y[0], np.nan)).to_csv(data, index=False)
    command = ["report", tmp_path / "times", data, "--out", "-", "--target", "t"]
    assert "predicts times: --upper names the column" in error(run(*command), 2)
    result = run(*command, "--upper", "end")
    assert result.exit_code == 0, result.output
    assert "Concordance" in parsed(result.stdout).text
    classes = BDeepNoiseClassifier(**sizes, init="prior", sampler="gibbs").fit(frame, y[1])
    classes.save(tmp_path / "classes")
    refused = run("report", tmp_path / "classes", data, "--out", "-", "--target", "t")
    assert "classes" in error(refused, 2)


def test_a_table_without_the_target(home, tmp_path):
    pd.read_csv(home / "test.csv").drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    result = run("report", home / "model", tmp_path / "new.csv", "--out", "-")
    assert result.exit_code == 0, result.output
    assert "new.csv has no column 'y': the page will have no scores" in result.stderr
    assert "scores" not in parsed(result.stdout).ids
    wanted = run("report", home / "model", tmp_path / "new.csv", "--out", "-", "--target", "y")
    assert "no column 'y'" in error(wanted, 2)


def test_a_million_rows(home, tmp_path):
    # Written by hand: pandas would take seconds.
    lines = (home / "test.csv").read_text().splitlines(keepends=True)
    data = tmp_path / "many.csv"
    data.write_text(lines[0] + "".join(lines[1:]) * (1_000_000 // ROWS))
    result = run("report", home / "model", data, "--out", "-", "--rows", ROWS)
    assert result.exit_code == 0, result.output
    text = parsed(result.stdout).text
    assert "The table has 1,000,000 rows; this page is about" in text
    assert "drawn at random" in text


MISMATCHES = {
    "column": (lambda f: f.drop(columns=NUMBER), f"no column {NUMBER!r}, which the model needs"),
    "extra": (lambda f: f.assign(weight=1), "columns not seen when fitting: 'weight'"),
    "infinite": (lambda f: f.assign(**{NUMBER: np.inf}), f"column {NUMBER!r}, row 1 is infinite"),
    "outcome": (lambda f: f.assign(y="high"), "column 'y', row 1 holds 'high', not a number"),
    "empty": (lambda f: f[:0], "has no rows"),
}


# The explorer does not look at outcomes.
MISMATCHED = [
    (case, command)
    for case in MISMATCHES
    for command in ("report", "explore")
    if (case, command) != ("outcome", "explore")
]


@pytest.mark.parametrize(("case", "command"), MISMATCHED)
def test_a_table_that_does_not_match(case, command, home, tmp_path):
    change, message = MISMATCHES[case]
    change(pd.read_csv(home / "test.csv")).to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "report.html"
    more = ["--out", out] if command == "report" else []
    assert message in error(run(command, home / "model", tmp_path / "new.csv", *more), 2)
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--show", "26"], "show must be rows from 1 to 25; got 26"),
        (["--show", "1.5"], "no list of whole numbers from 1"),
        (["--show", "0"], "no list of whole numbers from 1"),
        (["--rows", "0"], "'--rows'"),
        (["--keep", "name"], "--keep: "),
        (["--upper", "most"], "no column 'most'"),
        (["--out", "x.pdf"], "x.pdf would hold HTML: name it x.html"),
    ],
)
def test_bad_usage(home, tmp_path, options, message):
    out = tmp_path / "report.html"
    result = run("report", home / "model", home / "test.csv", "--out", out, *options)
    assert message in error(result, 2)
    assert not out.exists()


@pytest.mark.parametrize(
    ("command", "module", "message"),
    [
        (["report", "--out", "-"], "jinja2", "a report needs Jinja2: pip install"),
        (["explore"], "jinja2", "exploring needs Jinja2: pip install"),
    ],
)
def test_missing_packages(home, monkeypatch, command, module, message):
    for name in [
        name for name in sys.modules if name.startswith(("deepnoise.report", "deepnoise.explore"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    name, *more = command
    assert message in error(run(name, home / "model", home / "test.csv", *more), 1)
