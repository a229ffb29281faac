"""``MixtureDensityRegressor``: a network that answers with a mixture (Bishop 1994)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..model.activation import PiecewiseLinear
from .mlp import TrainedNetwork, Weights, forward, log_normal, positive, random_weights


@dataclass(frozen=True)
class MixtureNetwork:
    """y | x ~ Σ_c w_c(x) N(m_c(x), diag v_c(x)), all by one network; members are mixed equally."""

    hidden: tuple[int, ...]
    h: PiecewiseLinear
    components: int

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        outputs = self.components * (1 + 2 * outcomes)
        weights = random_weights(rng, (inputs, *self.hidden, outputs))
        # Components that start in one place stay there.
        last = f"b{len(self.hidden)}"
        middle = slice(self.components, self.components * (1 + outcomes))
        weights[last][middle] = rng.normal(size=self.components * outcomes)
        return weights

    def parts(self, weights: Weights, x) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Log weights (n, C), means and variances (n, C, Q)."""
        out, C = forward(weights, x, self.h), self.components
        means, raw = jnp.split(out[:, C:], 2, axis=-1)
        shape = (len(x), C, -1)
        return jax.nn.log_softmax(out[:, :C]), means.reshape(shape), positive(raw.reshape(shape))

    def held(self, weights: Weights, key, x, y) -> jax.Array:  # noqa: ARG002
        log_share, means, variances = self.parts(weights, x)
        return -jax.nn.logsumexp(log_share + log_normal(y[:, None], means, variances), axis=1)

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:  # noqa: ARG002
        return self.held(weights, key, x, y)

    def mixture(self, weights: Weights, key, x):  # noqa: ARG002
        found = jax.vmap(self.parts, (0, None), 1)(weights, x)
        log_share, means, variances = (p.reshape(len(x), -1, *p.shape[3:]) for p in found)
        return jnp.exp(log_share) * (self.components / log_share.shape[1]), means, variances


class MixtureDensityRegressor(TrainedNetwork, StandardizedRegressor):
    """Mixture density network: one network for weights, means and variances of a mixture.

    Parameters
    ----------
    hidden : tuple of int
        See ``BackpropRegressor``.
    activation : str or PiecewiseLinear
        See ``BackpropRegressor``.
    steps : int, optional
        See ``BackpropRegressor``.
    validation : float
        See ``BackpropRegressor``.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    components : int
        Gaussians in the mixture of a member.
    members : int
        Networks, trained side by side and mixed equally.

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis for the members

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import MixtureDensityRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = MixtureDensityRegressor(hidden=(5,), steps=100, random_state=0)
    >>> model.fit(x, x[:, 0] ** 2).predict_density(x).n_components
    5
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        components=5,
        members=1,
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.components = components
        self.members = members
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    def _members(self) -> int:
        return settings.count("members", self.members, 1)

    def check_settings(self) -> None:
        super().check_settings()
        self._members()
        self._network()

    def _network(self) -> MixtureNetwork:
        return MixtureNetwork(*self._shape(), settings.count("components", self.components, 1))
