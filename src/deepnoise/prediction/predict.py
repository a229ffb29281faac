"""From posterior draws and new rows to predictive densities.

Noise paths are simulated to v_{L-1} and the last layer is integrated exactly.  A path's noise is
shared by all rows, so a row's density does not depend on its neighbours.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.covariates import InputLaw, fill
from ..model.marginal import last_covariance, path_means
from ..model.network import Theta
from .mixture import Components, GaussianMixture
from .mixture_components import Remembered
from .mixture_math import padded

DRAWS_A_BLOCK = 128
# Layer l of a path uses fold_in(key, l); this number is no layer's.
INPUTS = 2**32 - 1


def predictive(
    key: jax.Array,
    draws: Theta,
    x: np.ndarray,
    h: PiecewiseLinear,
    paths: int,
    weights: np.ndarray | None = None,
    inputs: InputLaw | None = None,
) -> GaussianMixture:
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
    covs = np.concatenate([_covariances(_block(draws, first)) for first in blocks])
    covs = np.repeat(covs, paths, axis=0)[None]
    component_weights = np.full(M, 1 / M) if weights is None else np.asarray(weights, float)
    component_weights = np.repeat(component_weights / paths, paths)[None]

    def read(start: int, stop: int) -> Components:
        with jax.enable_x64(True):
            rows = padded(np.asarray(x[start:stop], float))
            means = [
                component_means(
                    key, first, _block(draws, first), rows, h, paths, _block(laws, first)
                )
                for first in blocks
            ]
            joined = np.concatenate([np.asarray(part)[: stop - start] for part in means], axis=1)
            return Components(component_weights, joined, covs)

    return GaussianMixture.from_blocks(len(x), Q, M * paths, Remembered(read))


def _block(draws, first: int):
    """Some draws in float64; draws that lie on disk are read here, a block at a time."""
    return jax.tree.map(lambda a: np.asarray(a[first : first + DRAWS_A_BLOCK], float), draws)


def _covariances(draws: Theta) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(last_covariance)(draws))


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


def filled(key, x, law: InputLaw | None, paths: int) -> jax.Array:
    """x (N, P), or (paths, N, P) with its NaN drawn from the law; layer numbers use other keys."""
    return x if law is None else fill(jax.random.fold_in(key, INPUTS), paths, x, law)
