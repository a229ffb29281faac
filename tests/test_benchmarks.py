"""Parts that benchmarks take out of the sampler fit it: traced, neither compiled nor run."""

from pathlib import Path

import jax

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
