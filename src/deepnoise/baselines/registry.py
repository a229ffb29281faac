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
    install: str | None = None

    @property
    def missing(self) -> str | None:
        """What to install, if the method cannot be used here."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return f"{self.label} needs {self.package}: {self.install}"


def _ours(label: str, estimator: str, file: str) -> Method:
    return Method(label, estimator, f"deepnoise.baselines.{file}")


def _peer(
    label: str, estimator: str, package: str, extra: str = "peers", file: str = "peers"
) -> Method:
    install = f"pip install 'deepnoise[{extra}]'"
    return Method(label, estimator, f"deepnoise.baselines.{file}", package, install)


METHODS: dict[str, Method] = {
    "bdeepnoise": Method("B-DeepNoise", "BDeepNoiseRegressor", "deepnoise.estimators.bdeepnoise"),
    "deepnoise": _ours("DeepNoise", "DeepNoiseRegressor", "deepnoise"),
    "bp": _ours("BP", "BackpropRegressor", "backprop"),
    "de": _ours("DE", "DeepEnsembleRegressor", "backprop"),
    "dmc": _ours("DMC", "MCDropoutRegressor", "dropout"),
    "vi": _ours("VI", "VariationalRegressor", "variational"),
    "bnn": _ours("BNN (HMC)", "HMCRegressor", "hmc"),
    "mdn": _ours("MDN", "MixtureDensityRegressor", "mdn"),
    "cqr": _ours("CQR", "ConformalQuantileRegressor", "quantiles"),
    "ngboost": _peer("NGBoost", "NGBoostRegressor", "ngboost", "ngboost"),
    "bart": _peer("BART", "BARTRegressor", "stochtree"),
    "forest": _peer("quantile forest", "QuantileForestRegressor", "quantile_forest"),
    "gp": _peer("GP", "GaussianProcessDensity", "sklearn"),
    "numpyro": _peer("NUTS (numpyro)", "NumpyroNUTSRegressor", "numpyro", file="numpyro_bnn"),
    # It wants exactly blackjax 1.2.2, older than ours: no extra can hold both.
    "bde": Method(
        "BDE",
        "BDERegressor",
        "deepnoise.baselines.peers",
        "bde",
        "in an environment of its own, after deepnoise, pip install sklearn-contrib-bde",
    ),
}


def method(name: str) -> Method:
    """Return the entry of a method by its short name, such as "bdeepnoise" or "de"."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def make(name: str, **settings: Any) -> Any:
    """Make an estimator by the short name of its method.

    Parameters
    ----------
    name : str
        Such as "bdeepnoise", "de" or "mdn"; an unknown name raises an error that lists them all.
    **settings
        Parameters of the estimator.

    Examples
    --------
    >>> from deepnoise.baselines.registry import make
    >>> make("de", members=3)
    DeepEnsembleRegressor(members=3)
    """
    found = method(name)
    if found.missing:
        raise ModuleNotFoundError(found.missing)
    return getattr(import_module(found.module), found.estimator)(**settings)
