"""Where the predictive entropy comes from: H[y|x] = E H[y|x,Θ] + I(y; Θ | x), in nats.

The first part, the noise, would stay if Theta were known; the mutual information is what knowing
Theta would tell.  One outcome is integrated by quadrature, several by Monte Carlo.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from .mixture_components import generator
from .mixture_math import LOG_SQRT_2PI, bucket, choose
from .per_draw import DrawDensities

# A grid that reaches this many standard deviations beyond every mean, two of its steps to the
# narrowest standard deviation: the trapezoidal rule is then good to about 1e-9.
REACH, STEPS_A_SD = 9.0, 2.0
FINEST_GRID = 1 << 13
SAMPLES = 1024


@dataclass(frozen=True, eq=False)
class EntropyParts:
    """H[y|x] = aleatoric + epistemic of every row, joint over outcomes; (N,) each, in nats.

    ``aleatoric`` is the mean entropy of y given a draw of Theta; it changes with the unit of y.
    ``epistemic`` is the mutual information of y and Theta, which does not.  ``standard_error`` of
    both, (N, 2), is that of the Monte Carlo integral over y, zero where quadrature was used.
    """

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray
    standard_error: np.ndarray


def entropy_parts(densities: DrawDensities) -> EntropyParts:
    """Entropy parts of every row; draws share their noise paths, which then tell none apart."""
    factors = np.linalg.cholesky(densities.covs())
    with jax.enable_x64(True):
        rng = generator(jax.random.fold_in(densities.key, densities.n_outcomes))
    found = []
    for _, means in densities.blocks():
        found += [_parts(rng, row, factors, densities.weights) for row in means]
    aleatoric, epistemic, *errors = np.array(found).T
    # Rounding and sampling may take a mutual information of zero below it.
    epistemic = np.maximum(epistemic, 0.0)
    return EntropyParts(aleatoric + epistemic, aleatoric, epistemic, np.stack(errors, axis=1))


def _parts(rng, means, factors, weights) -> tuple[float, float, float, float]:
    """E H[y|x,Θ] and I(y; Θ|x) of one row, and their standard errors; means (M, R, Q)."""
    sds, low, high = factors[:, 0, 0], means.min(), means.max()
    margin = REACH * sds.max()
    needed = STEPS_A_SD * (high - low + 2 * margin) / sds.min()
    if means.shape[2] > 1 or needed > FINEST_GRID:
        return _by_sampling(rng, means, factors, weights)
    grid = np.linspace(low - margin, high + margin, bucket(int(needed) + 1))
    with jax.enable_x64(True):
        aleatoric, epistemic = quadrature(grid, means[..., 0], sds, weights)
    return float(aleatoric), float(epistemic), 0.0, 0.0


@jax.jit
def quadrature(grid, means, sds, weights):
    """(E H[y|x,Θ], I(y; Θ|x)) on a grid (G,), for means (M, R), sds and weights (M,)."""

    def of_draw(draw):
        centres, sd = draw
        z = (grid[:, None] - centres) / sd
        return jnp.mean(jnp.exp(-z * z / 2), axis=1) * (np.exp(-LOG_SQRT_2PI) / sd)

    def log(p):  # 0 log 0 = 0: a density that underflows has nothing to add
        return jnp.log(jnp.where(p > 0, p, 1.0))

    density = jax.lax.map(of_draw, (means, sds))
    aleatoric = -jnp.sum(weights @ (density * log(density)))
    epistemic = jnp.sum(weights @ (density * (log(density) - log(weights @ density))))
    step = grid[1] - grid[0]
    return step * aleatoric, step * epistemic


def _by_sampling(rng, means, factors, weights) -> tuple[float, float, float, float]:
    """Means and standard errors of -log p(y|x,Θ) and of log p(y|x,Θ) / p(y|x) at draws of (Θ, y).

    Evenly spaced shares of the weights choose Θ, which makes the true errors smaller than stated.
    """
    taken = choose(weights[None], (np.arange(SAMPLES)[None] + rng.random()) / SAMPLES)[0]
    path = rng.integers(means.shape[1], size=SAMPLES)
    z = rng.standard_normal((SAMPLES, means.shape[2]))
    y = means[taken, path] + np.einsum("spq,sq->sp", factors[taken], z)
    with jax.enable_x64(True):
        whiten = np.linalg.inv(factors)
        own, overall = map(np.asarray, log_densities(y, taken, means, whiten, weights))
    aleatoric, epistemic = -own, own - overall
    error = np.sqrt(SAMPLES)
    return aleatoric.mean(), epistemic.mean(), aleatoric.std() / error, epistemic.std() / error


@jax.jit
def log_densities(y, taken, means, whiten, weights):
    """log p(y|x,Θ) of the draw that each y (S, Q) was made from, and log p(y|x); (S,) each."""

    def of_draw(draw):
        centres, root = draw
        z = (y[:, None] - centres) @ root.T
        log_det = jnp.sum(jnp.log(jnp.diagonal(root)))
        return log_det + logsumexp(-jnp.sum(z * z, -1) / 2, axis=1)

    every = jax.lax.map(of_draw, (means, whiten))
    every -= jnp.log(means.shape[1]) + y.shape[-1] * LOG_SQRT_2PI
    own = every[taken, jnp.arange(len(taken))]
    return own, logsumexp(every + jnp.log(weights)[:, None], axis=0)
