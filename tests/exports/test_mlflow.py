"""The MLflow flavour: saved, logged, loaded, and asked for what a density knows; no pickle."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mlflow = pytest.importorskip("mlflow", reason="pip install 'deepnoise[mlflow]'")
    pytest.importorskip("mlflow.pyfunc")  # which warns of its own annotations

    from deepnoise.exports import mlflow as flavor

from .conftest import shop, skewed

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow") / "saved"
    flavor.save_model(model, folder)
    return folder


def test_the_frame_is_the_density(model, saved):
    X = shop(5)[0].set_index(pd.Index([4, 3, 2, 1, 0]))
    loaded = mlflow.pyfunc.load_model(str(saved))
    found, density = loaded.predict(X), model.predict_density(X)
    assert list(found) == ["mean", "sd", "q05", "q50", "q95"]
    assert found.index.equals(X.index)
    np.testing.assert_array_equal(found["mean"], density.mean())
    params = {"levels": [0.1], "thresholds": [140.0, 150.0], "grid": [145.5]}
    found = loaded.predict(X[["colour", "age", "size"]], params=params)
    assert list(found) == ["mean", "sd", "q10", "p_above_140", "p_above_150", "pdf_145.5"]
    np.testing.assert_array_equal(found["q10"], density.quantile(0.1))
    np.testing.assert_array_equal(found["p_above_150"], density.probability_above(150.0))
    np.testing.assert_array_equal(found["pdf_145.5"], density.pdf(145.5))


def test_nothing_is_pickled(model, saved):
    files = {path.name for path in saved.rglob("*") if path.is_file()}
    assert {"MLmodel", "requirements.txt", "python_env.yaml", "header.json"} <= files
    assert not [name for name in files if Path(name).suffix in {".pkl", ".pickle", ".joblib"}]
    assert not any(b"cloudpickle" in path.read_bytes() for path in saved.rglob("*.*"))
    again = flavor.load_model(saved)
    np.testing.assert_array_equal(again.predict(shop()[0]), model.predict(shop()[0]))


def test_what_it_says_of_itself(model, saved):
    info = mlflow.models.get_model_info(str(saved))
    assert info.signature.inputs.input_names() == ["size", "age", "colour"]
    assert [param.name for param in info.signature.params.params] == [
        "levels",
        "thresholds",
        "grid",
    ]
    loaded = mlflow.pyfunc.load_model(str(saved))
    assert np.isfinite(loaded.predict(loaded.input_example)["mean"]).all()
    pins = (saved / "requirements.txt").read_text().split()
    assert all("==" in pin for pin in pins)
    assert pins[0].startswith("deepnoise==")


def test_arrays(deep, tmp_path):
    flavor.save_model(deep, tmp_path / "m")
    X = skewed()[0]
    found = mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(X)
    np.testing.assert_array_equal(found["mean"], deep.predict(X))


def test_a_logged_model_comes_back(model, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    place = f"sqlite:///{tmp_path}/runs.db" if has_sql() else (tmp_path / "runs").as_uri()
    mlflow.set_tracking_uri(place)
    with mlflow.start_run():
        logged = flavor.log_model(model, "shop")
    again = flavor.load_model(logged.model_uri)
    np.testing.assert_array_equal(again.predict(shop()[0]), model.predict(shop()[0]))


def has_sql() -> bool:
    """Whether there is mlflow and not mlflow-skinny alone."""
    try:
        import sqlalchemy  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def test_bad_input(model, saved):
    with pytest.raises(ValueError, match="exists"):
        flavor.save_model(model, saved)
    with pytest.raises(mlflow.exceptions.MlflowException, match="colour"):
        mlflow.pyfunc.load_model(str(saved)).predict(shop()[0][["size", "age"]])
