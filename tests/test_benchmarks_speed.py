"""Benchmarks of speed and memory run at toy size, from arguments to what they print or write."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from deepnoise.inference.warmstart import WarmStart

from .benchmarks_toy import SIZES, TINY, lines, run

ROOT = Path(__file__).resolve().parents[1]
# Seconds of a flop, a hash, a logarithm and a factor, which take seconds to measure.
RATES = dict.fromkeys(("flop32", "flop64", "hash", "log", "factor"), 1e-9)


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    """The scripts import each other as neighbours."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def cells(shown: str) -> list[list[str]]:
    """Rows of the Markdown tables in a text, without their heads."""
    rows = [line.strip("| ").split(" | ") for line in shown.splitlines() if line.startswith("|")]
    return [row for row in rows if row[-1][-1:].isdigit()]


def test_bench(monkeypatch, capsys):
    import bench

    monkeypatch.setattr(bench, "HIDDEN", (2,))
    monkeypatch.setattr(bench, "SIZES", (1000,))
    monkeypatch.setattr(bench, "rates", lambda: RATES)
    monkeypatch.setenv("BENCH_BEGAN", "0")
    bench.first_draw()
    start = json.loads(capsys.readouterr().out)
    assert start["seconds"] > 0
    monkeypatch.setattr(bench, "start_times", lambda: (start, start))
    bench.main()
    shown = capsys.readouterr().out
    assert re.search(r"^\| 1000 \| [\d.]+ \| [\d.]+ \| [\d.]+ \| \d+x \|$", shown, re.MULTILINE)
    assert f"cold {start['seconds']:.1f} s, cached {start['seconds']:.1f} s" in shown


def test_default_fit(monkeypatch, capsys):
    import default_fit

    usual = default_fit.plan()
    tiny = replace(usual, **{name: SIZES[name] for name in ("hidden", "chains", "draws")})
    monkeypatch.setattr(default_fit, "plan", lambda: tiny)
    for name, value in {"ROWS": 20, "NEW": 10, "STEPS": 5, "SWEEPS": 2, "LEAPFROGS": 2}.items():
        monkeypatch.setattr(default_fit, name, value)
    monkeypatch.setattr(default_fit, "rates", lambda: RATES)
    default_fit.main()
    rows = cells(capsys.readouterr().out)
    assert [row[0].split(",")[0] for row in rows] == ["start", "interweaved", "prediction"]
    assert all(float(number) > 0 for row in rows for number in row[1:3])


def test_explorer(monkeypatch, capsys):
    import explorer

    monkeypatch.setattr(explorer, "SIZES", SIZES)
    monkeypatch.setattr(explorer, "MOVES", 3)
    run(monkeypatch, explorer, "--columns", 3)
    number = r"\d+\.\d"
    pattern = f"3 columns, HTTP: {number} ms, 90 % in {number}, processor {number}\n"
    assert re.fullmatch(pattern, capsys.readouterr().out)


def test_exports(monkeypatch, capsys):
    pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    import exports

    monkeypatch.setattr(exports, "SIZES", ((4, 2),))
    run(monkeypatch, exports, "--warmup", 10, "--draws", 10, **TINY)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:2] for row in rows] == [
        [kind, dtype] for kind in ("onnx", "jax") for dtype in ("float64", "float32")
    ]
    for _, dtype, *numbers in rows:
        assert max(map(float, numbers[4:7])) < (1e-9 if dtype == "float64" else 1e-2)


@pytest.mark.slow
def test_a_step_on_this_device(monkeypatch, tmp_path, capsys):
    import gpu

    out = tmp_path / "gpu.jsonl"
    assert run(monkeypatch, gpu, "--quick", "--out", out) == 0
    assert len(cells(capsys.readouterr().out)) > 10
    assert {row["sampler"] for row in lines(out) if "sampler" in row} == set(gpu.SAMPLERS)


def test_predictions(monkeypatch, capsys):
    import predictions

    monkeypatch.setattr(predictions, "SIZES", TINY)
    monkeypatch.setattr(predictions, "THINNED", ((5, 1),))
    run(monkeypatch, predictions, "--rows", 40, "--repeats", 1)
    shown = capsys.readouterr().out.splitlines()
    assert shown[2].split()[:3] == ["5", "1", "20"]
    times = np.array([line.split()[-3:] for line in shown[4:]], float)
    assert times.shape == (len(predictions.QUESTIONS), 3)


def test_scaling(monkeypatch, tmp_path, capsys):
    import scaling

    small = scaling.Size(N=20, P=2, K=2, L=1, Q=1, C=1)
    monkeypatch.setattr(scaling, "SAMPLERS", ("gibbs",))
    monkeypatch.setattr(scaling, "BASES", {"small": small})
    monkeypatch.setattr(scaling, "VALUES", {"small": {"N": ()}})
    monkeypatch.setattr(scaling, "SECONDS_A_CASE", 0.1)
    out = tmp_path / "runs.jsonl"
    run(monkeypatch, scaling, "--out", out, "--sizes", "small")
    (row,) = lines(out)
    assert (row["sampler"], row["size"]["N"]) == ("gibbs", 20)
    assert row["seconds"] > 0
    assert "gibbs, cpu: too few sizes" in capsys.readouterr().out


def test_scaling_is_shown(monkeypatch, capsys):
    import scaling

    run(monkeypatch, scaling, "--show", "--out", ROOT / "docs" / "results" / "scaling-cpu.jsonl")
    shown = capsys.readouterr().out
    assert shown.count("\nLargest error ") == 2
    assert "\n| 512 | 195313 | " in shown


def test_ten_million(monkeypatch, capsys):
    import ten_million

    monkeypatch.setattr(ten_million, "HIDDEN", (2,))
    monkeypatch.setattr(ten_million, "WarmStart", lambda **_: WarmStart(steps=20, batch=16))
    words = "--rows", 3000, "--sweeps", 3, "--limit", "300KB"
    run(monkeypatch, ten_million, *words, "--one")
    found = capsys.readouterr().out
    assert json.loads(found)["last_noise"] > 0
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=found))
    run(monkeypatch, ten_million, *words)
    (row,) = cells(capsys.readouterr().out)
    assert row[:2] == ["3,000", "3"]


OURS, HMC, NUTS = "deepnoise", "HMC (blackjax), 30 steps", "NUTS (numpyro)"


@pytest.mark.parametrize("labels", [[OURS, HMC], pytest.param([NUTS], marks=pytest.mark.slow)])
def test_effective_draws(monkeypatch, tmp_path, capsys, labels):
    if NUTS in labels:
        pytest.importorskip("numpyro", reason="pip install 'deepnoise[peers]'")
    import effective_draws

    chosen = {label: effective_draws.SAMPLERS[label] for label in labels}
    monkeypatch.setattr(effective_draws, "SAMPLERS", chosen)
    out = tmp_path / "rows.jsonl"
    run(monkeypatch, effective_draws, "diabetes", "--quick", "--out", out)
    shown = capsys.readouterr().out
    for row, label in zip(lines(out), labels, strict=True):
        assert row["method"] == label
        assert f"| diabetes | {label} | {row['rhat_largest']:.3f} | " in shown
        assert 0 < row["ess_least"] <= row["ess_median"]
        assert row["leapfrogs"] >= 40
