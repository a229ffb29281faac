"""Estimator ⇄ model folder.  Loading runs no code from the folder and makes known classes only."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import storage
from ..inference.array_file import ModelFileError
from ..inference.storage import Stored
from ..model.activation import piecewise_linear
from .checkpoint import estimator_header
from .encode import TableEncoder
from .units import Units

# Classes that can be loaded, and where they live.
ESTIMATORS = {"BDeepNoiseRegressor": "deepnoise.estimators.bdeepnoise"}


def save(estimator: Any, path: Path | str) -> None:
    """Write a fitted estimator to a folder, replacing a model that is there, all at once.

    Of the parameters, ``checkpoint``, a ``progress`` that is a function and a ``random_state``
    that is no number are not kept.
    """
    check_is_fitted(estimator)
    header = estimator_header(estimator, estimator.seed_)
    rows = {"rows": {"x": estimator._x, "y": estimator._y}}
    storage.write(path, estimator.posterior_, header, rows)


def load(path: Path | str, lazy: bool = False) -> Any:
    """The estimator that ``save``, or a checkpoint of a fit, wrote to a folder.

    Parameters
    ----------
    path : path
    lazy : bool
        Leave the draws on disk until they are used.

    Raises
    ------
    ModelFileError
        If the folder holds no model, one of a newer format, or one that is damaged.
    """
    stored = storage.read(path, lazy)
    try:
        return _restored(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} holds no estimator of this library: {error}") from error


def _restored(stored: Stored) -> Any:
    header, posterior = stored.header, stored.posterior
    name = header["estimator"]
    if name not in ESTIMATORS:
        raise ValueError(f"unknown estimator {name!r}")
    made = getattr(import_module(ESTIMATORS[name]), name)()
    made.set_params(**_params(header["params"]))
    made.encoder_ = TableEncoder.from_dict(header["encoder"])
    made.units_ = Units.from_dict(header["units"])
    made.n_features_in_ = header["n_features_in"]
    if header["feature_names_in"] is not None:
        made.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    made.chain_weights_ = np.array(header["chain_weights"], dtype=float)
    made._x, made._y = stored.extra["rows"]["x"], stored.extra["rows"]["y"]
    made.posterior_ = posterior
    made._diagnostics = None
    _check(made)
    made.seed_ = posterior.plan.seed
    return made


def _params(raw: dict[str, Any]) -> dict[str, Any]:
    """Parameters as a user would give them; the folder of checkpoints stays with who saved."""
    params = {name: value for name, value in raw.items() if name != "checkpoint"}
    if isinstance(params["activation"], dict):
        params["activation"] = piecewise_linear(**params["activation"])
    if isinstance(params["prior"], dict):
        params["prior"] = {name: tuple(pair) for name, pair in params["prior"].items()}
    return {**params, "hidden": tuple(params["hidden"])}


def _check(made: Any) -> None:
    """The parts fit together."""
    plan, theta = made.posterior_.plan, made.posterior_.start.theta
    inputs, outcomes = theta.beta[0].shape[-1], theta.gamma[-1].shape[-1]
    x, y, weights = made._x, made._y, made.chain_weights_
    fits = {
        "rows": x.shape == (len(y), inputs) and y.shape == (len(x), outcomes),
        "dtype": x.dtype == y.dtype == plan.dtype,
        "encoder": len(made.encoder_.feature_names) == inputs,
        "columns": len(made.encoder_.columns) == made.n_features_in_,
        "units": (len(made.units_.x.scale), len(made.units_.y.scale)) == (inputs, outcomes),
        "chain weights": weights.shape == (plan.chains,) and np.isclose(weights.sum(), 1),
    }
    wrong = [part for part, good in fits.items() if not good]
    if wrong:
        raise ValueError(f"its {', '.join(wrong)} and its posterior do not fit together")
