"""Where the predictive variance comes from: not knowing Theta, and the noise of each layer.

Given Theta, y is a function of independent noises z_1, ..., z_K, in the order in which the network
adds them.  With V_k = Var(E[y | z_1..z_k]), noise k contributes V_k - V_{k-1} >= 0: what it
explains beyond all earlier ones.  The contributions add up to Var(y).
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..inference import notebook
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..model.bounds import layer_bounds
from ..model.marginal import path_noises
from ..model.network import Theta, pre_activation
from .density.sums import padded
from .parts import variance_table
from .per_draw import DrawDensities, as_float64, row_blocks


@dataclass(frozen=True, eq=False)
class VarianceParts:
    """Var(y | x) = epistemic + aleatoric, (N,) or (N, Q) each, in squared units of y.

    ``epistemic`` is the variance across draws of E[y | x, Θ], ``aleatoric`` the mean of
    Var(y | x, Θ).  ``shares`` (N, K) or (N, K, Q) say how much of the aleatoric part each of the K
    ``sources`` of noise contributes; they add up to one.

    ``bounds`` (L + 1,) or (L + 1, Q) are the terms of Theorem 3, one a layer, each outcome taken by
    itself and averaged over draws.  Their sum is at least the aleatoric part of any row whatever.
    """

    epistemic: np.ndarray
    aleatoric: np.ndarray
    shares: np.ndarray
    sources: tuple[str, ...]
    bounds: np.ndarray

    def __repr__(self) -> str:
        return notebook.lines(*variance_table(self))

    def _repr_html_(self) -> str:
        return notebook.table(*variance_table(self))


def decompose(densities: DrawDensities) -> VarianceParts:
    """Variance parts of every row; each draw has noise of its own, so that it averages out."""
    densities.refuse_gaps("decompose")
    weights, paths = densities.weights, densities.paths
    epistemic, parts = [], []
    with numerics():
        draws = as_float64(densities.draws)
        last = densities.average(np.asarray(jax.vmap(last_variances)(draws)), axis=0)
        for rows in row_blocks(len(densities.x), len(weights) * paths * densities.n_outcomes):
            x = np.asarray(densities.x[rows], float)
            found = unexplained(densities.key, draws, padded(x), densities.h, paths)
            left, first, second = (np.asarray(a)[..., : len(x), :] for a in found)
            epistemic.append(_covariance(first, second, weights))
            parts.append(_contributions(densities.average(left, axis=0), last))
    noise = np.concatenate(parts) * densities.scale**2
    aleatoric = noise.sum(axis=1)
    squeezed = lambda a: a[..., 0] if densities.n_outcomes == 1 else a  # noqa: E731
    return VarianceParts(
        epistemic=squeezed(np.concatenate(epistemic) * densities.scale**2),
        aleatoric=squeezed(aleatoric),
        shares=squeezed(noise / aleatoric[:, None]),
        sources=sources(densities.draws.L),
        bounds=squeezed(mean_bounds(densities)),
    )


def mean_bounds(densities: DrawDensities) -> np.ndarray:
    """The terms of Theorem 3 for the network of every single outcome; (L + 1, Q)."""
    found = []
    with numerics():
        draws = as_float64(densities.draws)
        for q in range(densities.n_outcomes):
            one = replace(
                draws,
                beta=(*draws.beta[:-1], draws.beta[-1][:, q : q + 1]),
                tau2=(*draws.tau2[:-1], draws.tau2[-1][:, q : q + 1]),
            )
            found.append(densities.average(np.asarray(bounds_of_draws(one, densities.h)), axis=0))
    return np.stack(found, axis=1) * densities.scale**2


@partial(jax.jit, static_argnums=1)
def bounds_of_draws(draws: Theta, h: PiecewiseLinear) -> jax.Array:
    """(M, L + 1); one draw after the other, see docs/contributing/architecture.md on LAPACK."""
    return jax.lax.map(lambda theta: layer_bounds(theta, h), draws)


def sources(layers: int) -> tuple[str, ...]:
    """Names of the noises, in the order in which the network adds them."""
    hidden = [f"{place} activation {l + 1}" for l in range(layers) for place in ("before", "after")]
    return (*hidden, "outcome")


def last_variances(theta: Theta) -> jax.Array:
    """What the last two noises add: diag(β_L Σ_{L-1} β_Lᵀ) and τ²_L; (2, Q), (1, Q) if L = 0."""
    if theta.L == 0:
        return theta.tau2[-1][None]
    return jnp.stack([jnp.square(theta.beta[-1]) @ theta.sigma2[-1], theta.tau2[-1]])


@partial(jax.jit, static_argnums=(3, 4))
def unexplained(key, draws: Theta, x, h: PiecewiseLinear, paths: int):
    """(W, first, second): W[m, k] = E[Var(f | z_1..z_k)] for f = β_L h(v_{L-1}) + γ_L, k < 2L - 1.

    Estimated by (f(z) - f(z_1..z_k, z'_{k+1}..))² / 2 on pairs of paths; ``first`` and ``second``
    are the means of f over the z and over the z'.  Shapes: (M, 2L - 1, B, Q), (M, B, Q), (M, B, Q).
    """

    def one_draw(pair):
        m, theta = pair
        z, other = _noises(jax.random.fold_in(key, m), theta, paths, x.dtype)
        value = _last_mean(theta, x, z, h)
        mixed = [_last_mean(theta, x, (*z[:k], *other[k:]), h) for k in range(len(z))]
        left = [jnp.mean((value - f) ** 2, axis=0) / 2 for f in mixed]
        second = mixed[0] if mixed else value
        shape = (0, x.shape[0], theta.gamma[-1].shape[0])
        return jnp.stack(left) if left else jnp.zeros(shape), value.mean(0), second.mean(0)

    return jax.lax.map(one_draw, (jnp.arange(draws.gamma[0].shape[0]), draws))


def _noises(key, theta: Theta, paths: int, dtype):
    """Two independent sets of e_0, d_0, e_1, ..., e_{L-1}, each (paths, 1, K_l)."""
    shapes = [theta.gamma[l].shape[0] for l in range(theta.L) for _ in range(2)][:-1]
    pairs = [
        path_noises(jax.random.fold_in(key, k), paths, width, dtype)
        for k, width in enumerate(shapes)
    ]
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)


def _last_mean(theta: Theta, x, z, h: PiecewiseLinear):
    """β_L h(v_{L-1}) + γ_L along the noises z; (paths, B, Q)."""
    u = x[None]
    for l in range(theta.L):
        v = pre_activation(u, theta.beta[l], theta.gamma[l]) + jnp.sqrt(theta.tau2[l]) * z[2 * l]
        last = l == theta.L - 1
        u = h(v) if last else h(v) + jnp.sqrt(theta.sigma2[l]) * z[2 * l + 1]
    return pre_activation(u, theta.beta[-1], theta.gamma[-1])


def _contributions(left: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(B, K, Q) from W (2L - 1, B, Q), made to decrease as it does in truth, and the last two."""
    left = np.minimum.accumulate(left, axis=0) if len(left) else left
    explained = -np.diff(left, axis=0, append=np.zeros_like(left[:1])) if len(left) else left
    rows = left.shape[1]
    exact = np.broadcast_to(last[:, None], (len(last), rows, last.shape[1]))
    return np.moveaxis(np.concatenate([explained, exact]), 0, 1)


def _covariance(first, second, weights) -> np.ndarray:
    """Across draws, of two independent estimates of E[y | x, Θ], free of their noise; (B, Q)."""
    centred = [a - np.tensordot(weights, a, axes=(0, 0)) for a in (first, second)]
    return np.maximum(np.tensordot(weights, centred[0] * centred[1], axes=(0, 0)), 0.0)
