"""``VariationalRegressor``: a mean-field Gaussian over the weights (the paper's VI)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..model.activation import PiecewiseLinear
from ..model.random import normals
from .mlp import TrainedNetwork, Weights, forward, log_normal, random_weights

START_LOG_SD = -5.0
SAMPLES_A_STEP = 2
LOG_SD = "log_sd_"


@dataclass(frozen=True)
class VariationalNetwork:
    """Weights ~ N(mean, sd²) independently, prior N(0, 1/fan-in) and N(0, 1) for biases.

    The KL divergence from the prior is exact, the expected log likelihood is by reparametrised
    draws on batches: blackjax's mean-field VI draws both, and wants all rows at every step.
    """

    hidden: tuple[int, ...]
    h: PiecewiseLinear
    draws: int

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        # As large as draws of the prior: means that begin smaller stay too small.
        means = random_weights(rng, (inputs, *self.hidden, outcomes), size=1.0)
        log_sds = {LOG_SD + name: np.full_like(a, START_LOG_SD) for name, a in means.items()}
        return {**means, **log_sds, "log_noise": np.full(outcomes, -1.0)}

    def sample(self, weights: Weights, key) -> Weights:
        means = {name: a for name, a in weights.items() if LOG_SD + name in weights}
        flat, unravel = ravel_pytree(means)
        noise = unravel(normals(key, flat.shape, flat.dtype))
        return {n: a + jnp.exp(weights[LOG_SD + n]) * noise[n] for n, a in means.items()}

    def log_likelihoods(self, weights: Weights, key, x, y, draws: int) -> jax.Array:
        """log p(y | x, drawn weights), (draws, n)."""
        variance = jnp.exp(2 * weights["log_noise"])

        def one_draw(key):
            return log_normal(y, forward(self.sample(weights, key), x, self.h), variance)

        return jax.vmap(one_draw)(jax.random.split(key, draws))

    def divergence(self, weights: Weights) -> jax.Array:
        """KL(q | prior)."""
        total = jnp.zeros(())
        for name in (n for n in weights if LOG_SD + n in weights):
            mean, log_sd = weights[name], weights[LOG_SD + name]
            prior2 = 1 / mean.shape[1] if name.startswith("w") else 1.0
            ratio = (jnp.exp(2 * log_sd) + mean**2) / prior2
            total += jnp.sum(ratio - 1 - 2 * log_sd + jnp.log(prior2)) / 2
        return total

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:
        expected = jnp.mean(self.log_likelihoods(weights, key, x, y, SAMPLES_A_STEP), axis=0)
        return self.divergence(weights) / rows - expected

    def held(self, weights: Weights, key, x, y) -> jax.Array:
        log_kernel = self.log_likelihoods(weights, key, x, y, self.draws)
        return jnp.log(self.draws) - jax.nn.logsumexp(log_kernel, axis=0)

    def mixture(self, weights: Weights, key, x):
        one = {name: a[0] for name, a in weights.items()}
        keys = jax.random.split(key, self.draws)
        means = jax.vmap(lambda key: forward(self.sample(one, key), x, self.h), out_axes=1)(keys)
        variances = jnp.broadcast_to(jnp.exp(2 * one["log_noise"]), (1, *means.shape[1:]))
        return jnp.full((1, self.draws), 1 / self.draws), means, variances


class VariationalRegressor(TrainedNetwork, StandardizedRegressor):
    """Mean-field variational inference for a Bayesian network with a learned noise variance.

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
    draws : int
        Draws of the weights at prediction, each a component of the mixture.

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis of length one
    noise_sd_ : array (Q,)
        The learned noise, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import VariationalRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = VariationalRegressor(hidden=(5,), steps=100, random_state=0).fit(x, x[:, 0] ** 2)
    >>> model.predict_density(x).n_components
    100
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        draws=100,
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.draws = draws
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    @property
    def noise_sd_(self) -> np.ndarray:
        return np.exp(self.weights_["log_noise"][0].astype(float)) * self.units_.y.scale

    def check_settings(self) -> None:
        super().check_settings()
        self._network()

    def _network(self) -> VariationalNetwork:
        return VariationalNetwork(*self._shape(), settings.count("draws", self.draws, 1))
