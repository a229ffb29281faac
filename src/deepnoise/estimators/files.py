"""Estimator ⇄ model folder.  Loading runs no code from the folder and makes known classes only."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import model_folder, storage
from ..inference.model_folder import ModelFileError, StoredArrays, read_header
from ..inference.storage import Stored
from ..model.activation import piecewise_linear
from .checkpoint import estimator_header
from .encode import TableEncoder
from .units import Units

# Classes that can be loaded, and where they live: one with a posterior, the others with weights.
ESTIMATORS = {
    "BDeepNoiseRegressor": "deepnoise.estimators.bdeepnoise",
    "BDeepNoiseClassifier": "deepnoise.estimators.classifier",
    "BDeepNoiseSurvival": "deepnoise.estimators.survival",
}
NETWORKS = {
    "BackpropRegressor": "deepnoise.baselines.backprop",
    "DeepEnsembleRegressor": "deepnoise.baselines.backprop",
    "MCDropoutRegressor": "deepnoise.baselines.dropout",
    "VariationalRegressor": "deepnoise.baselines.variational",
    "HMCRegressor": "deepnoise.baselines.hmc",
    "MixtureDensityRegressor": "deepnoise.baselines.mdn",
    "ConformalQuantileRegressor": "deepnoise.baselines.quantiles",
    "DeepNoiseRegressor": "deepnoise.baselines.deepnoise",
}


def save(estimator: Any, path: Path | str) -> None:
    """Write a fitted estimator to a folder, replacing a model that is there, all at once.

    Of the parameters, ``checkpoint``, ``devices``, a ``progress`` that is a function and a
    ``random_state`` that is no number are not kept.
    """
    check_is_fitted(estimator)
    header = estimator_header(estimator, estimator.seed_)
    storage.write(path, estimator.posterior_, header, {"rows": estimator.stored_rows()})


def save_arrays(estimator: Any, path: Path | str) -> None:
    """Write a fitted network, ``weights_`` and settings, to a folder in place of what is there."""
    check_is_fitted(estimator)
    model_folder.write_weights(
        path, estimator.weights_, estimator_header(estimator, estimator.seed_)
    )


def load(path: Path | str, lazy: bool = False) -> Any:
    """Load the estimator that ``save``, or the checkpoint of a fit, wrote to a folder.

    Loading runs no code from the folder.

    Parameters
    ----------
    path : path
        The folder.
    lazy : bool
        Leave the draws on disk until they are used; by default they are read at once.

    Returns
    -------
    estimator
        Of the class that was saved, fitted.

    Raises
    ------
    ModelFileError
        If the folder holds no model, a damaged one, or one of a newer format.

    Examples
    --------
    >>> import numpy as np
    >>> import deepnoise
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> network = deepnoise.BackpropRegressor(hidden=(5,), steps=100, random_state=0)
    >>> network.fit(X, X[:, 0] ** 2).save("network")
    >>> deepnoise.load("network")
    BackpropRegressor(hidden=(5,), random_state=0, steps=100)
    """
    trained = model_folder.holds_arrays(read_header(Path(path)))
    stored = model_folder.read_weights(path) if trained else storage.read(path, lazy)
    try:
        return _trained(stored) if isinstance(stored, StoredArrays) else _restored(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{path} holds no estimator that this version can load: {error}"
        ) from error


def _restored(stored: Stored) -> Any:
    header, posterior = stored.header, stored.posterior
    made = _made(header, ESTIMATORS)
    made.restore_chains(header, posterior, stored.extra["rows"])
    _check(made)
    made.seed_ = posterior.plan.seed
    return made


def _trained(stored: StoredArrays) -> Any:
    made = _made(stored.header, NETWORKS)
    made.weights_, made.seed_ = stored.arrays, int(stored.header["seed"])
    made.restore(stored.header)
    if not all(np.isfinite(values).all() for values in made.weights_.values()):
        raise ValueError("its weights are not finite")
    if len(made.encoder_.columns) != made.n_features_in_:
        raise ValueError("its columns and its encoder do not agree")
    _check_prediction(made)
    return made


def _check_prediction(made: Any) -> None:
    """Weights, settings and units fit together: a row can be predicted."""
    made.check_settings()
    row = np.zeros((1, len(made.encoder_.feature_names)))
    if not np.isfinite(made.row_mean(made.units_.x.apply(row))).all():
        raise ValueError("its weights do not give a prediction")


def _made(header: dict[str, Any], classes: dict[str, str]) -> Any:
    """An estimator of a known class with its settings, and how it reads tables."""
    name = header["estimator"]
    if name not in classes:
        raise ValueError(f"unknown estimator {name!r}")
    made = getattr(import_module(classes[name]), name)()
    made.set_params(**_params(header["params"]))
    made.encoder_ = TableEncoder.from_dict(header["encoder"])
    made.units_ = Units.from_dict(header["units"])
    made.n_features_in_ = header["n_features_in"]
    if header["feature_names_in"] is not None:
        made.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    return made


def _params(raw: dict[str, Any]) -> dict[str, Any]:
    """Parameters as a user would give them; where it was fitted stays with who saved."""
    params = {name: v for name, v in raw.items() if name not in ("checkpoint", "devices")}
    if isinstance(params["activation"], dict):
        params["activation"] = piecewise_linear(**params["activation"])
    if isinstance(params.get("prior"), dict):
        params["prior"] = {name: tuple(pair) for name, pair in params["prior"].items()}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in params.items()}


def _check(made: Any) -> None:
    """The parts fit together."""
    plan, theta = made.posterior_.plan, made.posterior_.start.theta
    inputs, outcomes = theta.beta[0].shape[-1], theta.gamma[-1].shape[-1]
    units = made.units_
    x, y, weights = made.rows_.x, made.rows_.y, made.chain_weights_
    fits = {
        "rows": x.shape == (len(y), inputs) and y.shape == (len(x), outcomes),
        "dtype": x.dtype == y.dtype == plan.dtype,
        "encoder": len(made.encoder_.feature_names) == len(units.x.scale),
        "columns": len(made.encoder_.columns) == made.n_features_in_,
        "units": (units.x.width, len(units.y.scale)) == (inputs, outcomes),
        "chain weights": weights.shape == (plan.chains,) and np.isclose(weights.sum(), 1),
    }
    wrong = [part for part, good in fits.items() if not good]
    if wrong:
        raise ValueError(f"its {', '.join(wrong)} and its posterior do not agree")
