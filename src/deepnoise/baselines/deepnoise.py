"""``DeepNoiseRegressor``: the paper's network fitted by gradients, without a posterior."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import files, settings
from ..estimators.standardized import StandardizedRegressor
from ..inference import warmstart
from ..inference.runtime import numerics
from ..inference.warmstart import WarmStart
from ..model.activation import resolve_activation
from ..model.network import Theta
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.predict import predictive
from . import mlp
from .mlp import Weights


class DeepNoiseRegressor(StandardizedRegressor):
    """A network with noise in every layer, fitted by its Monte Carlo marginal likelihood.

    This is where the chains of ``BDeepNoiseRegressor`` start: a frequentist ensemble in which
    each member holds out another fifth of the rows and keeps the step that is best on it.

    Parameters
    ----------
    hidden : tuple of int, or int
        Widths of the hidden layers; 20 is one layer of 20.
    activation : str or PiecewiseLinear
        See ``BDeepNoiseRegressor``.
    members : int
        Fits, made side by side.
    steps : int, optional
        Steps of Adam at most; by default as many as the gradient start of B-DeepNoise has.
    paths : int
        Noise paths a member at prediction, each a component of the mixture.
    standardize : bool or "scores"
        Fit in units in which every column has mean 0 and standard deviation 1; with "scores", the
        normal scores of skewed or heavy-tailed features are inputs too.
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis for the members
    theta_ : Theta
        The same as the model's own type.
    held_out_loss_ : array (members,)

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import DeepNoiseRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = DeepNoiseRegressor(hidden=(5,), steps=100, paths=20, random_state=0)
    >>> model.fit(x, x[:, 0] ** 2).predict_density(x).n_components
    100
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        members=5,
        steps=None,
        paths=200,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.members = members
        self.steps = steps
        self.paths = paths
        self.standardize = standardize
        self.random_state = random_state

    def check_settings(self) -> None:
        settings.widths(self.hidden)
        resolve_activation(self.activation)
        for name in ("members", "paths"):
            settings.count(name, getattr(self, name), 1)
        if self.steps is not None:
            settings.count("steps", self.steps, 1)

    def _plan(self, y: np.ndarray) -> WarmStart:
        usual = WarmStart.usual(len(y), len(self.hidden), warmstart.tied(y))
        return usual if self.steps is None else replace(usual, steps=int(self.steps))

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        settings.check_float32(x, y, "use standardize=True")
        with numerics():
            key = jax.random.key(seed)
            one_fold = partial(warmstart.fold, jax.random.fold_in(key, mlp.PREDICTION), len(x))
            train, held = jax.vmap(one_fold)(jnp.arange(self.members))
            theta, loss = _fit(
                mlp.member_keys(seed, self.members),
                *(jnp.asarray(part, jnp.float32) for part in (x, y)),
                train,
                held,
                (x.shape[1], *settings.widths(self.hidden), y.shape[1]),
                resolve_activation(self.activation),
                self._plan(y),
            )
            theta, self.held_out_loss_ = jax.tree.map(np.asarray, (theta, loss))
        self.weights_ = named(theta)
        if not all(np.isfinite(a).all() for a in self.weights_.values()):
            raise ValueError(
                "the training diverged: some values are not finite; use standardize=True"
            )

    @property
    def theta_(self) -> Theta:
        return rebuilt(self.weights_)

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        with numerics():
            key = jax.random.fold_in(jax.random.key(self.seed_), mlp.PREDICTION)
        return predictive(key, self.theta_, x, resolve_activation(self.activation), self.paths)

    def row_mean(self, x: np.ndarray) -> np.ndarray:
        return self._density(x).mean()

    def save(self, path: str | Path) -> None:
        """Write the model to a folder, for ``deepnoise.load``."""
        files.save_arrays(self, path)


@partial(jax.jit, static_argnums=(5, 6, 7))
def _fit(keys, x, y, train, held, widths, h, plan: WarmStart):
    one = lambda key, train, held: warmstart.fit(key, x, y, train, held, widths, h, plan)  # noqa: E731
    return jax.vmap(one)(keys, train, held)


FIELDS = ("beta", "gamma", "tau2", "sigma2")


def named(theta: Theta) -> Weights:
    """Arrays by name, such as ``beta_0``."""
    return {
        f"{field}_{l}": array for field in FIELDS for l, array in enumerate(getattr(theta, field))
    }


def rebuilt(weights: Weights) -> Theta:
    """The inverse of :func:`named`."""
    layers = sum(name.startswith("beta") for name in weights)
    counts = (layers, layers, layers, layers - 1)
    return Theta(
        *(
            tuple(weights[f"{field}_{l}"] for l in range(count))
            for field, count in zip(FIELDS, counts, strict=True)
        )
    )
