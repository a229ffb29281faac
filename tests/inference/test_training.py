"""Early stopping: the best is kept, patience ends it, and without judges the last step stays."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from deepnoise.inference.runtime import numerics
from deepnoise.inference.warmstart import early_stopped


@dataclass(frozen=True)
class Short:
    steps: int = 100
    rate: float = 0.1
    check_every: int = 10
    patience: int = 3


def trained(held_loss, judged=True, schedule=Short()):  # noqa: B008
    """A number that wants to become 10 and moves about 0.1 a step, and its loss."""
    with numerics():
        loss = lambda position, _: (position - 10.0) ** 2
        found = early_stopped(jax.random.key(0), jnp.zeros(()), loss, held_loss, judged, schedule)
        return tuple(map(float, found))


def test_the_best_position_is_kept():
    best, loss = trained(lambda position: (position - 3.0) ** 2)
    assert abs(best - 3.0) < 0.6
    assert np.isclose(loss, (best - 3.0) ** 2)


def test_patience_ends_the_fit():
    calls = []

    def worse_and_worse(position):
        jax.debug.callback(lambda p: calls.append(float(p)), position)
        return position

    best, _ = trained(worse_and_worse)
    jax.effects_barrier()
    assert len(calls) == 4
    assert np.isclose(best, min(calls))


def test_without_judges_the_last_step_is_kept():
    end, loss = trained(lambda position: position * jnp.nan, judged=False)
    longer, _ = trained(lambda position: position, judged=False, schedule=Short(steps=105))
    assert end > 5.0
    assert longer > end
    assert np.isnan(loss)
