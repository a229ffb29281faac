"""Parts that benchmarks take out of the sampler fit it: traced, neither compiled nor run."""

import json
from pathlib import Path

import jax
import pytest

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
