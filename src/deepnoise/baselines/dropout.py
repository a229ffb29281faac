"""``MCDropoutRegressor``: dropout kept at prediction (Gal and Ghahramani 2016; the paper's DMC)."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..prediction.density.sums import padded
from . import mlp
from .mlp import Split, TrainedNetwork, Weights, forward, log_normal, random_weights

# Noise precisions in standardised units among which the validation part chooses.
PRECISIONS = np.geomspace(1.0, 1e5, 51)


@dataclass(frozen=True)
class DropoutNetwork:
    """The mean by a network whose inputs and units are dropped with probability ``rate``."""

    hidden: tuple[int, ...]
    h: PiecewiseLinear
    passes: int

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        return random_weights(rng, (inputs, *self.hidden, outcomes))

    def _pass(self, weights: Weights, key, x, shared: bool) -> jax.Array:
        """One random pass; at prediction all rows share its mask."""
        ends = np.cumsum([x.shape[1], *self.hidden])
        chance = jax.random.uniform(key, (1 if shared else len(x), ends[-1]), x.dtype)
        kept = jnp.split((chance >= weights["rate"]) / (1 - weights["rate"]), ends[:-1], axis=1)

        def mask(l, u):
            return u * kept[l]

        return forward(weights, x, self.h, mask)

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:  # noqa: ARG002
        return jnp.sum((y - self._pass(weights, key, x, shared=False)) ** 2, axis=-1) / 2

    def held(self, weights: Weights, key, x, y) -> jax.Array:
        mean = jnp.mean(self.means(weights, key, x), axis=0)
        return jnp.sum((y - mean) ** 2, axis=-1) / 2

    def means(self, weights: Weights, key, x) -> jax.Array:
        """Outputs of all passes, (passes, n, Q)."""
        keys = jax.random.split(key, self.passes)
        return jax.vmap(lambda key: self._pass(weights, key, x, shared=True))(keys)

    def mixture(self, weights: Weights, key, x):
        one = {name: a[0] for name, a in weights.items()}
        means = self.means(one, key, x).swapaxes(0, 1)
        variances = jnp.broadcast_to(1 / one["precision"], (1, *means.shape[1:]))
        return jnp.full((1, self.passes), 1 / self.passes), means, variances


class MCDropoutRegressor(TrainedNetwork, StandardizedRegressor):
    """Monte Carlo dropout; its rate and the noise precision are chosen on the validation part.

    Parameters
    ----------
    hidden : tuple of int
        See ``BackpropRegressor``.
    activation : str or PiecewiseLinear
        See ``BackpropRegressor``.
    steps : int, optional
        See ``BackpropRegressor``.
    validation : float
        See ``BackpropRegressor``; more rows, since they also choose the precision.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    rates : tuple of float
        Dropout probabilities to choose from; one network of each is trained, side by side.
    passes : int
        Random passes at prediction, each a component of the mixture.

    Attributes
    ----------
    rate_ : float
        The dropout probability chosen.
    precision_ : float
        The precision chosen, in standardised units.
    weights_ : dict of arrays, with a leading axis of length one

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import MCDropoutRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = MCDropoutRegressor(hidden=(5,), steps=100, random_state=0).fit(x, x[:, 0] ** 2)
    >>> model.predict_density(x).n_components
    100
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        rates=(0.005, 0.01, 0.05, 0.1),
        passes=100,
        steps=None,
        validation=0.2,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.rates = rates
        self.passes = passes
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    @property
    def rate_(self) -> float:
        return float(self.weights_["rate"][0])

    @property
    def precision_(self) -> float:
        return float(self.weights_["precision"][0])

    def check_settings(self) -> None:
        super().check_settings()
        self._network()
        for rate in self._rates():
            settings.share("rates", rate)

    def _rates(self) -> tuple[float, ...]:
        if not isinstance(self.rates, tuple | list) or not self.rates:
            raise ValueError(f"rates must be numbers such as (0.01, 0.05); got {self.rates!r}")
        return tuple(self.rates)

    def _network(self) -> DropoutNetwork:
        return DropoutNetwork(*self._shape(), settings.count("passes", self.passes, 1))

    def _split(self, seed: int, rows: int) -> Split:
        """The same held-out rows for every rate, so that rates can be compared."""
        one = mlp.random_split(seed, rows, 1, self.validation)
        return Split(
            *(np.repeat(part, len(self._rates()), axis=0) for part in (one.train, one.held))
        )

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        network, split = self._network(), self._split(seed, len(x))
        fixed = {"rate": np.array(self._rates())}
        trained = mlp.fit(network, self._training(len(x)), seed, x, y, split, fixed)
        judges = split.held[0] if split.held.size else split.train[0]
        with numerics():
            rows = padded(x[judges]), padded(y[judges])
            scores = np.asarray(_scores(network, trained, mlp.member_keys(seed, 1)[0], *rows))
        scores = scores[..., : len(judges)].mean(-1)
        rate, precision = np.unravel_index(np.argmax(scores), scores.shape)
        chosen = {name: a[rate : rate + 1] for name, a in trained.items()}
        self.weights_ = {**chosen, "precision": PRECISIONS[precision : precision + 1]}


@partial(jax.jit, static_argnums=0)
def _scores(network: DropoutNetwork, weights: Weights, key, x, y) -> jax.Array:
    """Log density of every row under every rate and precision, (rates, precisions, n)."""

    def one_rate(one):
        means = network.means(one, key, x)

        def one_precision(precision):
            log_kernel = log_normal(y, means, jnp.full(y.shape[1], 1 / precision))
            return jax.nn.logsumexp(log_kernel, axis=0) - jnp.log(len(means))

        return jax.lax.map(one_precision, jnp.asarray(PRECISIONS))

    return jax.vmap(one_rate)(weights)
