"""Programs of jax.export answer as the model does."""

import json

import jax
import numpy as np
import pytest

pytest.importorskip("flatbuffers", reason="pip install 'deepnoise[jax]'")

from deepnoise.exports import to_jax

from .test_network import CLOSE, check, rows_of

LEVELS = (0.05, 0.5, 0.95)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("which", ["model", "deep"])
def test_jax_export_agrees(which, dtype, request, tmp_path):
    model = request.getfixturevalue(which)
    X, rows = rows_of(model)
    to_jax(model, tmp_path / "m.jax", LEVELS, dtype)
    program = jax.export.deserialize(bytearray((tmp_path / "m.jax").read_bytes()))
    with jax.enable_x64(dtype == "float64"):
        found = program.call(rows.astype(dtype))
        alone = program.call(rows[:1].astype(dtype))
    density = check({k: v for k, v in found.items() if k != "quantiles"}, model, X, CLOSE[dtype])
    quantiles = np.asarray(found["quantiles"], float)
    assert np.abs(quantiles / density.quantile(LEVELS) - 1).max() < CLOSE[dtype]
    assert np.allclose(alone["quantiles"], quantiles[:1], rtol=CLOSE[dtype])
    header = json.loads((tmp_path / "m.jax.json").read_text())
    assert header["features"] == list(model.encoder_.feature_names)
    assert header["dtype"] == dtype
    assert header["outputs"]["means"] == ["rows", found["means"].shape[1]]
    assert header["components"] == density.n_components


@pytest.mark.parametrize("settings", [{"levels": [0.0]}, {"levels": [[0.5]]}, {"dtype": "half"}])
def test_bad_settings(model, settings, tmp_path):
    with pytest.raises(ValueError, match=next(iter(settings))):
        to_jax(model, tmp_path / "m.jax", **settings)
