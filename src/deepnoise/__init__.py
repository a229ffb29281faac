"""B-DeepNoise: Bayesian deep noise neural networks for density regression.

Public names are imported on first use, so ``import deepnoise`` is instant and does not start JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.backprop import BackpropRegressor
    from .estimators.bdeepnoise import BDeepNoiseRegressor
    from .estimators.cqr import ConformalQuantileRegressor
    from .estimators.deepnoise import DeepNoiseRegressor
    from .estimators.dropout import MCDropoutRegressor
    from .estimators.ensemble import DeepEnsembleRegressor
    from .estimators.files import load
    from .estimators.hmc import HMCRegressor
    from .estimators.mdn import MixtureDensityRegressor
    from .estimators.variational import VariationalRegressor
    from .model.activation import PiecewiseLinear, approximate
    from .prediction.mixture import GaussianMixture

__version__ = "0.1.0"

__all__ = [
    "BDeepNoiseRegressor",
    "BackpropRegressor",
    "ConformalQuantileRegressor",
    "DeepEnsembleRegressor",
    "DeepNoiseRegressor",
    "GaussianMixture",
    "HMCRegressor",
    "MCDropoutRegressor",
    "MixtureDensityRegressor",
    "PiecewiseLinear",
    "VariationalRegressor",
    "approximate",
    "load",
]

_HOME = {
    "BDeepNoiseRegressor": "deepnoise.estimators.bdeepnoise",
    "BackpropRegressor": "deepnoise.estimators.backprop",
    "ConformalQuantileRegressor": "deepnoise.estimators.cqr",
    "DeepEnsembleRegressor": "deepnoise.estimators.ensemble",
    "DeepNoiseRegressor": "deepnoise.estimators.deepnoise",
    "GaussianMixture": "deepnoise.prediction.mixture",
    "HMCRegressor": "deepnoise.estimators.hmc",
    "MCDropoutRegressor": "deepnoise.estimators.dropout",
    "MixtureDensityRegressor": "deepnoise.estimators.mdn",
    "PiecewiseLinear": "deepnoise.model.activation",
    "VariationalRegressor": "deepnoise.estimators.variational",
    "approximate": "deepnoise.model.activation",
    "load": "deepnoise.estimators.files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
