"""ONNX files, run by onnxruntime, answer as the model does."""

import json

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="pip install 'deepnoise[onnx]'")
runtime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")

from deepnoise.exports import to_onnx  # noqa: E402

from .test_network import CLOSE, check, rows_of  # noqa: E402


def answers(path, rows):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"x": rows}), strict=True))


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("which", ["model", "deep"])
def test_onnxruntime_agrees(which, dtype, request, tmp_path):
    model = request.getfixturevalue(which)
    X, rows = rows_of(model)
    to_onnx(model, tmp_path / "m.onnx", dtype)
    found = answers(tmp_path / "m.onnx", rows.astype(dtype))
    assert {value.dtype for value in found.values()} == {np.dtype(dtype)}
    density = check(found, model, X, CLOSE[dtype])
    one = answers(tmp_path / "m.onnx", rows[:1].astype(dtype))
    assert np.allclose(one["means"], found["means"][:1], rtol=CLOSE[dtype])
    proto = onnx.load(tmp_path / "m.onnx")
    about = json.loads({p.key: p.value for p in proto.metadata_props}["deepnoise"])
    assert about["features"] == list(model.encoder_.feature_names)
    assert about["components"] == density.n_components


@pytest.mark.parametrize("which", ["model", "deep"])
def test_a_gap_gives_nan_in_its_row_only(which, request, tmp_path):
    model = request.getfixturevalue(which)
    rows = rows_of(model)[1].copy()
    rows[2, 0] = np.nan
    to_onnx(model, tmp_path / "m.onnx")
    mean = answers(tmp_path / "m.onnx", rows)["mean"]
    assert np.isnan(mean).tolist() == [n == 2 for n in range(len(rows))]


def test_training_rows_are_not_in_the_file(deep, tmp_path):
    to_onnx(deep, tmp_path / "m.onnx")
    content = (tmp_path / "m.onnx").read_bytes()
    x = np.asarray(deep.rows_.x, float)
    assert deep.units_.x.mean[0].hex()
    assert np.float64(deep.units_.x.mean[0]).tobytes() in content
    assert not any(row.tobytes() in content for row in x)
    assert not any(value.tobytes() in content for value in deep.rows_.y.astype(float)[:, 0])
