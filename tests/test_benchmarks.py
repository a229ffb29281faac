"""Benchmarks run: parts of the sampler are traced only, studies and loads are of toy size."""

import json
from pathlib import Path

import jax
import pytest

from deepnoise import BackpropRegressor

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_parts_of_a_step(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import gpu_parts

    with jax.enable_x64(True):
        size = gpu_parts.Size(chains=2, rows=7, hidden=(3, 2), inputs=2)
        given = jax.eval_shape(lambda: gpu_parts.arguments(size, "interweaved"))
        for part in gpu_parts.parts().values():
            made = jax.eval_shape(part, *given, jax.ShapeDtypeStruct((), int))
            assert all(leaf.shape[0] == 2 for leaf in jax.tree.leaves(made))


def test_a_kernel_by_hand_draws_what_the_package_draws(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # which the import sets
    import gpu_parts
    import pallas_v

    ways = pallas_v.OUTSIDE[1], pallas_v.INSIDE[0]
    with jax.enable_x64(True):
        found = list(pallas_v.checks(ways, rows=40, K=8, before=3))
        assert len(found) == 9
        assert all(row["ok"] for row in found)
        size = gpu_parts.Size(chains=2, rows=7, hidden=(3, 2), inputs=2)
        keys, state, data = jax.eval_shape(lambda: gpu_parts.arguments(size, "gibbs"))
        for way in ("its draw by XLA", *map(str, ways)):
            kernel = pallas_v.OnePass(gpu_parts.H, settle=0, way=way)
            step = jax.vmap(kernel.step, (0, None, 0, pallas_v.chain_axes(data)))
            made = jax.eval_shape(step, keys, jax.ShapeDtypeStruct((), int), state, data)
            assert made == state


def test_the_server_under_load(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import serve

    X_train, X_test, y_train, _ = serve.diabetes()
    network = BackpropRegressor(hidden=(2,), steps=5, random_state=0).fit(X_train, y_train)
    network.save(tmp_path / "model")
    found = serve.measure(tmp_path / "model", X_test[:5], 20, 100.0, None, seed=0)
    assert (found["errors"], found["exit_status"]) == (0, 0)
    assert found["worst_difference"] < 1e-9
    assert found["p50_ms"] <= found["p95_ms"] <= found["max_ms"]
    assert all(0 < mb < 10_000 for mb in found["memory_mb"])


@pytest.mark.slow
def test_study_of_supports(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import supports

    # One law: the others differ in their tables only, which the next test draws.
    monkeypatch.setattr(supports, "STUDIES", {"counts": supports.STUDIES["counts"]})
    tiny = {"hidden": (2,), "chains": 2, "warmup": 40, "draws": 20, "paths": 4, "progress": False}
    supports.run(tmp_path / "ledger.jsonl", 1, tiny, 40, 20)
    text = "\n".join(supports.show(tmp_path / "ledger.jsonl"))
    assert text.count("| counts |") == 2
    assert "nan" not in text


def test_laws_of_the_study_of_supports(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import numpy as np

    import supports

    for study in supports.STUDIES.values():
        _, y, truth = supports.drawn(study, 0, 400)
        five_standard_errors = 0.25 * y.std()
        assert abs(y.mean() - supports.truth_mean(truth).mean()) < five_standard_errors
        # The mean CRPS of a law at its own draws is the least there is; at moved ones it is larger.
        assert 0 < truth.crps(y).mean() < truth.crps(y + y.std()).mean()
        assert np.isfinite(truth.log_prob(y)).all()


@pytest.mark.slow
def test_sites_at_toy_size(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import sites

    settings = {"hidden": (), "chains": 2, "warmup": 20, "draws": 20, "progress": False}
    found = sites.compared(0, {**settings, "sampler": "gibbs"}, 2, sites=4, rows=4, later=2)
    assert list(found) == ["sites", "adapted", "one-hot", "no column"]
    assert found["sites"]["later"]["width"] > found["sites"]["same"]["width"]
    out = tmp_path / "sites.jsonl"
    out.write_text(json.dumps({"sites": 5, "found": found}) + "\n")
    sites.show(out, None)
    assert "| adapted | later |" in capsys.readouterr().out


def test_conformal_intervals_in_repeated_problems(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import conformal

    line = {"line, heavy tails": conformal.PROBLEMS["line, heavy tails"]}
    monkeypatch.setattr(conformal, "PROBLEMS", line)
    out = ["--out", str(tmp_path / "made.jsonl"), "--repetitions", "2"]
    conformal.main(["run", *out])
    conformal.main(["run", *out])
    assert len((tmp_path / "made.jsonl").read_text().splitlines()) == 1
    conformal.main(["table", *out])
    assert "| line, heavy tails | by group |" in capsys.readouterr().out


def test_methods_side_by_side(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import side_by_side
    from side_by_side_methods import Method

    made = []

    def quick(**settings):
        made.append(settings)
        return BackpropRegressor(hidden=(2,), **settings)

    efforts = ({"steps": 5}, {"steps": 10})
    methods = Method("deepnoise", "deepnoise", quick, efforts), Method("b", "numpy", quick, efforts)
    monkeypatch.setattr(side_by_side, "METHODS", (*methods, Method("c", "no_package", quick, ())))
    ledger, picture = tmp_path / "rows.jsonl", tmp_path / "picture.png"
    words = f"script diabetes --splits 2 --levels 2 --out {ledger} --plot {picture}"
    monkeypatch.setattr("sys.argv", words.split())
    for _ in range(2):  # the second finds all rows in the file
        side_by_side.main()
    rows = [json.loads(line) for line in ledger.read_text().splitlines()]
    places = {(row["method"], row["level"], row["split"]) for row in rows}
    assert len(made) == len(rows) == len(places) == 8
    assert picture.stat().st_size > 10_000
    shown = capsys.readouterr().out
    assert "c: skipped" in shown
    assert "| deepnoise | " in shown


def test_waiting_for_a_fit(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import waiting

    tiny = {"hidden": (2,), "chains": 2, "warmup": 20, "draws": 10, "sampler": "gibbs"}
    found = waiting.fitted(tiny, slice(0, 40))
    assert 0 < found["first_draw"] < found["fit"]
    assert found["sweeps"] >= 30
