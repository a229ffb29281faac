"""Every method by its short name, as tables and studies call it."""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Method:
    """Where an estimator lives, how tables call it, and the package it needs beyond ours."""

    label: str
    estimator: str
    module: str
    package: str | None = None
    extra: str | None = None

    @property
    def missing(self) -> str | None:
        """What to install, if the method cannot be used here."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return f"{self.label} needs {self.package}: pip install 'deepnoise[{self.extra}]'"


def _ours(label: str, estimator: str, file: str) -> Method:
    return Method(label, estimator, f"deepnoise.estimators.{file}")


def _peer(label: str, estimator: str, package: str, extra: str = "peers") -> Method:
    return Method(label, estimator, "deepnoise.estimators.peers", package, extra)


METHODS: dict[str, Method] = {
    "bdeepnoise": _ours("B-DeepNoise", "BDeepNoiseRegressor", "bdeepnoise"),
    "deepnoise": _ours("DeepNoise", "DeepNoiseRegressor", "deepnoise"),
    "bp": _ours("BP", "BackpropRegressor", "backprop"),
    "de": _ours("DE", "DeepEnsembleRegressor", "ensemble"),
    "dmc": _ours("DMC", "MCDropoutRegressor", "dropout"),
    "vi": _ours("VI", "VariationalRegressor", "variational"),
    "bnn": _ours("BNN (HMC)", "HMCRegressor", "hmc"),
    "mdn": _ours("MDN", "MixtureDensityRegressor", "mdn"),
    "cqr": _ours("CQR", "ConformalQuantileRegressor", "cqr"),
    "ngboost": _peer("NGBoost", "NGBoostRegressor", "ngboost", "ngboost"),
    "bart": _peer("BART", "BARTRegressor", "stochtree"),
    "forest": _peer("quantile forest", "QuantileForestRegressor", "quantile_forest"),
    "gp": _peer("GP", "GaussianProcessDensity", "sklearn"),
    "numpyro": Method(
        "NUTS (numpyro)",
        "NumpyroNUTSRegressor",
        "deepnoise.estimators.numpyro_bnn",
        "numpyro",
        "peers",
    ),
}


def method(name: str) -> Method:
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def make(name: str, **settings: Any) -> Any:
    """An estimator by the short name of its method.

    Examples
    --------
    >>> from deepnoise.estimators.registry import make
    >>> make("de", members=3)
    DeepEnsembleRegressor(members=3)
    """
    found = method(name)
    if found.missing:
        raise ModuleNotFoundError(found.missing)
    return getattr(import_module(found.module), found.estimator)(**settings)
