"""Benchmarks of what fits are worth run at toy size, from arguments to what they print or write."""

import json
from pathlib import Path

import numpy as np
import pytest

from .benchmarks_toy import TINY, lines, run
from .studies.toy import uci_folder

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    """The scripts import each other as neighbours."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def test_advice(monkeypatch, tmp_path):
    import advice

    monkeypatch.setattr(advice, "TRIED", [("default", {}, (12,))])
    advice.main(tmp_path / "rows.jsonl", **TINY)
    first, longer = lines(tmp_path / "rows.jsonl")
    assert (first["name"], first["draws"]) == ("default", 10)
    assert (longer["name"], longer["draws"]) == ("default resume 12", 12)
    assert 0 < longer["crps"] < longer["rmse"]


def test_settling(monkeypatch, tmp_path):
    import settling

    out = tmp_path / "rows.jsonl"
    settings = [f"{name}={value}" for name, value in TINY.items()]
    run(monkeypatch, settling, "diabetes", "--splits", "0,1", "--out", out, *settings)
    rows = lines(out)
    assert [row["split"] for row in rows] == [0, 1]
    for row in rows:
        assert row["settings"]["sampler"] == "gibbs"
        assert row["sweeps"] == 20
        assert 1 < row["rhat_median"] <= row["rhat_largest"]
        assert 0 < row["ess_least"] <= row["ess_median"]


def test_recalibrated(monkeypatch, tmp_path):
    import recalibrated

    folder, out = uci_folder(tmp_path / "data", "yacht"), tmp_path / "rows.jsonl"
    words = "yacht", "--data", folder, "--splits", 1, "--out", out
    run(monkeypatch, recalibrated, *words, **TINY)
    (row,) = lines(out)
    assert row["stretch"] > 0
    assert row["before"]["nll"] != row["after"]["nll"]
    assert row["before"]["rmse"] == pytest.approx(row["after"]["rmse"])


def test_more_chains(monkeypatch, tmp_path, capsys):
    import more_chains

    spec = tmp_path / "spec.toml"
    settings = "\n".join(f"{name} = {json.dumps(value)}" for name, value in TINY.items())
    head = 'study = "uci"\nmethods = ["bdeepnoise"]\nsets = ["yacht"]\nsplits = 2\n'
    spec.write_text(f"{head}\n[settings.bdeepnoise]\n{settings}\n")
    folder = uci_folder(tmp_path / "data", "yacht")
    words = f"yacht --spec {spec} --splits 2 --chains 3 --until 15,20 --data {folder}"
    assert run(monkeypatch, more_chains, *words.split()) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["sweeps"], row["chains"], row["groups"]) for row in rows] == [
        ([10, 15], 1, 2),
        ([10, 15], 3, 1),
        ([15, 20], 1, 2),
        ([15, 20], 3, 1),
    ]
    assert np.isfinite([row["nll"] for row in rows]).all()


def test_parts_of_the_ledgers(capsys):
    import parts

    results = ROOT / "docs" / "results"
    parts.main(str(results / "uci.jsonl"), str(results / "uci-gibbs.jsonl"))
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert all(row.count("|") == head.count("|") for row in rows)
    shown = {tuple(cell.strip() for cell in row.split("|")[1:4:2]) for row in rows}
    assert {("yacht", "start"), ("yacht", "draws"), ("yacht", "plain Gibbs: draws")} <= shown


def test_rivals(monkeypatch, tmp_path, capsys):
    import rivals

    words = "diabetes", "--methods", "ridge", "--out", tmp_path / "rows.jsonl"
    for _ in range(2):  # the second finds all rows in the file
        run(monkeypatch, rivals, *words)
    assert [row["split"] for row in lines(tmp_path / "rows.jsonl")] == [0, 1]
    assert capsys.readouterr().out.count("| diabetes | ridge | 2 | 5.") == 2


def test_outcomes(monkeypatch, capsys):
    import outcomes

    monkeypatch.setattr(outcomes, "SETTINGS", TINY)
    run(monkeypatch, outcomes, "--rows", 40, "--sets", 1, "--folds", 2)
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()[1:]
    assert [row.rpartition("of")[2] for row in table] == [" 1"] * 6
    assert [row.split()[-5] for row in table] == [f"{share:.1f}" for share in outcomes.SHARES]


def test_rule_of_outcomes(monkeypatch, capsys):
    import outcome_rule

    monkeypatch.setattr(outcome_rule, "SETS", 5)
    monkeypatch.setattr(outcome_rule, "CASES", [(30, 1, "normal"), (30, 4, "t3")])
    outcome_rule.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:3] for row in rows] == [["30", "1", "normal"], ["30", "4", "t3"]]
    for row in rows:
        unrelated, *_, strong = (float(cell.rstrip("%")) for cell in row[3:])
        assert unrelated < strong


PICTURES = {
    "conditional": "total variation from the true p(y1 | y0 = 0, x = 0): 0.",
    "parts": "bound of Theorem 3: ",
    "levels": "width of 90 % intervals: {'a': ",
    "linnerud": "Pulse",
}
LONG = ("levels", "linnerud")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in PICTURES]
)
def test_picture_of_several_outcomes(monkeypatch, tmp_path, capsys, name):
    import beyond_outcomes

    monkeypatch.setattr(beyond_outcomes, "SETTINGS", {**TINY, "random_state": 0})
    run(monkeypatch, beyond_outcomes, name, "--out", tmp_path)
    assert PICTURES[name] in capsys.readouterr().out
    assert (tmp_path / f"outcomes-{name}.png").stat().st_size > 10_000


@pytest.mark.slow
def test_picture_of_supports(monkeypatch, tmp_path):
    import supports_picture

    words = "--out", tmp_path / "made" / "support.png"
    run(monkeypatch, supports_picture, *words, settings=TINY, rows=60)
    assert words[1].stat().st_size > 10_000


def test_studies_beyond_are_shown(monkeypatch, tmp_path, capsys):
    import beyond

    ledger = ROOT / "docs" / "results" / "beyond.jsonl"
    run(monkeypatch, beyond, "show", "--out", ledger, "--images", tmp_path)
    shown = capsys.readouterr().out
    assert "nan" not in shown
    assert "| set | missing inputs | nll |" in shown
    assert "| the truth |" in shown
    assert sorted(p.stem for p in tmp_path.iterdir()) == ["censored", "classes", "missing"]


@pytest.mark.slow
def test_studies_beyond_are_made(monkeypatch, tmp_path, capsys):
    import beyond
    import beyond_shared

    for name, value in TINY.items():
        monkeypatch.setitem(beyond_shared.SETTINGS, name, value)
    folder, ledger = uci_folder(tmp_path / "data", "yacht"), tmp_path / "ledger.jsonl"
    small = "yacht", "iris", "log-logistic"
    keys = [key for key in beyond.listed(list(beyond.STUDIES), [2]) if key[1] in small]
    for key in keys:
        beyond_shared.append(ledger, key, *beyond.made(key, folder))
    run(monkeypatch, beyond, "show", "--out", ledger, "--images", tmp_path)
    shown = capsys.readouterr().out
    assert "nan" not in shown
    for _, name, _, method in keys:
        assert f"| {method} | " in shown
        assert name == "log-logistic" or f"| {name} | " in shown
