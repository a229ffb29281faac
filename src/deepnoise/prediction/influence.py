"""How strongly each feature moves the predictive mean and spread: mean |∂/∂x_j| over rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.marginal import last_covariance, path_means
from ..model.network import Theta
from .credible import Band, band, check_level
from .mixture_math import padded
from .per_draw import DrawDensities, as_float64, row_blocks


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of each encoded feature, in units of y per unit of the feature; (P,) or (P, Q).

    ``predictive`` is the mean over rows of |∂E[y|x]/∂x_j|, the paper's measure.  ``mean`` and
    ``sd`` are the posteriors of the mean over rows of |∂E[y|x,Θ]/∂x_j| and |∂sd[y|x,Θ]/∂x_j|.
    """

    names: tuple[str, ...]
    predictive: np.ndarray
    mean: Band
    sd: Band


def influence(
    densities: DrawDensities,
    names: tuple[str, ...],
    input_slopes: np.ndarray,
    scored: Sequence[int],
    level: float,
) -> Influence:
    """Gradients along the noise paths, averaged.

    ``input_slopes`` (N, inputs) are the derivatives of the network's inputs by the features that
    they are of: the first P inputs of the P features, the others of the features ``scored``.
    """
    check_level(level)
    densities.refuse_gaps("influence")
    if not np.isfinite(densities.h.lipschitz):
        raise ValueError("influence needs an activation without jumps")
    N, P = len(densities.x), len(names)
    M, Q = len(densities.weights), densities.n_outcomes
    totals, predictive = np.zeros((2, M, Q, P)), np.zeros((Q, P))
    with jax.enable_x64(True):
        draws = as_float64(densities.draws)
        for rows in row_blocks(N, 2 * M * Q * input_slopes.shape[1]):
            x = np.asarray(densities.x[rows], float)
            found = gradients(densities.key, draws, padded(x), densities.h, _paths(densities))
            # (mean or sd, draw, row, outcome, feature)
            slopes = np.stack([np.asarray(part)[:, : len(x)] for part in found])
            slopes *= densities.scale[:, None] * input_slopes[rows, None]
            slopes[..., scored] += slopes[..., P:]
            slopes = slopes[..., :P]
            totals += np.abs(slopes).sum(axis=2)
            predictive += np.abs(densities.average(slopes[0], axis=0)).sum(axis=0)
    parts = [_features_first(band(densities, total / N, level, axis=0), Q) for total in totals]
    return Influence(names, _squeezed(predictive / N, Q), *parts)


@partial(jax.jit, static_argnums=(3, 4))
def gradients(key, draws: Theta, x, h: PiecewiseLinear, paths: int):
    """∂E[y|x,Θ]/∂x and ∂sd[y|x,Θ]/∂x for every draw and row: (M, B, Q, P) each."""

    def moments(row, theta):
        means = path_means(key, theta, row[None], h, paths)[:, 0]
        variance = jnp.diagonal(last_covariance(theta)) + jnp.var(means, axis=0)
        return jnp.mean(means, axis=0), jnp.sqrt(variance)

    def one_draw(theta):
        return jax.vmap(lambda row: jax.jacrev(moments)(row, theta))(x)

    return jax.lax.map(one_draw, draws)


def _paths(densities: DrawDensities) -> int:
    return densities.paths if densities.draws.L else 1


def _features_first(part: Band, outcomes: int) -> Band:
    return Band(*(_squeezed(v, outcomes) for v in (part.mean, part.lower, part.upper)))


def _squeezed(values: np.ndarray, outcomes: int) -> np.ndarray:
    """(P,) from (1, P), (P, Q) from (Q, P)."""
    return values[0] if outcomes == 1 else values.T
