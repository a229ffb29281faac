"""Feed-forward networks for the baselines: weights, members trained side by side, mixtures.

A network is a frozen dataclass that says how its weights start, what it loses on a row and which
Gaussian mixture it answers with.  Everything else is the same for all and written here once, as is
``TrainedNetwork``: what the estimators that train a network have in common.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import files, settings
from ..estimators.settings import check_float32
from ..inference.runtime import numerics
from ..inference.streams import PREDICTION
from ..inference.warmstart import UNIFORM_SD, early_stopped
from ..model.activation import PiecewiseLinear, resolve_activation
from ..model.network import LOG_2PI
from ..prediction.density.mixture import Components, PredictiveMixture
from ..prediction.density.sums import padded

Weights = dict[str, Any]
# A variance in standardised units below which a network may not go.
VARIANCE_FLOOR = 1e-6


class Network(Protocol):
    """What a baseline says of its network; hashable, so that programs are compiled once."""

    def init(self, rng: np.random.Generator, inputs: int, outcomes: int) -> Weights:
        """Where the training of a member starts."""

    def loss(self, weights: Weights, key, x, y, rows) -> jax.Array:
        """What is minimised, for every row (n,); ``rows`` is the number of training rows."""

    def held(self, weights: Weights, key, x, y) -> jax.Array:
        """What decides when to stop, for every held-out row (n,)."""

    def mixture(self, weights: Weights, key, x) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Weights (N, C), means (N, C, Q) and variances (N, C, Q), or 1 for N, of all members."""


