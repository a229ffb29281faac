"""Networks for the mean and the variance: ``BackpropRegressor`` has one (the paper's BP).

``DeepEnsembleRegressor`` mixes several from different starts equally (the paper's DE).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..model.activation import PiecewiseLinear
from .mlp import TrainedNetwork, Weights, forward, log_normal, positive, random_weights


@dataclass(frozen=True)
class GaussianNetwork:
    """y | x ~ N(mean(x), diag variance(x)), both by one network; members are mixed equally.

    With ``adversarial`` ε > 0 a row also counts at x + ε sign(∂loss/∂x), as deep ensembles'
    authors propose (Lakshminarayanan et al. 2017); ε is in standard deviations of a feature.
    """

    hidden: tuple[int, ...]
    h: PiecewiseLinear
    adversarial: float = 0.0

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        return random_weights(rng, (inputs, *self.hidden, 2 * outcomes))

    def held(self, weights: Weights, key, x, y) -> jax.Array:  # noqa: ARG002
        mean, variance = self.moments(weights, x)
        return -log_normal(y, mean, variance)

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:  # noqa: ARG002
        plain = self.held(weights, key, x, y)
        if not self.adversarial:
            return plain
        uphill = jax.grad(lambda moved: jnp.sum(self.held(weights, key, moved, y)))(x)
        moved = x + self.adversarial * jnp.sign(jax.lax.stop_gradient(uphill))
        return (plain + self.held(weights, key, moved, y)) / 2

    def moments(self, weights: Weights, x) -> tuple[jax.Array, jax.Array]:
        mean, raw = jnp.split(forward(weights, x, self.h), 2, axis=-1)
        return mean, positive(raw)

    def mixture(self, weights: Weights, key, x):  # noqa: ARG002
        means, variances = jax.vmap(self.moments, (0, None), 1)(weights, x)
        members = means.shape[1]
        return jnp.full((1, members), 1 / members), means, variances


class BackpropRegressor(TrainedNetwork, StandardizedRegressor):
    """Back-propagation with a learned predictive variance.

    Parameters
    ----------
    hidden : tuple of int, or int
        Widths of the hidden layers; 20 is one layer of 20.
    activation : str or PiecewiseLinear
        "hard_tanh", "relu", ...: see ``BDeepNoiseRegressor``.
    steps : int, optional
        Steps of Adam at most, by default three a row, from 6000 to 20,000; training ends when the
        validation part no longer gains, and the best weights are kept.
    validation : float
        Share of the rows held out to decide that.
    standardize : bool or "scores"
        Fit in units in which every column has mean 0 and standard deviation 1; with "scores", the
        normal scores of skewed or heavy-tailed features are inputs too.
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis for the members

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BackpropRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = BackpropRegressor(hidden=(5,), steps=100, random_state=0).fit(x, x[:, 0] ** 2)
    >>> model.predict_interval([[0.0], [1.0]]).shape
    (2, 2)
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    def _network(self) -> GaussianNetwork:
        return GaussianNetwork(*self._shape())


class DeepEnsembleRegressor(TrainedNetwork, StandardizedRegressor):
    """Deep ensembles of Lakshminarayanan, Pritzel and Blundell (2017).

    The prediction is the mixture of the members' Gaussians itself, not a Gaussian of its moments.

    Parameters
    ----------
    hidden : tuple of int
        See ``BackpropRegressor``.
    activation : str or PiecewiseLinear
        See ``BackpropRegressor``.
    steps : int, optional
        See ``BackpropRegressor``.
    validation : float
        See ``BackpropRegressor``; every member holds out rows of its own.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    members : int
        Networks, trained side by side.
    adversarial : float
        Size of the adversarial moves of X in training, in standard deviations of a feature; 0 for
        none (the authors use 0.01 of a feature's range).

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis for the members

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import DeepEnsembleRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = DeepEnsembleRegressor(hidden=(5,), steps=100, random_state=0).fit(x, x[:, 0] ** 2)
    >>> model.predict_density(x).n_components
    5
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        members=5,
        adversarial=0.0,
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.members = members
        self.adversarial = adversarial
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    def _members(self) -> int:
        return settings.count("members", self.members, 1)

    def check_settings(self) -> None:
        super().check_settings()
        self._members()
        settings.not_negative("adversarial", self.adversarial)

    def _network(self) -> GaussianNetwork:
        return GaussianNetwork(*self._shape(), float(self.adversarial))
