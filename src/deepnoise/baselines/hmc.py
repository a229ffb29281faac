"""``HMCRegressor``: Hamiltonian Monte Carlo on a standard network (the paper's BNN)."""

from dataclasses import dataclass
from functools import partial

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..inference.diagnostics import Diagnostics, diagnose
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..prediction.per_draw import spaced
from . import mlp
from .mlp import TrainedNetwork, Weights, forward, log_normal, random_weights

DIAGNOSED_ROWS = 20
# log sd of the noise ~ N(-1.5, 1): in standardised units, from 3 % to 160 % of the sd of y.
NOISE_PRIOR = (-1.5, 1.0)


@dataclass(frozen=True)
class NoisyNetwork:
    """y | x ~ N(network(x), diag noise²); weights ~ N(0, 1/fan-in), biases ~ N(0, 1)."""

    hidden: tuple[int, ...]
    h: PiecewiseLinear

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        weights = random_weights(rng, (inputs, *self.hidden, outcomes))
        return {**weights, "log_noise": np.full(outcomes, NOISE_PRIOR[0])}

    def log_prior(self, weights: Weights) -> jax.Array:
        mean, sd = NOISE_PRIOR
        total = -jnp.sum(((weights["log_noise"] - mean) / sd) ** 2) / 2
        for name, a in weights.items():
            if name != "log_noise":
                precision = a.shape[1] if name.startswith("w") else 1.0
                total -= precision * jnp.sum(a**2) / 2
        return total

    def log_posterior(self, weights: Weights, x, y) -> jax.Array:
        return self.log_prior(weights) - jnp.sum(self.held(weights, None, x, y))

    def held(self, weights: Weights, key, x, y) -> jax.Array:  # noqa: ARG002
        return -log_normal(y, forward(weights, x, self.h), jnp.exp(2 * weights["log_noise"]))

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:
        return self.held(weights, key, x, y) - self.log_prior(weights) / rows

    def mixture(self, weights: Weights, key, x):  # noqa: ARG002
        means = jax.vmap(lambda one: forward(one, x, self.h), out_axes=1)(weights)
        variances = jnp.exp(2 * weights["log_noise"])[None]
        return jnp.full((1, means.shape[1]), 1 / means.shape[1]), means, variances


@partial(jax.jit, static_argnums=(0, 1))
def _chains(network: NoisyNetwork, plan: tuple[int, int, int], keys, starts, x, y):
    """Draws (chain, draw, ...), acceptance rates and divergences (chain, draw) of HMC."""
    warmup, draws, leaps = plan

    def log_posterior(weights):
        return network.log_posterior(weights, x, y)

    adaptation = blackjax.window_adaptation(
        blackjax.hmc,
        log_posterior,
        initial_step_size=1e-3,
        num_integration_steps=leaps,
        adaptation_info_fn=lambda *_: None,
    )

    def one_chain(key, start):
        key_warmup, key_draws = jax.random.split(key)
        (state, tuned), _ = adaptation.run(key_warmup, start, num_steps=warmup)
        step = blackjax.hmc(log_posterior, **tuned).step

        def one_draw(state, key):
            state, info = step(key, state)
            return state, (state.position, info.acceptance_rate, info.is_divergent)

        return jax.lax.scan(one_draw, state, jax.random.split(key_draws, draws))[1]

    return jax.vmap(one_chain)(keys, starts)


class HMCRegressor(TrainedNetwork, StandardizedRegressor):
    """A Bayesian network with a learned noise variance, drawn by Hamiltonian Monte Carlo.

    Every chain starts from a gradient fit of its own; blackjax's window adaptation tunes step
    size and masses.  ``diagnostics_`` says whether the chains agree: believe it.

    Parameters
    ----------
    hidden : tuple of int
        See ``BackpropRegressor``.
    activation : str or PiecewiseLinear
        See ``BackpropRegressor``.
    steps : int, optional
        See ``BackpropRegressor``, for the gradient fits.
    validation : float
        See ``BackpropRegressor``, for the gradient fits.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    chains : int
        Chains to run.
    warmup : int
        Iterations of each chain that tune it.
    draws : int
        Draws kept of each chain.
    leaps : int
        Leapfrog steps an iteration.

    Attributes
    ----------
    weights_ : dict of arrays, draws of all chains on the leading axis
    diagnostics_ : Diagnostics
        R-hat and effective sample sizes of the predictive mean at training rows; not saved.
    acceptance_rate_ : float
    divergences_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import HMCRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = HMCRegressor(hidden=(3,), steps=50, warmup=20, draws=10, leaps=3, random_state=0)
    >>> model.fit(x, x[:, 0] ** 2).predict_density(x).n_components
    40
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        chains=4,
        warmup=300,
        draws=200,
        leaps=30,
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.chains = chains
        self.warmup = warmup
        self.draws = draws
        self.leaps = leaps
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    def _members(self) -> int:
        return settings.count("chains", self.chains, 1)

    def _plan(self) -> tuple[int, int, int]:
        return (
            settings.count("warmup", self.warmup, 1),
            settings.count("draws", self.draws, 1),
            settings.count("leaps", self.leaps, 1),
        )

    def check_settings(self) -> None:
        super().check_settings()
        self._members()
        self._plan()

    def _network(self) -> NoisyNetwork:
        return NoisyNetwork(*self._shape())

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        network, split = self._network(), self._split(seed, len(x))
        starts = mlp.fit(network, self._training(len(x)), seed, x, y, split)
        # blackjax takes the widest type that is on: float32 throughout.
        with numerics(), jax.enable_x64(False):
            keys = jax.vmap(lambda key: jax.random.fold_in(key, 0))(
                mlp.member_keys(seed, self._members())
            )
            data = (jnp.asarray(part, jnp.float32) for part in (x, y))
            found = _chains(network, self._plan(), keys, starts, *data)
            drawn, accepted, divergent = jax.tree.map(np.asarray, found)
        if not all(np.isfinite(a).all() for a in drawn.values()):
            raise ValueError(
                "the chains diverged: some values are not finite; use standardize=True"
            )
        self.weights_ = {name: a.reshape(-1, *a.shape[2:]) for name, a in drawn.items()}
        self.acceptance_rate_ = float(np.mean(accepted))
        self.divergences_ = int(np.sum(divergent))
        self.diagnostics_ = self._diagnosed(network, x, seed)

    def _diagnosed(self, network: NoisyNetwork, x: np.ndarray, seed: int) -> Diagnostics:
        chosen = spaced(len(x), DIAGNOSED_ROWS)
        means = mlp.density(network, self.weights_, seed, x[chosen]).components().means
        chains = means.reshape(len(chosen), self._members(), -1, means.shape[-1])
        return diagnose(
            {
                f"mean[{row}]" if means.shape[-1] == 1 else f"mean[{row}, {q}]": chains[i, ..., q]
                for i, row in enumerate(chosen)
                for q in range(means.shape[-1])
            }
        )
