"""A gradient fit of Theta, one fold a chain: where the chains start.

Maximises the Monte Carlo marginal likelihood log mean_r N(y; mean_r, cov) over noise paths r, the
last layer integrated exactly; the step with the best held-out fold is kept.  Networks of the
baselines are trained by the same Adam at a falling rate with early stopping.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..model.activation import PiecewiseLinear
from ..model.marginal import path_log_likelihood
from ..model.network import Theta
from ..model.outcome import Seen
from ..model.random import normals
from .interweave import exp_variances
from .streams import CHOICE

# More rows than these take no more memory and no more time.
START_ROWS = 50_000
# The sd of a uniform of (-1, 1): what torch.nn.Linear draws, times √fan-in.
UNIFORM_SD = 3**-0.5


@dataclass(frozen=True)
class WarmStart:
    """Settings of the gradient fit; training stops after ``patience`` checks without progress.

    With ``few_paths``, a training by so many comes first and one of ``steps // 4`` by all follows;
    the better of both on held-out rows is kept.  With a positive ``fast_rate``, a training at that
    rate runs beside the one at ``rate``, and again the better is kept.  Logs of variances move
    ``noise_speed`` times as far in a step as weights, which begin with sd ``weight_size``/√fan-in.
    With a positive ``last_noise``, τ_L stays there: utilities have no unit of their own.
    """

    steps: int = 4000
    batch: int = 64
    paths: int = 32
    rate: float = 5e-3
    log_noise: float = 0.0
    check_every: int = 50
    patience: int = 20
    check_paths: int = 64
    few_paths: int = 0
    fast_rate: float = 0.0
    noise_speed: float = 1.0
    weight_size: float = 1.0
    last_noise: float = 0.0

    @classmethod
    def usual(cls, rows: int, layers: int, tied: bool = False) -> "WarmStart":
        """768 passes over the rows for up to two hidden layers, 400 for more, within bounds.

        Shallow networks start with large noise, as the authors', which has far to fall, and are
        judged by many paths: a bound by few punishes hidden noise, and skewness is not found.  A
        fast rate finds shapes of noise that a slow one misses, and loses where rows are few.  Where
        outcomes are ``tied`` it loses their means to spikes on their values.
        Through more layers large noise adds up, and chains would need long to return from it; few
        paths then find better means, and many find the shape where there is one.  Weights that
        begin smaller stay so, and make smoother functions.
        """
        if layers <= 2:
            steps = int(min(max(4000, 12 * rows), 12_000))
            fast_rate = 0.0 if tied else 0.05
            return cls(steps, check_every=steps // 80, fast_rate=fast_rate, noise_speed=4.0)
        batch = 128 if rows < 2000 else 256
        steps = int(min(max(4000, 400 * rows // batch), 40_000))
        log_noise = -1.25 * (layers - 2)
        return cls(
            steps,
            batch,
            log_noise=log_noise,
            check_every=steps // 80,
            patience=30,
            few_paths=8,
            weight_size=UNIFORM_SD,
        )

    @property
    def rates(self) -> tuple[float, ...]:
        """Those of the trainings that run beside each other."""
        return (self.rate, self.fast_rate) if self.fast_rate > 0 else (self.rate,)

    def stages(self) -> tuple["WarmStart", ...]:
        """The trainings that follow each other."""
        if not self.few_paths:
            return (self,)
        few = replace(self, paths=self.few_paths, few_paths=0)
        return few, replace(self, steps=max(1, self.steps // 4), few_paths=0)


def tied(y: np.ndarray) -> bool:
    """Whether an outcome of y (N, Q) takes each of its values ten times, on average, or more."""
    return any(10 * len(np.unique(outcome)) <= len(y) for outcome in y.T)


def random_position(key: jax.Array, widths: tuple[int, ...], settings: WarmStart, dtype) -> Theta:
    """Weights of size weight_size/√fan-in; the log of every noise sd is N(log_noise, 1)."""
    fans = list(pairwise(widths))
    keys = [jax.random.split(jax.random.fold_in(key, l), 4) for l in range(len(fans))]

    def log_variances(part):
        return [
            2 * (settings.log_noise + normals(k[part], (out,), dtype)) / settings.noise_speed
            for k, (_, out) in zip(keys, fans, strict=True)
        ]

    return Theta(
        beta=tuple(
            normals(k[0], (out, fan_in), dtype) * (settings.weight_size * fan_in**-0.5)
            for k, (fan_in, out) in zip(keys, fans, strict=True)
        ),
        gamma=tuple(
            0.5 * normals(k[1], (out,), dtype) for k, (_, out) in zip(keys, fans, strict=True)
        ),
        tau2=tuple(log_variances(2)),
        sigma2=tuple(log_variances(3)[:-1]),
    )


def fold(key: jax.Array, rows: int, c) -> tuple[jax.Array, jax.Array]:
    """(training rows, held-out rows) of chain c: it holds out a fifth, five in turn all rows.

    Of many rows, only those of ``start_rows`` are used.
    """
    chosen = start_rows(key, rows)
    held = len(chosen) // 5
    order = jax.random.permutation(jax.random.fold_in(key, c // 5), len(chosen))
    order = chosen[jnp.roll(order, -(c % 5) * held)]
    return order[held:], order[:held]


def start_rows(key: jax.Array, rows: int) -> jax.Array:
    """The rows that gradient fits look at: all, or a random one of each of START_ROWS strata."""
    if rows <= START_ROWS:
        return jnp.arange(rows)
    edges = jnp.arange(START_ROWS + 1) * rows // START_ROWS
    return jax.random.randint(jax.random.fold_in(key, CHOICE), (START_ROWS,), edges[:-1], edges[1:])


def theta_at(position: Theta, settings: WarmStart) -> Theta:
    """Theta at a position of the training: log variances there are divided by their speed."""
    logs = lambda slow: tuple(settings.noise_speed * log for log in slow)  # noqa: E731
    position = replace(position, tau2=logs(position.tau2), sigma2=logs(position.sigma2))
    theta = exp_variances(position)
    last = jnp.full_like(theta.tau2[-1], settings.last_noise**2)
    return replace(theta, tau2=(*theta.tau2[:-1], last)) if settings.last_noise else theta


def mean_loss(position: Theta, key, rows, paths: int, x, y: Seen, h, settings: WarmStart):
    """-mean log p(y | x) of some rows, by noise paths."""
    seen = jax.tree.map(lambda a: a[rows], y)
    theta = theta_at(position, settings)
    return -jnp.mean(path_log_likelihood(key, theta, x[rows], seen, h, paths))


def fit(
    key: jax.Array,
    x: jax.Array,
    y: Seen,
    train: jax.Array,
    held: jax.Array,
    widths: tuple[int, ...],
    h: PiecewiseLinear,
    settings: WarmStart,
) -> tuple[Theta, jax.Array]:
    """(Theta, held-out loss) of one chain.

    ``train`` (n,) and ``held`` (m,) are row numbers; with m = 0 the last step is kept.
    """
    key_start, key_held, key_steps = jax.random.split(key, 3)
    batch = min(settings.batch, len(train))

    def held_loss(position):
        return mean_loss(position, key_held, held, settings.check_paths, x, y, h, settings)

    def trained(number, stage, start):
        def loss(position, key):
            key_rows, key_paths = jax.random.split(key)
            rows = train[jax.random.randint(key_rows, (batch,), 0, len(train))]
            return mean_loss(position, key_paths, rows, stage.paths, x, y, h, settings)

        key_stage = jax.random.fold_in(key_steps, number)
        return early_stopped(key_stage, start, loss, held_loss, held.size > 0, stage)

    first, *others = settings.stages()
    start = random_position(key_start, widths, settings, x.dtype)

    def at_rate(rate):
        return trained(0, replace(first, rate=rate), start)

    rates = jnp.array(settings.rates, x.dtype)
    found = best_of(jax.vmap(at_rate)(rates)) if len(rates) > 1 else trained(0, first, start)
    for number, stage in enumerate(others, start=1):
        found = better_of(found, trained(number, stage, found[0]))
    return theta_at(found[0], settings), found[1]


def best_of(found: tuple[Theta, jax.Array]) -> tuple[Theta, jax.Array]:
    """That with the least held-out loss of several; the first if nothing was held out."""
    best = jnp.argmin(found[1])
    return jax.tree.map(lambda a: a[best], found)


def better_of(old: tuple[Theta, jax.Array], new: tuple[Theta, jax.Array]):
    """(position, held-out loss) with the smaller loss; the new one if nothing was held out."""
    keep = old[1] <= new[1]
    return jax.tree.map(lambda a, b: jnp.where(keep, a, b), old, new)


class Schedule(Protocol):
    """How long: at most ``steps``, until ``patience`` checks, ``check_every`` steps apart, fail.

    The rate falls along half a cosine from ``rate`` to a hundredth of it at the last step.
    """

    @property
    def steps(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def check_every(self) -> int: ...
    @property
    def patience(self) -> int: ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Progress:
    """One fit under way."""

    position: Any
    optimizer: optax.OptState
    best: Any
    best_loss: jax.Array
    stale: jax.Array
    step: jax.Array


def early_stopped(
    key: jax.Array,
    start: Any,
    loss: Callable[[Any, jax.Array], jax.Array],
    held_loss: Callable[[Any], jax.Array],
    judged: jax.Array | bool,
    schedule: Schedule,
) -> tuple[Any, jax.Array]:
    """The position that was best on held-out rows, and its loss there.

    ``loss(position, key)`` is minimised, with a new key at every step.  If not ``judged`` there are
    no such rows: the last position is kept, and the loss is NaN.
    """
    rate = optax.cosine_decay_schedule(schedule.rate, schedule.steps, alpha=0.01)
    adam = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(rate))

    def step(_, carry):
        position, optimizer, t = carry
        gradient = jax.grad(loss)(position, jax.random.fold_in(key, t))
        change, optimizer = adam.update(gradient, optimizer)
        return optax.apply_updates(position, change), optimizer, t + 1

    def check(p: Progress) -> Progress:
        count = jnp.minimum(schedule.check_every, schedule.steps - p.step)
        carry = p.position, p.optimizer, p.step
        position, optimizer, t = jax.lax.fori_loop(0, count, step, carry)
        found = jnp.where(judged, held_loss(position), jnp.nan)
        better = (found < p.best_loss) | jnp.logical_not(judged)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), position, p.best)
        stale = jnp.where(better, 0, p.stale + 1)
        best_loss = jnp.where(better, found, p.best_loss)
        return Progress(position, optimizer, best, best_loss, stale, t)

    def going(p: Progress):
        return (p.step < schedule.steps) & (p.stale < schedule.patience)

    dtype = jax.tree.leaves(start)[0].dtype
    worst = jnp.asarray(jnp.finfo(dtype).max, dtype)
    first = Progress(start, adam.init(start), start, worst, jnp.array(0), jnp.array(0))
    last = jax.lax.while_loop(going, check, first)
    return last.best, last.best_loss
