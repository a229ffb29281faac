"""Gradient starts in two stages: the better on held-out rows is kept."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.runtime import numerics
from deepnoise.inference.warmstart import (
    WarmStart,
    best_of,
    better_of,
    fit,
    random_position,
    theta_at,
    tied,
)
from deepnoise.model.activation import hard_tanh

SHORT = WarmStart(steps=80, batch=16, paths=8, check_every=20, check_paths=16, log_noise=-2.0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)).astype(np.float32)
    return x, (x[:, :1] + 0.1 * rng.normal(size=(60, 1))).astype(np.float32)


def started(rows, settings, held=20):
    order = jnp.arange(60)
    with numerics():
        run = jax.jit(lambda key, x, y: fit(key, x, y, order[held:], order[:held], *rest))
        rest = (2, 4, 4, 4, 1), hard_tanh, settings
        return run(jax.random.key(0), *rows)


@pytest.mark.parametrize(
    ("rows", "layers", "steps"),
    [(50, 2, 4000), (500, 2, 6000), (10**6, 2, 12_000), (50, 4, 4000), (10**6, 4, 40_000)],
)
def test_more_rows_train_longer_within_bounds(rows, layers, steps):
    assert WarmStart.usual(rows, layers).steps == steps


@pytest.mark.parametrize(("layers", "size"), [(1, 1.0), (2, 1.0), (3, 3**-0.5), (4, 3**-0.5)])
def test_deep_networks_begin_with_smaller_weights(layers, size):
    assert WarmStart.usual(500, layers).weight_size == pytest.approx(size)


def test_the_speed_of_noise_changes_its_steps_and_not_its_start(key):
    slow, fast = SHORT, replace(SHORT, noise_speed=4.0)
    first, second = (random_position(key, (2, 4, 1), s, np.float32) for s in (slow, fast))
    for a, b in zip(
        jax.tree.leaves(theta_at(first, slow)), jax.tree.leaves(theta_at(second, fast)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    start = theta_at(second, fast)
    moved = theta_at(jax.tree.map(lambda a: a + 0.1, second), fast)
    np.testing.assert_allclose(moved.tau2[0] / start.tau2[0], np.exp(0.4), rtol=1e-5)
    np.testing.assert_allclose(moved.gamma[0] - start.gamma[0], 0.1, rtol=1e-4)


def test_weights_begin_at_their_size_over_the_root_of_their_fan_in(key):
    settings = [replace(SHORT, weight_size=size) for size in (1.0, 0.5)]
    one, half = (random_position(key, (4, 300, 1), s, np.float32) for s in settings)
    assert jnp.std(one.beta[0]) == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(half.beta[0], one.beta[0] / 2, rtol=1e-6)
    np.testing.assert_array_equal(half.gamma[0], one.gamma[0])


@pytest.mark.slow
@pytest.mark.parametrize("fast", [0.05, 10.0])
def test_of_two_rates_the_better_on_held_out_rows_is_kept(rows, fast):
    """A rate of 10 breaks any training: it must lose."""
    _, both = started(rows, replace(SHORT, fast_rate=fast))
    losses = [started(rows, replace(SHORT, rate=rate))[1] for rate in (SHORT.rate, fast)]
    np.testing.assert_allclose(both, min(losses), rtol=1e-3)
    assert np.argmin(losses) == (1 if fast == 0.05 else 0)


@pytest.mark.parametrize(
    ("losses", "chosen"), [([2, 1], 1), ([1, 2], 0), ([np.nan, np.nan], 0), ([1, 1], 0)]
)
def test_best_of(losses, chosen):
    position, loss = best_of((jnp.arange(2), jnp.array(losses)))
    assert position == chosen
    assert np.array_equal(loss, losses[chosen], equal_nan=True)


def test_shallow_networks_train_at_two_rates_and_deep_ones_at_one():
    assert WarmStart.usual(500, 2).rates == (0.005, 0.05)
    assert WarmStart.usual(500, 4).rates == (0.005,)


@pytest.mark.parametrize(("values", "found"), [(500, False), (51, False), (50, True), (1, True)])
def test_outcomes_on_few_values_train_at_one_rate(values, found):
    y = np.stack([np.arange(500.0), np.arange(500.0) % values], axis=1)
    assert tied(y) == found
    assert WarmStart.usual(500, 2, tied(y)).rates == ((0.005,) if found else (0.005, 0.05))


@pytest.mark.slow
def test_a_second_stage_never_loses_on_held_out_rows(rows):
    two = replace(SHORT, few_paths=2)
    few, many = two.stages()
    assert (few.paths, few.steps, many.paths, many.steps) == (2, 80, 8, 20)
    (theta, loss), (first, first_loss) = started(rows, two), started(rows, few)
    assert loss <= first_loss
    moved = any(not np.array_equal(a, b) for a, b in zip(theta.beta, first.beta, strict=True))
    assert moved == bool(loss < first_loss)


@pytest.mark.slow
def test_without_held_out_rows_the_last_stage_counts(rows):
    two = replace(SHORT, few_paths=2)
    theta, loss = started(rows, two, held=0)
    first, _ = started(rows, two.stages()[0], held=0)
    assert np.isnan(loss)
    assert not np.array_equal(theta.beta[0], first.beta[0])


@pytest.mark.parametrize(("old", "new", "chosen"), [(1, 2, 0), (2, 1, 1), (np.nan, np.nan, 1)])
def test_better_of(old, new, chosen):
    position, loss = better_of((jnp.array(0), jnp.array(old)), (jnp.array(1), jnp.array(new)))
    assert position == chosen
    assert np.array_equal(loss, [old, new][chosen], equal_nan=True)
