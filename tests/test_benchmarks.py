"""Parts that benchmarks take out of the sampler fit it: traced, neither compiled nor run."""

from pathlib import Path

import jax
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.mark.parametrize("sampler", ["gibbs", "interweaved"])
def test_steps_and_parts_on_a_gpu(sampler, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import gpu_parts

    with jax.enable_x64(True):
        size = gpu_parts.Size(chains=2, rows=7, hidden=(3, 2), inputs=2)
        given = jax.eval_shape(lambda: gpu_parts.arguments(size, sampler))
        parts = gpu_parts.parts() if sampler == "interweaved" else {}
        for part in parts.values():
            made = jax.eval_shape(part, *given, jax.ShapeDtypeStruct((), int))
            assert all(leaf.shape[0] == 2 for leaf in jax.tree.leaves(made))
