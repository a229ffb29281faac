"""Adam at a falling rate with early stopping, for one fit; members and chains come from outside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import optax


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
