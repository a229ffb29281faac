"""``deepnoise export``, and what it refuses."""

import sys

import jax
import numpy as np
import pytest

from deepnoise import load
from tests.cli_toy import error, run

from .conftest import shop


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("command") / "model"
    model.save(folder)
    return folder


def test_jax(folder, tmp_path):
    pytest.importorskip("flatbuffers", reason="pip install 'deepnoise[jax]'")
    out = tmp_path / "m.jax"
    given = ["--to", "jax", "--out", out, "--draws", 10, "--paths", 2, "--quantiles", "0.1,0.9"]
    result = run("export", folder, *given)
    assert result.exit_code == 0, result.output
    assert str(out) in result.stderr
    small, program = (
        load(folder).thinned(10, 2),
        jax.export.deserialize(bytearray(out.read_bytes())),
    )
    X = shop()[0]
    with jax.enable_x64(True):
        found = np.asarray(program.call(small.encoder_.encode(X))["quantiles"])
    np.testing.assert_allclose(found, small.predict_quantiles(X, [0.1, 0.9]), rtol=1e-9)
    assert "exists" in error(run("export", folder, *given), 2)
    assert run("export", folder, *given, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--to", "onnx", "--out", "-"], "a file is needed"),
        (["--to", "onnx", "--out", "m.onnx", "--quantiles", "0.5"], "only --to jax"),
        (["--to", "mlflow", "--out", "m", "--dtype", "float32"], "keeps its precision"),
        (["--to", "mlflow", "--out", "m", "--draws", "1000"], "at most 20"),
        (["--to", "pickle", "--out", "m"], "pickle"),
    ],
)
def test_bad_input(folder, given, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in error(run("export", folder, *given), 2)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_no_mlflow_model_is_left_alone(folder, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("dear")
    given = ["--to", "mlflow", "--out", tmp_path / "mine"]
    assert "--force replaces it" in error(run("export", folder, *given), 2)
    assert "no model of MLflow" in error(run("export", folder, *given, "--force"), 2)
    assert (tmp_path / "mine/file").read_text() == "dear"


@pytest.mark.parametrize(("kind", "package"), [("onnx", "onnx"), ("mlflow", "mlflow")])
def test_a_missing_package_is_one_line(folder, kind, package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("onnx_file", "mlflow"):
        monkeypatch.delitem(sys.modules, f"deepnoise.exports.{name}", raising=False)
    import deepnoise.exports

    for name in ("to_onnx", "mlflow"):
        monkeypatch.delitem(vars(deepnoise.exports), name, raising=False)
    line = error(run("export", folder, "--to", kind, "--out", tmp_path / "m"), 1)
    assert f"pip install 'deepnoise[{kind}]'" in line
