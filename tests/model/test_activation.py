"""Piecewise-linear activations: values, jumps, Lipschitz constants, smooth ones approximated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.model import activation
from deepnoise.model.activation import (
    ACTIVATIONS,
    SMOOTH,
    approximate,
    hard_tanh,
    leaky_relu,
    piecewise_linear,
    relu,
    resolve_activation,
)

GRID = np.linspace(-5.0, 5.0, 1001)
STEP = piecewise_linear((0.0, 2.0, 0.0), (-1.0, 0.5, 1.0), (-0.5, 0.5))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("identity", lambda t: t),
        ("relu", lambda t: np.maximum(t, 0)),
        ("leaky_relu", lambda t: np.where(t < 0, 0.01 * t, t)),
        ("hard_tanh", lambda t: np.clip(t, -1, 1)),
        ("hard_sigmoid", lambda t: np.clip(t / 6 + 0.5, 0, 1)),
    ],
)
def test_values(name, expected):
    h = resolve_activation(name)
    np.testing.assert_allclose(h(GRID), expected(GRID), atol=1e-6)
    assert h.lipschitz == max(map(abs, h.b))
    assert len(h.edges) == h.J + 1


def test_a_cut_point_belongs_to_the_piece_on_its_right():
    np.testing.assert_allclose(STEP(np.array([-0.5, 0.5])), [-0.5, 1.0])
    np.testing.assert_allclose(STEP(np.nextafter([-0.5, 0.5], -1)), [-1.0, 1.5], atol=1e-6)


def test_jumps_and_lipschitz():
    np.testing.assert_allclose(STEP.jumps, [0.5, -0.5])
    assert STEP.lipschitz == np.inf
    np.testing.assert_allclose(hard_tanh.jumps, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype):
    with jax.enable_x64(True):
        for h in (*ACTIVATIONS.values(), STEP):
            assert h(jnp.zeros(3, dtype)).dtype == dtype


@pytest.mark.parametrize("tol", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("f", [*SMOOTH.values(), np.abs], ids=[*SMOOTH, "abs"])
def test_approximation_keeps_its_tolerance(f, tol):
    h = approximate(f, tol)
    t = np.linspace(-40, 40, 200_001)
    with jax.enable_x64(True):
        assert np.abs(h(t) - f(t)).max() <= tol * (1 + 1e-4)
    assert np.abs(h.jumps).max(initial=0) < 1e-9
    assert h.lipschitz <= 1 + 1e-3


def test_approximation_is_short():
    assert approximate(np.abs).J == 2
    assert approximate(lambda t: 2 * t + 1).J == 1
    assert approximate(np.tanh, 0.01).J <= 15
    assert approximate(np.tanh, 0.1).J < approximate(np.tanh, 0.001).J


def test_static_in_a_pytree():
    assert jax.tree.leaves(relu) == []
    assert hash(leaky_relu(0.1)) == hash(leaky_relu(0.1))


@pytest.mark.parametrize(
    ("b", "b_prime", "c", "message"),
    [
        ((1.0, 2.0), (0.0,), (0.0,), "J slopes"),
        ((1.0, 2.0), (0.0, 0.0), (0.0, 1.0), "J slopes"),
        ((1.0, np.nan), (0.0, 0.0), (0.0,), "finite"),
        ((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (1.0, 1.0), "increase"),
    ],
)
def test_wrong_pieces(b, b_prime, c, message):
    with pytest.raises(ValueError, match=message):
        piecewise_linear(b, b_prime, c)


def test_wrong_requests():
    with pytest.raises(ValueError, match="tol must be positive"):
        approximate(np.tanh, 0.0)
    with pytest.raises(ValueError, match="finite values"):
        approximate(lambda t: np.full_like(t, np.nan))
    with pytest.raises(ValueError, match="hard_tanh"):
        resolve_activation("gelu")
    assert resolve_activation(STEP) is STEP
    assert resolve_activation("tanh") == approximate(activation.SMOOTH["tanh"])
