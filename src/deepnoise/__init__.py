"""B-DeepNoise: Bayesian deep noise neural networks for density regression.

Public names are imported on first use, so ``import deepnoise`` is instant and does not start JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.backprop import BackpropRegressor
    from .estimators.bdeepnoise import BDeepNoiseRegressor
    from .estimators.classifier import BDeepNoiseClassifier
    from .estimators.cqr import ConformalQuantileRegressor
    from .estimators.deepnoise import DeepNoiseRegressor
    from .estimators.dropout import MCDropoutRegressor
    from .estimators.ensemble import DeepEnsembleRegressor
    from .estimators.files import load
    from .estimators.hmc import HMCRegressor
    from .estimators.mdn import MixtureDensityRegressor
    from .estimators.outcomes import between, right_censored, rounded
    from .estimators.partial import partial_dependence
    from .estimators.scoring import scorer
    from .estimators.shapley import shap_values
    from .estimators.survival import BDeepNoiseSurvival
    from .estimators.variational import VariationalRegressor
    from .model.activation import PiecewiseLinear, approximate
    from .model.outcome import Window
    from .prediction.mixture import GaussianMixture

__version__ = "0.1.0"

__all__ = [
    "BDeepNoiseClassifier",
    "BDeepNoiseRegressor",
    "BDeepNoiseSurvival",
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
    "Window",
    "approximate",
    "between",
    "load",
    "partial_dependence",
    "right_censored",
    "rounded",
    "scorer",
    "shap_values",
]

_HOME = {
    "BDeepNoiseClassifier": "deepnoise.estimators.classifier",
    "BDeepNoiseRegressor": "deepnoise.estimators.bdeepnoise",
    "BDeepNoiseSurvival": "deepnoise.estimators.survival",
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
    "Window": "deepnoise.model.outcome",
    "approximate": "deepnoise.model.activation",
    "between": "deepnoise.estimators.outcomes",
    "load": "deepnoise.estimators.files",
    "partial_dependence": "deepnoise.estimators.partial",
    "right_censored": "deepnoise.estimators.outcomes",
    "rounded": "deepnoise.estimators.outcomes",
    "scorer": "deepnoise.estimators.scoring",
    "shap_values": "deepnoise.estimators.shapley",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