@dataclass(frozen=True)
class Training:
    """Adam on random batches; ends after ``patience`` checks of the held-out rows without gain."""

    steps: int = 6000
    batch: int = 128
    rate: float = 3e-3
    check_every: int = 50
    patience: int = 30

    @classmethod
    def usual(cls, rows: int, steps: int | None = None) -> "Training":
        """Three steps a row unless they are given, from 6000 to 20,000; about 120 checks, or fewer.

        The rate falls all the way: a training that ends because nothing was gained in few steps
        ends before it can gain.
        """
        if steps is None:
            steps = min(max(6000, 3 * rows // 1000 * 1000), 20_000)
        return cls(steps, check_every=max(50, steps // 120))


@dataclass(frozen=True)
class Split:
    """Row numbers (members, n) to train on and (members, m) to judge by."""

    train: np.ndarray
    held: np.ndarray


def random_split(seed: int, rows: int, members: int, share: float) -> Split:
    """A random share of the rows, rounded down, is held out for each member."""
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(rows) for _ in range(members)])
    held = int(share * rows)
    return Split(order[:, held:], order[:, :held])


def random_weights(
    rng: np.random.Generator, widths: tuple[int, ...], size: float = UNIFORM_SD
) -> Weights:
    """Weights of sd size/√fan-in; biases of hidden layers spread the kinks, the last is zero."""
    weights: Weights = {}
    for l, (fan_in, out) in enumerate(pairwise(widths)):
        spread = 0.5 if l < len(widths) - 2 else 0.0
        weights[f"w{l}"] = rng.normal(0, size * fan_in**-0.5, (out, fan_in))
        weights[f"b{l}"] = spread * rng.normal(size=out)
    return weights


def forward(weights: Weights, x: jax.Array, h: PiecewiseLinear, mask=None) -> jax.Array:
    """The last layer's outputs (n, K); ``mask(l, u)`` may change what enters layer l."""
    u, last = x, sum(name.startswith("w") for name in weights) - 1
    for l in range(last + 1):
        u = u if mask is None else mask(l, u)
        u = u @ weights[f"w{l}"].T + weights[f"b{l}"]
        u = u if l == last else h(u)
    return u


def positive(t: jax.Array) -> jax.Array:
    """A variance from an output."""
    return jax.nn.softplus(t) + VARIANCE_FLOOR


def log_normal(y: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    """log N(y; mean, diag(variance)), summed over the last axis."""
    return -jnp.sum((y - mean) ** 2 / variance + jnp.log(variance) + LOG_2PI, axis=-1) / 2


def member_keys(seed: int, members: int) -> jax.Array:
    key = jax.random.key(seed)
    return jax.vmap(lambda member: jax.random.fold_in(key, member))(jnp.arange(members))


def fit(
    network: Network,
    training: Training,
    seed: int,
    x: np.ndarray,
    y: np.ndarray,
    split: Split,
    fixed: Weights | None = None,
) -> Weights:
    """Trained weights, as numpy, with a leading axis member; ``fixed`` ones join them untouched.

    Rows are padded to a power of two and their numbers are not part of the program, so that sets
    of similar size share one compilation.
    """
    check_float32(x, y, "use standardize=True")
    starts = [
        network.init(np.random.default_rng([seed, member]), x.shape[1], y.shape[1])
        for member in range(len(split.train))
    ]
    with numerics():
        weights = _fit(
            network,
            training,
            member_keys(seed, len(split.train)),
            jax.tree.map(lambda *parts: jnp.asarray(np.stack(parts), jnp.float32), *starts),
            jnp.asarray(padded(x), jnp.float32),
            jnp.asarray(padded(y), jnp.float32),
            _counted(split.train),
            _counted(split.held),
            jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), fixed or {}),
        )
        found = jax.tree.map(np.asarray, weights)
    if not all(np.isfinite(a).all() for a in jax.tree.leaves(found)):
        raise ValueError("the training diverged: some values are not finite; use standardize=True")
    return found


def _counted(numbers: np.ndarray) -> tuple[np.ndarray, int]:
    """Row numbers (members, n) padded, at least to one, and n."""
    if not numbers.size:
        return np.zeros((len(numbers), 1), int), 0
    return padded(numbers, axis=1), numbers.shape[1]


@partial(jax.jit, static_argnums=(0, 1))
def _fit(network: Network, training: Training, keys, starts, x, y, train, held, fixed) -> Weights:
    """One early-stopped training a member; the weights best on its held-out rows are kept."""
    (train, n_train), (held, n_held) = train, held
    batch = min(training.batch, len(x))

    def one_member(key, start, train, held, fixed):
        key_held, key_steps = jax.random.split(key)
        is_held = jnp.arange(len(held)) < n_held

        def loss(weights, key):
            key_rows, key_loss = jax.random.split(key)
            rows = train[jax.random.randint(key_rows, (batch,), 0, n_train)]
            return jnp.mean(network.loss({**weights, **fixed}, key_loss, x[rows], y[rows], n_train))

        def held_loss(weights):
            losses = network.held({**weights, **fixed}, key_held, x[held], y[held])
            return jnp.sum(jnp.where(is_held, losses, 0)) / jnp.maximum(n_held, 1)

        best, _ = early_stopped(key_steps, start, loss, held_loss, n_held > 0, training)
        return {**best, **fixed}

    return jax.vmap(one_member)(keys, starts, train, held, fixed)


def density(network: Network, weights: Weights, seed: int, x: np.ndarray) -> PredictiveMixture:
    """The mixture of all members at rows x, in float64, a block of rows at a time."""
    with numerics():
        key = jax.random.fold_in(jax.random.key(seed), PREDICTION)
        exact = jax.tree.map(lambda a: np.asarray(a, float), weights)
        _, components, outcomes = jax.eval_shape(
            partial(network.mixture, exact, key), np.zeros((1, x.shape[1]))
        )[1].shape

    def read(start: int, stop: int) -> Components:
        with numerics():
            rows = padded(np.asarray(x[start:stop], float))
            parts = [np.asarray(part) for part in _mixture(network, exact, key, rows)]
        share, means, variances = (part[: stop - start] for part in parts)
        return Components(share, means, variances[..., None] * np.eye(outcomes))

    return PredictiveMixture.from_blocks(len(x), outcomes, components, read)


_mixture = jax.jit(lambda network, *args: network.mixture(*args), static_argnums=0)


class TrainedNetwork:
    """Methods for a density regressor whose fit is the training of a :class:`Network`.

    It has the parameters named here, writes ``_network`` and may write the others.
    """

    hidden: Any
    activation: Any
    steps: int | None
    validation: float
    weights_: Weights
    seed_: int

    def _network(self) -> Network:
        raise NotImplementedError

    def _members(self) -> int:
        return 1

    def _split(self, seed: int, rows: int) -> Split:
        return random_split(seed, rows, self._members(), self.validation)

    def _training(self, rows: int) -> Training:
        steps = None if self.steps is None else settings.count("steps", self.steps, 1)
        return Training.usual(rows, steps)

    def _shape(self) -> tuple[tuple[int, ...], PiecewiseLinear]:
        return settings.widths(self.hidden), resolve_activation(self.activation)

    def check_settings(self) -> None:
        self._shape()
        self._training(1)
        settings.share("validation", self.validation)

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        split = self._split(seed, len(x))
        self.weights_ = fit(self._network(), self._training(len(x)), seed, x, y, split)

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        return density(self._network(), self.weights_, self.seed_, x)

    def row_mean(self, x: np.ndarray) -> np.ndarray:
        """Predictive means of standardised rows, in standardised units."""
        return self._density(x).mean()

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, for :func:`deepnoise.load`.

        Parameters
        ----------
        path : path
            The folder; a model that it already holds is replaced.
        """
        files.save_arrays(self, path)
