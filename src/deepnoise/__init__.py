"""B-DeepNoise: Bayesian deep noise neural networks for density regression.

Public names are imported on first use, so ``import deepnoise`` is instant and does not start JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.backprop import BackpropRegressor
    from .estimators.bdeepnoise import BDeepNoiseRegressor
    from .estimators.ensemble import DeepEnsembleRegressor
    from .estimators.files import load
    from .model.activation import PiecewiseLinear, approximate
    from .prediction.mixture import GaussianMixture

__version__ = "0.1.0"

__all__ = [
    "BDeepNoiseRegressor",
    "BackpropRegressor",
    "DeepEnsembleRegressor",
    "GaussianMixture",
    "PiecewiseLinear",
    "approximate",
    "load",
]

_HOME = {
    "BDeepNoiseRegressor": "deepnoise.estimators.bdeepnoise",
    "BackpropRegressor": "deepnoise.estimators.backprop",
    "DeepEnsembleRegressor": "deepnoise.estimators.ensemble",
    "GaussianMixture": "deepnoise.prediction.mixture",
    "PiecewiseLinear": "deepnoise.model.activation",
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
