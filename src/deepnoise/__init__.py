"""B-DeepNoise: Bayesian deep noise neural networks for density regression.

Public names are imported on first use, so ``import deepnoise`` is instant and does not start JAX.
"""

from typing import TYPE_CHECKING

from .lazy import attributes

if TYPE_CHECKING:
    from .baselines.backprop import BackpropRegressor, DeepEnsembleRegressor
    from .baselines.deepnoise import DeepNoiseRegressor
    from .baselines.dropout import MCDropoutRegressor
    from .baselines.hmc import HMCRegressor
    from .baselines.mdn import MixtureDensityRegressor
    from .baselines.quantiles import ConformalQuantileRegressor
    from .baselines.variational import VariationalRegressor
    from .estimators.bdeepnoise import BDeepNoiseRegressor
    from .estimators.classifier import BDeepNoiseClassifier
    from .estimators.effects import partial_dependence
    from .estimators.files import load
    from .estimators.outcomes import between, right_censored, rounded
    from .estimators.scoring import scorer
    from .estimators.shapley import shap_values
    from .estimators.survival import BDeepNoiseSurvival
    from .model.activation import PiecewiseLinear, approximate
    from .model.outcome import Window
    from .prediction.density.mixture import PredictiveMixture

__version__ = "0.1.0"

__all__ = [
    "BDeepNoiseClassifier",
    "BDeepNoiseRegressor",
    "BDeepNoiseSurvival",
    "BackpropRegressor",
    "ConformalQuantileRegressor",
    "DeepEnsembleRegressor",
    "DeepNoiseRegressor",
    "HMCRegressor",
    "MCDropoutRegressor",
    "MixtureDensityRegressor",
    "PiecewiseLinear",
    "PredictiveMixture",
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
    "BDeepNoiseClassifier": "estimators.classifier",
    "BDeepNoiseRegressor": "estimators.bdeepnoise",
    "BDeepNoiseSurvival": "estimators.survival",
    "BackpropRegressor": "baselines.backprop",
    "ConformalQuantileRegressor": "baselines.quantiles",
    "DeepEnsembleRegressor": "baselines.backprop",
    "DeepNoiseRegressor": "baselines.deepnoise",
    "PredictiveMixture": "prediction.density.mixture",
    "HMCRegressor": "baselines.hmc",
    "MCDropoutRegressor": "baselines.dropout",
    "MixtureDensityRegressor": "baselines.mdn",
    "PiecewiseLinear": "model.activation",
    "VariationalRegressor": "baselines.variational",
    "Window": "model.outcome",
    "approximate": "model.activation",
    "between": "estimators.outcomes",
    "load": "estimators.files",
    "partial_dependence": "estimators.effects",
    "right_censored": "estimators.outcomes",
    "rounded": "estimators.outcomes",
    "scorer": "estimators.scoring",
    "shap_values": "estimators.shapley",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
