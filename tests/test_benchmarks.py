"""Parts that benchmarks take out of the sampler fit it, and the server under a toy's load."""

from pathlib import Path

import jax

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
