"""Models in MLflow, as folders of our own format: nothing is pickled, and loading runs no code.

Import it as ``import deepnoise.exports.mlflow``.  MLflow finds it again by this name.
"""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

try:
    import pandas as pd
    from mlflow import artifacts, pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.models.utils import _save_example
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("MLflow is not installed: pip install 'deepnoise[mlflow]'") from error

from .. import __version__
from ..estimators import files
from ..estimators.classifier import BDeepNoiseClassifier
from ..estimators.survival import BDeepNoiseSurvival

FLAVOR_NAME = "deepnoise"
DATA = "deepnoise"
PARAMS = {"levels": [0.05, 0.5, 0.95], "thresholds": [], "grid": []}
PINNED = ("jax", "numpy", "pandas", "scikit-learn", "scipy")


def save_model(
    model: Any,
    path: str | Path,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Save a fitted model as an MLflow model.

    The folder holds the model as ``model.save`` writes it, training rows included.  Loaded with
    ``mlflow.pyfunc.load_model``, its ``predict(X, params=None)`` gives a frame: mean, sd and
    quantiles.  ``params`` may name ``levels`` of quantiles, ``thresholds`` c of P(y >= c) and a
    ``grid`` of points for the density.

    Parameters
    ----------
    model : estimator of deepnoise
        Fitted, with one outcome.
    path : path
        A folder that does not exist or is empty.
    mlflow_model : mlflow.models.Model, optional
        What to add the flavour to; ``log_model`` gives it.
    signature : mlflow.models.ModelSignature, optional
        By default the columns of the training table and the three parameters.
    input_example : frame or array, optional
        By default one made-up row: means of numbers, the first level of categories.
    pip_requirements : list of str, optional
        By default deepnoise and the packages it predicts with, in the versions of now.
    metadata : dict, optional
        Kept with the model.

    Examples
    --------
    >>> import mlflow
    >>> import numpy as np
    >>> import deepnoise.exports.mlflow
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = deepnoise.BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20)
    >>> deepnoise.exports.mlflow.save_model(model.fit(X, X[:, 0] ** 2), "logged")
    >>> found = mlflow.pyfunc.load_model("logged").predict(X[:2], params={"levels": [0.1, 0.9]})
    >>> list(found)
    ['mean', 'sd', 'q10', 'q90']
    """
    outcomes = len(model.units_.y.scale) if not hasattr(model, "classes_") else 1
    if outcomes > 1:
        raise ValueError(f"model has {outcomes} outcomes, the flavour one: fit a model for each")
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"path: {path} exists; choose another, or remove it")
    path.mkdir(parents=True, exist_ok=True)
    model.save(path / DATA)
    made = Model() if mlflow_model is None else mlflow_model
    made.signature = signature or signature_of(model)
    if metadata is not None:
        made.metadata = metadata
    _save_example(made, made_up_row(model) if input_example is None else input_example, str(path))
    requirements = pip_requirements or [
        f"deepnoise=={__version__}",
        *(f"{name}=={version(name)}" for name in PINNED),
    ]
    (path / "requirements.txt").write_text("\n".join([*requirements, ""]), "utf-8")
    environment = f"python: {platform.python_version()}\ndependencies:\n- -r requirements.txt\n"
    (path / "python_env.yaml").write_text(environment, "utf-8")
    pyfunc.add_to_model(made, loader_module=__name__, data=DATA, python_env="python_env.yaml")
    made.add_flavor(FLAVOR_NAME, deepnoise_version=__version__, data=DATA)
    made.save(str(path / "MLmodel"))


def log_model(model: Any, name: str, **settings: Any) -> Any:
    """Log a fitted model to the current run of MLflow.

    Parameters
    ----------
    model : estimator of deepnoise
        Fitted, with one outcome.
    name : str
        What to call it.
    **settings : any
        Parameters of :func:`save_model` and of ``mlflow.models.Model.log``, such as
        ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        With ``model_uri``, for :func:`load_model`.
    """
    import deepnoise.exports.mlflow as flavor

    return Model.log(artifact_path=None, name=name, flavor=flavor, model=model, **settings)


def load_model(model_uri: str | Path) -> Any:
    """Load the estimator itself, as :func:`deepnoise.load` does.

    Parameters
    ----------
    model_uri : str or path
        A folder, or an address such as ``models:/name/1``.

    Returns
    -------
    estimator
        Of the class that was saved, fitted.
    """
    folder = model_uri if Path(model_uri).is_dir() else artifacts.download_artifacts(str(model_uri))
    return files.load(Path(folder) / DATA)


class Predictor:
    """What ``mlflow.pyfunc`` calls."""

    def __init__(self, model: Any):
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """The frame of :func:`save_model`."""
        given = PARAMS | (params or {})
        index = model_input.index if isinstance(model_input, pd.DataFrame) else None
        columns = predicted_columns(self.model, model_input, *(given[name] for name in PARAMS))
        return pd.DataFrame(columns, index=index)


def _load_pyfunc(path: str) -> Predictor:
    return Predictor(files.load(path))


def signature_of(model: Any) -> Any:
    """Columns by name, numbers of any type, and the parameters of predict."""
    encoder = model.encoder_
    if encoder.named:
        kinds = {True: AnyType(), False: "string"}
        inputs = [
            ColSpec(kinds[column.levels is None or column.site], column.name)
            for column in encoder.columns
        ]
    else:
        inputs = [TensorSpec(np.dtype("float64"), (-1, len(encoder.columns)))]
    params = [ParamSpec(name, "double", default, (-1,)) for name, default in PARAMS.items()]
    return ModelSignature(inputs=Schema(inputs), params=ParamSchema(params))


def made_up_row(model: Any) -> Any:
    """One row with the means of numbers and the first level of categories."""
    encoder, means = (
        model.encoder_,
        dict(zip(model.encoder_.feature_names, model.units_.x.mean, strict=True)),
    )
    values = {
        column.name: means[column.name] if column.levels is None else column.levels[0]
        for column in encoder.columns
    }
    return pd.DataFrame([values]) if encoder.named else np.array([list(values.values())], float)


def predicted_columns(
    model: Any, X: Any, levels: ArrayLike, thresholds: ArrayLike, grid: ArrayLike
) -> dict[str, np.ndarray]:
    """Mean, sd, quantiles, P(y >= c) and densities at the grid, by names such as q05.

    Of times there is no mean and sd; of classes, there are the likeliest and its probabilities.
    """
    if isinstance(model, BDeepNoiseClassifier):
        return _classes(model, X)
    levels, thresholds, grid = (
        np.asarray(part, float).reshape(-1) for part in (levels, thresholds, grid)
    )
    density, times = model.predict_density(X), isinstance(model, BDeepNoiseSurvival)
    if times and not (np.concatenate([thresholds, grid]) > 0).all():
        raise ValueError("thresholds and grid must be positive: the model predicts times")
    there, back = (np.log, np.exp) if times else (np.asarray, np.asarray)
    columns = {} if times else {"mean": density.mean(), "sd": np.sqrt(density.var())}
    if len(levels):
        found = back(density.quantile(levels))
        columns |= {_quantile_name(level): q for level, q in zip(levels, found.T, strict=True)}
    if len(thresholds):
        found = density.probability_above_grid(there(thresholds))
        columns |= _named("p_above", thresholds, found)
    if len(grid):
        found = density.pdf_grid(there(grid))
        # p(t) = p(log t) / t
        columns |= _named("pdf", grid, found / grid if times else found)
    return columns


def _classes(model: BDeepNoiseClassifier, X: Any) -> dict[str, np.ndarray]:
    p = model.predict_proba(X)
    likeliest = {"predicted": model.classes_[p.argmax(axis=1)]}
    return likeliest | {f"p_{name}": column for name, column in zip(model.classes_, p.T)}


def _named(prefix: str, points: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{prefix}_{c:.12g}": column for c, column in zip(points, values.T, strict=True)}


def _quantile_name(level: float) -> str:
    """0.05 is q05, 0.5 is q50, 0.975 is q97.5, as in ``deepnoise predict``."""
    whole, dot, rest = f"{100 * level:.10g}".partition(".")
    return f"q{whole:0>2}{dot}{rest}"
