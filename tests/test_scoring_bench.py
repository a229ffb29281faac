"""The public benchmark's own parts: scores against closed forms, folds, both ways to run it."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import gamma, hyp1f1
from scipy.stats import norm

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
TOY = ["--tables", "diabetes", "--methods", "line", "no_inputs", "--folds", "2", "--rows", "100"]
# As much of ScoringBench's interface as a run touches, not its code.
CHECKOUT = {
    "config": "SEED = 42",
    "datasets": """
def get_DATASETS_CONFIG():
    return [{"name": "one"}, {"name": "two"}]


def validate_datasets(configs):
    return configs
""",
    "wrappers": """
from dataclasses import dataclass


@dataclass
class DistributionPrediction:
    q: object
    alphas: object
    mean: object
    train_range: tuple


class ProbabilisticWrapper:
    _y_train_range = None

    def _set_train_range(self, y):
        self._y_train_range = float(y.min()), float(y.max())


def quantiles_to_distribution(q, alphas, mean=None, y_range=None, *, train_range):
    return DistributionPrediction(q, alphas, mean, train_range)
""",
    "runner": """
import json

import numpy as np
import pandas as pd


def run_benchmark(configs, factories, output_dir, *, n_folds, seed, sample_size):
    X = pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": range(40)})
    y = pd.Series(3 * X.a + np.sin(np.arange(40.0)))
    for name, factory in factories.items():
        model = factory()
        assert model.fit(X, y) is model
        found = model.predict_distribution(X[:5])
        assert np.shape(found.q) == (5, len(found.alphas))
        assert found.train_range == (y.min(), y.max())
        np.testing.assert_allclose(found.mean, model.predict(X[:5]))
        told = {"model": name, "tables": [c["name"] for c in configs]}
        told |= {"folds": n_folds, "seed": seed, "rows": sample_size}
        output_dir.joinpath("told.json").write_text(json.dumps(told))
""",
}


@pytest.fixture(scope="module", autouse=True)
def beside():
    """The scripts import each other as neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield


def normal(means, sd):
    from scoring_bench_wrapper import LEVELS, stand_in

    values = norm.ppf(LEVELS, np.asarray(means)[:, None], sd)
    return stand_in(values, LEVELS, np.asarray(means), train_range=(0.0, 1.0))


def absolute_moment(apart, sd, exponent):
    """E|N(apart, sd²)|^exponent."""
    whole = sd**exponent * 2 ** (exponent / 2) * gamma((1 + exponent) / 2) / np.sqrt(np.pi)
    return whole * hyp1f1(-exponent / 2, 0.5, -(apart**2) / (2 * sd**2))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_energy_scores_of_a_normal(exponent):
    from scoring_bench_scores import energy

    means, sd, y = np.array([0.0, 2.0, -300.0]), 1.7, np.array([0.3, 9.0, -300.5])
    exact = absolute_moment(y - means, sd, exponent)
    exact -= absolute_moment(0.0, sd * 2**0.5, exponent) / 2
    np.testing.assert_allclose(energy(normal(means, sd), y, exponent), exact, rtol=3e-4)


def test_weighted_crps_add_up_to_the_crps():
    from scoring_bench_scores import scores

    y = np.array([0.2, -1.0, 1.4])
    found = scores(normal([0.0, 0.5, 1.0], 0.8), y)
    whole = found["wcrps_left"] + found["wcrps_right"] + 2 * found["wcrps_center"]
    # 99 levels in place of an integral.
    assert whole == pytest.approx(found["crps"], rel=0.03)


def test_intervals_and_points():
    from scoring_bench_scores import scores

    found = scores(normal([0.0, 0.0], 1.0), np.array([1.0, 3.0]))
    half = norm.ppf(0.975)
    assert found["coverage_95"] == 0.5
    assert found["interval_score_95"] == pytest.approx(2 * half + 40 * (3 - half) / 2)
    assert found["rmse"] == pytest.approx(5**0.5)
    assert found["mae"] == pytest.approx(2.0)


def test_a_level_that_is_not_there_is_an_error():
    from scoring_bench_scores import at

    with pytest.raises(ValueError, match="levels must hold"):
        at(normal([0.0], 1.0), [0.123])


