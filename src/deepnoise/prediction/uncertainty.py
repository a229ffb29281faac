"""How unsure a prediction is, and why: parts of variance, parts of entropy, unfamiliar rows.

Variance comes from not knowing Theta, and from the noise of each layer.  Given Theta, y is a
function of independent noises z_1, ..., z_K, in the order in which the network adds them.  With
V_k = Var(E[y | z_1..z_k]), noise k contributes V_k - V_{k-1} >= 0: what it explains beyond all
earlier ones.  The contributions add up to Var(y).

Entropy, in nats, is H[y|x] = E H[y|x,Θ] + I(y; Θ | x).  The first part, the noise, would stay if
Theta were known; the mutual information is what knowing Theta would tell.  One outcome is
integrated by quadrature, several by Monte Carlo.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from scipy import stats

from ..inference import notebook
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..model.bounds import layer_bounds
from ..model.covariates import InputLaw
from ..model.marginal import path_noises, top_along
from ..model.network import Theta, outcome_mean
from .density import sums as kernels
from .density.components import Components, generator
from .density.mixture import PredictiveMixture
from .density.sums import LOG_SQRT_2PI, bucket, choose, evaluate, padded
from .per_draw import DrawDensities, row_blocks
from .predict import as_float64

# Of a table in a notebook.
SHOWN_ROWS = 10
# A grid that reaches this many standard deviations beyond every mean, two of its steps to the
# narrowest standard deviation: the trapezoidal rule is then good to about 1e-8.
REACH, STEPS_A_SD = 9.0, 2.0
FINEST_GRID = 1 << 11
SAMPLES = 1024


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
        value = _mean_along(theta, x, z, h)
        mixed = [_mean_along(theta, x, (*z[:k], *other[k:]), h) for k in range(len(z))]
        left = [jnp.mean((value - f) ** 2, axis=0) / 2 for f in mixed]
        second = mixed[0] if mixed else value
        shape = (0, x.shape[0], theta.gamma[-1].shape[0])
        return jnp.stack(left) if left else jnp.zeros(shape), value.mean(0), second.mean(0)

    return jax.lax.map(one_draw, (jnp.arange(draws.gamma[0].shape[0]), draws))


def _noises(key, theta: Theta, paths: int, dtype):
    """Two independent sets of e_0, d_0, e_1, ..., e_{L-1}, each (paths, 1, K_l)."""
    widths = [theta.gamma[l].shape[0] for l in range(theta.L) for _ in range(2)][:-1]
    pairs = path_noises(key, paths, widths, dtype)
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)


def _mean_along(theta: Theta, x, z, h: PiecewiseLinear):
    """β_L h(v_{L-1}) + γ_L along the noises z; (paths, B, Q)."""
    return outcome_mean(theta, top_along(theta, x[None], z[::2], z[1::2], h))


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


def variance_table(found: VarianceParts) -> tuple[str, list[str], list[list[str]]]:
    """The standard deviation of the first rows, and the share of each part in its square."""
    epistemic, aleatoric = (
        part.reshape(len(part), -1) for part in (found.epistemic, found.aleatoric)
    )
    total = epistemic + aleatoric
    shares = found.shares.reshape(len(total), len(found.sources), -1) * aleatoric[:, None]
    outcomes = total.shape[1]
    rows = [
        [
            str(n + 1),
            *([str(q + 1)] if outcomes > 1 else []),
            f"{np.sqrt(total[n, q]):.4g}",
            *(f"{100 * part / total[n, q]:.1f} %" for part in (epistemic[n, q], *shares[n, :, q])),
        ]
        for n in range(min(len(total), SHOWN_ROWS))
        for q in range(outcomes)
    ]
    outcome = ["outcome"] if outcomes > 1 else []
    more = f", the {SHOWN_ROWS} first rows of {len(total):,}" if len(total) > SHOWN_ROWS else ""
    return (
        "Predictive variance: share of not knowing the parameters (epistemic) and of each noise"
        + more,
        ["row", *outcome, "sd", "epistemic", *found.sources],
        rows,
    )


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


@dataclass(frozen=True, eq=False)
class Familiarity:
    """How much each row resembles the training rows: (N,) each.

    ``tail`` is the probability of an input that lies further out, in Mahalanobis distance: near 0
    for a row unlike the training data.
    """

    log_density: np.ndarray
    tail: np.ndarray


def familiarity(x: np.ndarray, laws: InputLaw) -> Familiarity:
    """Rows x (N, P), NaN where missing, under the normal law that the draws have on average."""
    covs = np.linalg.inv(laws.precision)
    mean, cov = laws.mu.mean(axis=0), covs.mean(axis=0) + np.cov(laws.mu.T).reshape(covs.shape[1:])
    log_density, tail = np.zeros(len(x)), np.ones(len(x))
    seen = ~np.isnan(x)
    for pattern in np.unique(seen, axis=0):
        if not pattern.any():
            continue
        rows = (seen == pattern).all(axis=1)
        factor = np.linalg.cholesky(cov[np.ix_(pattern, pattern)])
        z = np.linalg.solve(factor, (x[rows][:, pattern] - mean[pattern]).T)
        distance = np.sum(z**2, axis=0)
        size = int(pattern.sum())
        log_density[rows] = -distance / 2 - np.log(np.diag(factor)).sum()
        log_density[rows] -= size * np.log(2 * np.pi) / 2
        tail[rows] = stats.chi2.sf(distance, size)
    return Familiarity(log_density, tail)
