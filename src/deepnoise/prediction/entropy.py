"""Where the predictive entropy comes from: H[y|x] = E H[y|x,Θ] + I(y; Θ | x), in nats.

The first part, the noise, would stay if Theta were known; the mutual information is what knowing
Theta would tell.  One outcome is integrated by quadrature, several by Monte Carlo.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from ..inference.runtime import numerics
from .density import sums as kernels
from .density.components import Components, generator
from .density.mixture import PredictiveMixture
from .density.sums import LOG_SQRT_2PI, bucket, choose, evaluate
from .per_draw import DrawDensities

# A grid that reaches this many standard deviations beyond every mean, two of its steps to the
# narrowest standard deviation: the trapezoidal rule is then good to about 1e-8.
REACH, STEPS_A_SD = 9.0, 2.0
FINEST_GRID = 1 << 11
SAMPLES = 1024


@dataclass(frozen=True, eq=False)
class EntropyParts:
    """H[y|x] = aleatoric + epistemic of every row, joint over outcomes; (N,) each, in nats.

    ``total`` is the entropy of the predictive density and ``epistemic`` the mutual information of y
    and Theta; what is left is the mean entropy of y given Theta.  ``total`` and ``aleatoric``
    change with the unit of y.  ``standard_error`` (N, 2) of ``total`` and of ``epistemic`` is that
    of a Monte Carlo integral over y, zero where quadrature was used.
    """

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray
    standard_error: np.ndarray


def entropy_parts(predictive: PredictiveMixture, densities: DrawDensities) -> EntropyParts:
    """Entropy parts of every row, of its predictive density and of the densities given draws."""
    with numerics():
        rng = generator(jax.random.fold_in(densities.key, densities.n_outcomes))
    total, error_total = entropy(predictive, rng)
    epistemic, error = information(densities, rng)
    errors = np.stack([error_total, error], axis=1)
    return EntropyParts(total, total - epistemic, epistemic, errors)


def entropy(mixture: PredictiveMixture, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """-E log p(y) of every row, and its standard error; (N,) each."""
    found = []
    for n in range(len(mixture)):
        row = mixture[n].components()
        grid = _grid(row.means[0], np.sqrt(row.covs[0, :, 0, 0]))
        found.append(_sampled(row, rng) if grid is None else _integrated(row, grid))
    values, errors = np.array(found).T
    return values, errors


def _integrated(row: Components, grid: np.ndarray) -> tuple[float, float]:
    log_p = evaluate(kernels.log_density, row.joint_law(), grid[None, :, None])[0]
    p = np.exp(log_p)
    return -(grid[1] - grid[0]) * float(np.sum(p * np.where(p > 0, log_p, 0.0))), 0.0


def _sampled(row: Components, rng: np.random.Generator) -> tuple[float, float]:
    z = rng.standard_normal((1, SAMPLES, row.means.shape[2]))
    y = row.draw(_even(rng)[None], z)
    surprise = -evaluate(kernels.log_density, row.joint_law(), y)[0]
    return surprise.mean(), surprise.std() / np.sqrt(SAMPLES)


def _even(rng: np.random.Generator) -> np.ndarray:
    """Evenly spaced in (0, 1), shifted together: true errors are then smaller than those stated."""
    return (np.arange(SAMPLES) + rng.random()) / SAMPLES


def _grid(means: np.ndarray, sds: np.ndarray) -> np.ndarray | None:
    """Evenly spaced nodes for a density with these means (..., Q); None if too many are needed."""
    low, high, margin = means.min(), means.max(), REACH * sds.max()
    needed = STEPS_A_SD * (high - low + 2 * margin) / sds.min()
    if means.shape[-1] > 1 or needed > FINEST_GRID:
        return None
    return np.linspace(low - margin, high + margin, bucket(int(needed) + 1))


def information(
    densities: DrawDensities, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """I(y; Θ | x) of every row, and its standard error; (N,) each.

    Draws share their noise paths, so that these cannot tell draws apart.  Of the R paths a bias of
    order 1/R remains, which the halves of the paths, where it is twice as large, take away.
    """
    factors, weights = np.linalg.cholesky(densities.covs()), densities.weights
    found = []
    for _, means in densities.blocks():
        for row in means:
            grid = _grid(row, factors[:, 0, 0])
            if grid is None:
                found.append(_sampled_information(rng, row, factors, weights))
                continue
            with numerics():
                value = integrated_information(grid, row[..., 0], factors[:, 0, 0], weights)
            found.append((float(value), 0.0))
    values, errors = np.array(found).T
    return np.maximum(values, 0.0), errors


@jax.jit
def integrated_information(grid, means, sds, weights):
    """I(y; Θ | x) on a grid (G,), for means (M, R), sds and weights (M,)."""

    def of_draw(draw):
        centres, sd = draw
        kernel = jnp.exp(-jnp.square((grid[:, None] - centres) / sd) / 2)
        return jnp.stack([part.mean(axis=1) for part in _halves(kernel)]) / sd

    def log(p):  # 0 log 0 = 0: a density that underflows has nothing to add
        return jnp.log(jnp.where(p > 0, p, 1.0))

    def divergence(p):
        return jnp.sum(weights @ (p * (log(p) - log(weights @ p))))

    first, second = jnp.moveaxis(jax.lax.map(of_draw, (means, sds)), 1, 0)
    halves = (divergence(first) + divergence(second)) / 2
    step = (grid[1] - grid[0]) * np.exp(-LOG_SQRT_2PI)
    return step * (2 * divergence((first + second) / 2) - halves)


def _sampled_information(rng, means, factors, weights) -> tuple[float, float]:
    """The mean of log p(y|x,Θ) / p(y|x) at draws of (Θ, y), and its standard error."""
    paths = means.shape[1]
    taken, path = choose(weights[None], _even(rng)[None])[0], rng.integers(paths, size=SAMPLES)
    z = rng.standard_normal((SAMPLES, means.shape[2]))
    y = means[taken, path] + np.einsum("spq,sq->sp", factors[taken], z)
    with numerics():
        second = (path >= paths // 2) & (paths > 1)
        terms = np.asarray(log_ratios(y, taken, second, means, np.linalg.inv(factors), weights))
    return terms.mean(), terms.std() / np.sqrt(SAMPLES)


@jax.jit
def log_ratios(y, taken, second, means, whiten, weights):
    """log p(y|x,Θ) / p(y|x), twice that of all paths less that of y's own half of them; (S,)."""

    def of_draw(draw):
        centres, root = draw
        z = (y[:, None] - centres) @ root.T
        kernel = -jnp.sum(z * z, -1) / 2
        log_det = jnp.sum(jnp.log(jnp.diagonal(root)))
        parts = [logsumexp(part, axis=1) - jnp.log(part.shape[1]) for part in _halves(kernel)]
        return log_det + jnp.stack(parts)

    def ratio(log_p):
        own = log_p[taken, jnp.arange(len(taken))]
        return own - logsumexp(log_p + jnp.log(weights)[:, None], axis=0)

    halves = jnp.moveaxis(jax.lax.map(of_draw, (means, whiten)), 1, 0)
    whole = jnp.logaddexp(*halves) - jnp.log(2.0)
    return 2 * ratio(whole) - jnp.where(second, ratio(halves[1]), ratio(halves[0]))


def _halves(values):
    """The columns in two parts; a single one is both."""
    half = values.shape[1] // 2
    return (values[:, :half], values[:, half:]) if half else (values, values)