def test_folds_divide_the_rows_and_fill_gaps_from_training_rows():
    from scoring_bench_tables import folds

    X, y = pd.DataFrame({"a": np.arange(50.0)}), pd.Series(np.arange(50.0))
    X.loc[7, "a"] = np.nan
    parts = list(folds(X, y, 5, 3000))
    assert sorted(np.concatenate([part[3] for part in parts])) == list(range(50))
    for X_train, X_test, y_train, y_test in parts:
        assert len(y_train) == len(X_train) == 40
        gap = np.concatenate([X_train["a"][y_train == 7], X_test["a"][y_test == 7]])
        assert gap == np.median(y_train[y_train != 7])
    (capped,) = folds(X, y, 1, 20)
    assert [len(part) for part in capped] == [16, 4, 16, 4]


def test_tables_are_prepared_or_refused(tmp_path):
    from scoring_bench_tables import load

    lines = ["kind,x,y", "b,1,0.5", "a,2,1.5", "b,3,", "a,4,3", "a,5,4"]
    place = tmp_path / "table.csv"
    place.write_text("\n".join(lines))
    X, y = load(str(place))
    assert X["kind"].tolist() == [1, 0, 0, 0]
    assert y.tolist() == [0.5, 1.5, 3.0, 4.0]
    place.write_text("x,y\n1,0\n2,1\n3,1")
    with pytest.raises(ValueError, match="takes 2 values"):
        load(str(place))
    with pytest.raises(ValueError, match="no table 'nothing'"):
        load("nothing")


def test_offline_run_goes_on_where_it_stopped(tmp_path, capsys):
    from scoring_bench import main

    place = tmp_path / "ledger.jsonl"
    main([*TOY, "--out", str(place)])
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    assert [(r["method"], r["fold"]) for r in rows] == [
        (method, fold) for fold in (0, 1) for method in ("line", "no_inputs")
    ]
    for row in rows:
        assert np.isfinite(list(row["scores"].values())).all()
        assert row["scores"]["crps"] == pytest.approx(row["scores"]["crps_exact"], rel=1e-3)
    assert rows[0]["scores"]["crps"] < rows[1]["scores"]["crps"]
    lines = place.read_text().splitlines()
    place.write_text("\n".join(lines[:3]) + "\n")
    capsys.readouterr()
    main([*TOY, "--out", str(place)])
    again = [json.loads(line) for line in place.read_text().splitlines()]
    assert [r["scores"] for r in again] == [r["scores"] for r in rows]
    shown = capsys.readouterr().out
    assert shown.startswith("diabetes no_inputs 1 crps ")
    assert shown.splitlines()[1] == ""
    assert "Mean rank by CRPS over 1 tables: line 1.00, no_inputs 2.00" in shown


def test_the_wrapper_runs_in_a_checkout(tmp_path, monkeypatch):
    from scoring_bench import main

    package = tmp_path / "ScoringBench/scoringbench/univariate"
    package.mkdir(parents=True)
    for name, text in CHECKOUT.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    where = ["--checkout", str(package.parents[1]), "--out", str(tmp_path)]
    main([*where, "--methods", "line", "--folds", "2", "--first", "1", "--rows", "30"])
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["model"].startswith("line_v0_1")
    assert told["tables"] == ["two"]
    assert (told["folds"], told["seed"], told["rows"]) == (2, 42, 30)
    for name in [name for name in sys.modules if name.startswith("scoringbench")]:
        del sys.modules[name]


def test_a_folder_that_is_no_checkout_is_named(tmp_path, monkeypatch):
    from scoring_bench import main

    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit, match="Is it a checkout of ScoringBench"):
        main(["--checkout", str(tmp_path), "--out", str(tmp_path)])


def test_the_page_shows_the_ledger(capsys):
    from scoring_bench import METHODS, chosen, read, show

    page = (ROOT / "docs/results/scoring_bench.md").read_text("utf-8")
    rows = read(ROOT / "docs/results/scoring-bench.jsonl")
    tables = re.search(r"--tables ([\w ]+) --folds", page)[1].split()
    show(chosen(rows, tables, METHODS))
    table, rank = capsys.readouterr().out.strip().split("\n\n")
    assert table in page
    assert rank.partition(": ")[2] in page
