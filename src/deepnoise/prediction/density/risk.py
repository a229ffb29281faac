"""Expectations under Gaussian mixtures: of a loss, and of what lies beyond a quantile."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc

from .quantile import quantile
from .sums import Law, evaluate, phi, standardise, tail_mass

# Nodes of all components of a row together, within bounds for each component.
NODES = 4096
MOST_NODES, FEWEST_NODES = 128, 8


def node_count(components: int) -> int:
    """Nodes a component."""
    return int(np.clip(NODES // components, FEWEST_NODES, MOST_NODES))


def expectation(law: Law, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """E[loss(Y)] of each row by Gauss-Hermite quadrature of every component; (B,)."""
    z, weights = np.polynomial.hermite_e.hermegauss(node_count(law.means.shape[1]))
    y = law.means[:, :, None] + law.sds[:, :, None] * z
    values = np.asarray(loss(y), dtype=float)
    if values.shape != y.shape:
        raise ValueError(
            f"loss must map an array to one of its shape; it made {values.shape} of {y.shape}"
        )
    return np.sum(law.weights * (values @ (weights / weights.sum())), -1)


def tail_mean(law: Law, level: float, upper: bool) -> np.ndarray:
    """E[Y | Y >= q] for the quantile q at ``level``, or E[Y | Y <= q]; (B,)."""
    cut = quantile(law, np.array([level]))
    return evaluate(_above if upper else _below, law, cut)[:, 0]


def _above(law: Law, x: jax.Array) -> jax.Array:
    return _beyond(law, x, 1.0)


def _below(law: Law, x: jax.Array) -> jax.Array:
    return _beyond(law, x, -1.0)


def _beyond(law: Law, x: jax.Array, sign: float) -> jax.Array:
    """x + sign E[excess] / P(beyond x)."""
    z = sign * standardise(law, x)
    excess = law.sds * (phi(z) - z * 0.5 * erfc(z * np.sqrt(0.5)))
    return x + sign * jnp.sum(law.weights * excess, -1) / tail_mass(law, x, -sign)
