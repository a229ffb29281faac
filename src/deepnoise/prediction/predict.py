"""From posterior draws and new rows to predictive densities.

Noise paths are simulated to v_{L-1} and the last layer is integrated exactly.  A path's noise is
shared by all rows, so a row's density does not depend on its neighbours.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..inference.runtime import cores, in_threads, numerics
from ..inference.streams import INPUTS
from ..model.activation import PiecewiseLinear
from ..model.covariates import InputLaw, fill
from ..model.marginal import last_covariance, path_means, path_noises
from ..model.network import Theta
from .density.components import Remembered
from .density.mixture import Components, PredictiveMixture
from .density.sums import padded

DRAWS_A_BLOCK = 128


def predictive(
    key: jax.Array,
    draws: Theta,
    x: np.ndarray,
    h: PiecewiseLinear,
    paths: int,
    weights: np.ndarray | None = None,
    inputs: InputLaw | None = None,
) -> PredictiveMixture:
    """y | x as the mixture of N(β_L h(v_{L-1}) + γ_L, T_L + β_L Σ_{L-1} β_Lᵀ) over draws and paths.

    ``draws`` carry a leading axis (M,); ``weights`` (M,) are their probabilities, equal if None.
    Where x is NaN every path draws it anew from ``inputs`` (M, ...), given the rest of its row.
    Paper: thm:predictive-density.  Erratum: E4.
    """
    M, Q = draws.gamma[-1].shape
    gaps = bool(np.isnan(x).any())
    if gaps and inputs is None:
        raise ValueError(
            "x holds NaN, but there is no distribution of inputs to draw missing values from"
        )
    paths = paths if draws.L or gaps else 1
    laws = inputs if gaps else None
    blocks = range(0, M, DRAWS_A_BLOCK)
    covs = np.concatenate([covariances(_block(draws, first)) for first in blocks])
    covs = np.repeat(covs, paths, axis=0)[None]
    component_weights = np.full(M, 1 / M) if weights is None else np.asarray(weights, float)
    component_weights = np.repeat(component_weights / paths, paths)[None]

    def read(start: int, stop: int) -> Components:
        rows = padded(np.asarray(x[start:stop], float))
        means = np.empty((stop - start, M, paths, Q))

        def simulate(first: int) -> None:
            theta, law = _block(draws, first), _block(laws, first)
            found = np.asarray(component_means(key, first, theta, rows, h, paths, law))
            part = means[:, first : first + DRAWS_A_BLOCK]
            part[...] = found[: stop - start].reshape(part.shape)

        # One path is too little work for XLA to share out among cores.
        workers = cores() if jax.default_backend() == "cpu" else 1
        in_threads(simulate, blocks, workers)
        return Components(component_weights, means.reshape(stop - start, -1, Q), covs)

    return PredictiveMixture.from_blocks(len(x), Q, M * paths, Remembered(read, len(x)))


def _block(draws, first: int):
    """Some draws in float64; draws that lie on disk are read here, a block at a time."""
    return jax.tree.map(lambda a: np.asarray(a[first : first + DRAWS_A_BLOCK], float), draws)


def covariances(draws: Theta) -> np.ndarray:
    """T_L + β_L Σ_{L-1} β_Lᵀ of every draw, in float64: (M, Q, Q)."""
    with numerics():
        return np.asarray(jax.vmap(last_covariance)(as_float64(draws)))


def as_float64(draws):
    """Draws, or laws of inputs, as float64 on the device; within ``numerics()``."""
    return jax.tree.map(lambda a: jnp.asarray(a, float), draws)


@partial(jax.jit, static_argnums=(4, 5))
def component_means(
    key, first, draws: Theta, x, h: PiecewiseLinear, paths: int, inputs: InputLaw | None = None
) -> jax.Array:
    """β_L h(v_{L-1}) + γ_L for every row, draw and path, (N, M paths, Q); from draw ``first``."""

    def one_draw(part):
        m, theta, law = part
        key_m = jax.random.fold_in(key, m)
        return path_means(key_m, theta, filled(key_m, x, law, paths), h, paths)

    numbers = first + jnp.arange(draws.gamma[0].shape[0])
    means = jax.lax.map(one_draw, (numbers, draws, inputs))
    return means.reshape(-1, *means.shape[2:]).swapaxes(0, 1)


def drawn_paths(
    key: jax.Array, draws: Theta, paths: int, shared: bool = False
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The noise of predictions with numbers in it, for those who predict without drawing it anew.

    γ_l + τ_l e_l of every layer, (M, paths, K_l), the last without noise, (M, 1, Q), and σ_l d_l
    between hidden layers.  Every draw has noise of its own, as in :func:`component_means`, or all
    have the same, as in ``per_draw``.
    """
    theta = jax.tree.map(lambda a: np.asarray(a, float), draws)
    widths = tuple(gamma.shape[1] for gamma in theta.gamma[:-1])
    with numerics():
        numbers = jnp.arange(1 if shared else len(theta.gamma[0]))
        noises = [np.asarray(pair) for pair in _noises(key, numbers, widths, paths, shared)]
    parts = zip(theta.gamma[:-1], theta.tau2[:-1], noises, strict=True)
    before = [gamma[:, None] + np.sqrt(tau2)[:, None] * e[:, 0, :, 0] for gamma, tau2, e in parts]
    between = zip(theta.sigma2[:-1], noises[:-1], strict=True)
    after = [np.sqrt(sigma2)[:, None] * d[:, 1, :, 0] for sigma2, d in between]
    return [*before, theta.gamma[-1][:, None]], after


@partial(jax.jit, static_argnums=(2, 3, 4))
def _noises(key, numbers, widths: tuple[int, ...], paths: int, shared: bool) -> list[jax.Array]:
    """(M or 1, 2, paths, 1, K_l) of each hidden layer."""

    def of_draw(m):
        own = key if shared else jax.random.fold_in(key, m)
        return path_noises(own, paths, widths, jnp.float64)

    return jax.lax.map(of_draw, numbers)


def filled(key, x, law: InputLaw | None, paths: int) -> jax.Array:
    """x (N, P), or (paths, N, P) with its NaN drawn from the law; layer numbers use other keys."""
    return x if law is None else fill(jax.random.fold_in(key, INPUTS), paths, x, law)
