"""Estimator ⇄ model folder, at the end of a fit and while its chains still run.

Loading runs no code from the folder and makes known classes only.
"""

import json
import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import model_folder, storage
from ..inference.model_folder import (
    HEADER,
    ModelFileError,
    StoredArrays,
    check_writable,
    current_header,
    read_header,
    to_json,
)
from ..inference.posterior import Plan, Posterior
from ..inference.priors import PriorSpec
from ..inference.sharding import ALONE, Crew
from ..inference.storage import EMPTY, Stored
from ..model.activation import PiecewiseLinear, piecewise_linear
from .encode import TableEncoder
from .folds import Folds, TrainingRows, given_rows, row_arrays
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
SECONDS_BETWEEN = 5.0
# Of the time of a fit, that writing checkpoints may take.
LARGEST_SHARE = 0.05


def save(estimator: Any, path: Path | str) -> None:
    """Write a fitted estimator to a folder, replacing a model that is there, all at once.

    Of the parameters, ``checkpoint``, ``devices``, a ``progress`` that is a function and a
    ``random_state`` that is no number are not kept.
    """
    check_is_fitted(estimator)
    header = estimator_header(estimator, estimator.seed_)
    rows = row_arrays(estimator.rows_, estimator.folds_)
    storage.write(path, estimator.posterior_, header, {"rows": rows})


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
    header, rows = stored.header, stored.extra["rows"]
    made = _made(header, ESTIMATORS)
    made.posterior_, made.rows_ = stored.posterior, TrainingRows.of(rows)
    made.chain_weights_ = np.array(header["chain_weights"], dtype=float)
    made.restore(header)
    plan = stored.posterior.plan
    if plan.folds:
        scale = made.predictive_of(stored.posterior).scale
        made.folds_ = Folds.drawn(*given_rows(rows), scale, plan)
    _check(made)
    made.seed_ = plan.seed
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


def estimator_header(estimator: Any, seed: int) -> dict[str, Any]:
    """Plain values from which, with a posterior, the estimator can be built again."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "estimator": type(estimator).__name__,
        "params": {name: _plain(value) for name, value in estimator.get_params(deep=False).items()},
        "seed": seed,
        "encoder": estimator.encoder_.to_dict(),
        "units": estimator.units_.to_dict(),
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "chain_weights": [float(w) for w in getattr(estimator, "chain_weights_", ())],
        **estimator.header(),
    }


def _plain(value: Any) -> Any:
    """A parameter as JSON; None for what has no such form (a function, a RandomState)."""
    if isinstance(value, PiecewiseLinear | PriorSpec):
        return asdict(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else None


class Checkpointer:
    """Writes a posterior to a folder: at once, then every few seconds, and in one piece at the end.

    ``found`` is the fit that the folder already holds, to be continued.  A folder that holds
    another fit, or that cannot be written, is refused.  A write that fails is an error only if it
    is the first: later ones must not cost what the chains have drawn.  Of several processes, the
    leader says when, all hand over their rows, and the leader writes.
    """

    def __init__(
        self,
        folder: str | Path,
        plan: Plan,
        header: dict[str, Any],
        rows: dict[str, np.ndarray],
        crew: Crew = ALONE,
    ):
        stored = _stored(Path(folder))
        if stored is not None:
            _refuse_other(Path(folder), stored, plan, header, rows)
        if crew.leads:
            check_writable(Path(folder))
        self._crew = crew
        self.found = None if stored is None else _continued(stored.posterior, plan)
        self._folder, self.header, self._rows = Path(folder), header, {"rows": rows}
        self._known = EMPTY if stored is None else stored.manifest
        self._sweeps = -1 if stored is None else stored.posterior.run.t
        self._round = None if stored is None else round_of(stored.posterior.plan)
        self._next = -math.inf

    def __call__(self, posterior: Posterior, last: bool = False) -> None:
        began = time.monotonic()
        ahead = posterior.run.t - self._sweeps
        to_join = last and ahead == 0 and len(self._known.blocks) > 1
        due = (ahead > 0 or to_join) and (last or began >= self._next)
        if not self._crew.agreed(due):
            return
        posterior = replace(posterior, run=posterior.run.whole())
        if not self._crew.leads:
            return
        held = sum(block.count for block in self._known.blocks)
        # A new round may have other draws in the place of those that are on disk.
        anew = last or posterior.run.n_draws < held or round_of(posterior.plan) != self._round
        known = replace(self._known, blocks=()) if anew else self._known
        try:
            self._known = storage.write(self._folder, posterior, self.header, self._rows, known)
            self._sweeps, self._round = posterior.run.t, round_of(posterior.plan)
        except ModelFileError as error:
            if self._next == -math.inf:
                raise
            warnings.warn(
                f"the checkpoint could not be written; the fit continues without it: {error}",
                stacklevel=2,
            )
        took = time.monotonic() - began
        self._next = began + max(SECONDS_BETWEEN, took / LARGEST_SHARE)


def round_of(plan: Plan) -> tuple[int, int]:
    """What differs between the rounds of a fit: where draws begin, and their distance."""
    return plan.burn, plan.thin


def checkpoint_seed(folder: str | Path | None) -> int | None:
    """The seed of the fit that a folder holds, if there is one."""
    header = None if folder is None else current_header(Path(folder))
    return None if header is None else header["plan"]["seed"]


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is not None and b is not None and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _stored(folder: Path) -> storage.Stored | None:
    return storage.read(folder) if (folder / HEADER).exists() else None


def _continued(found: Posterior, plan: Plan) -> Posterior:
    """The fit that was found, to be continued by ``plan`` in the round in which it was."""
    if found.plan.burn:
        plan = replace(plan, burn=found.plan.burn, thin=found.plan.thin)
    return replace(found, plan=plan)


def _refuse_other(folder: Path, stored: storage.Stored, plan: Plan, header, rows) -> None:
    """An error that names what differs, unless the folder holds an earlier stage of this fit."""
    there, here = asdict(stored.posterior.plan), asdict(_continued(stored.posterior, plan).plan)
    wrong = [
        f"{name} is {there[name]} there and {here[name]} here"
        for name in here
        if name != "draws" and there[name] != here[name]
    ]
    held_rows, plain = stored.extra.get("rows", {}), json.loads(to_json(header))
    for name, given in (("X", {"x"}), ("y", {*rows, *held_rows} - {"x"})):
        if not all(_same(held_rows.get(part), rows.get(part)) for part in given):
            wrong.append(f"the rows of {name} differ")
    wrong += [
        f"{words} differ"
        for part, words in (("encoder", "the columns of X"), ("units", "the units of X or y"))
        if stored.header.get(part) != plain[part]
    ]
    held = stored.posterior.run.n_draws
    if held > plan.draws:
        wrong.append(f"it already holds {held} draws per chain, more than {plan.draws}")
    if wrong:
        raise ValueError(
            f"checkpoint: {folder} holds a different fit ({'; '.join(wrong)}): "
            f"choose another folder, or delete this one"
        )
