"""Scalars of the predictive law, one for every draw: what convergence is judged on."""

import re
from dataclasses import replace

import jax
import numpy as np
from scipy.special import logsumexp

from ..inference.runtime import numerics
from ..inference.stacking import leave_one_out, stacked_weights
from ..model.outcome import Window, log_window
from .per_draw import DrawDensities, spaced, thinned_chains

LOG_2PI = float(np.log(2 * np.pi))
LIKELIHOOD_PATHS = 512
STACKING_ROWS, STACKING_DRAWS = 2000, 25
NAME = re.compile(r"(mean|sd|log_density|probability|log_probability)\[(\d+)(?:,(.+))?\]", re.S)


def in_words(name: str) -> str:
    """Rows as people count them, from 1: "mean[7]" is "mean, row 8"."""
    found = NAME.fullmatch(name)
    if found is None:
        return name
    kind, row, part = found.groups()
    if kind == "probability":
        said = f"P({part})"
    else:
        said = kind.replace("_", " ") + (f" of outcome {int(part) + 1}" if part else "")
    return f"{said}, row {int(row) + 1}"


def moments(densities: DrawDensities) -> tuple[np.ndarray, np.ndarray]:
    """E[y | x, Θ] and sd[y | x, Θ] of every row and draw; (N, M, Q) each."""
    within = np.diagonal(densities.covs(), axis1=1, axis2=2)
    blocks = [(means.mean(axis=2), means.var(axis=2)) for _, means in densities.blocks()]
    mean, between = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return mean, np.sqrt(between + within)


def log_likelihood(densities: DrawDensities, y: np.ndarray | Window) -> np.ndarray:
    """log p(y | x, Θ) of every row and draw, joint over outcomes; y (N, Q), result (N, M).

    By noise paths, and one more component: the normal with their mean and covariance.  Where no
    path comes near y, paths alone would be wrong by any number of nats.  The mass of the window
    where one outcome is only known to lie in it.
    """
    if isinstance(y, Window) and densities.n_outcomes > 1:
        raise ValueError("the likelihood of several outcomes needs all of them to be seen exactly")
    covs, found = densities.covs(), []
    for rows, means in densities.blocks():
        paths, center = means.shape[2], means.mean(axis=2)
        away = means - center[:, :, None]
        wide = covs + np.einsum("bmri,bmrj->bmij", away, away) / paths
        if isinstance(y, Window):
            ends = tuple(np.asarray(end[rows, None], float) for end in (y.lower, y.upper))
            near, far = _log_mass(means, covs, ends), _log_mass(center[:, :, None], wide, ends)
        else:
            near = _log_normal(y[rows, None, None] - means, covs[:, None])
            far = _log_normal(y[rows, None] - center, wide)[..., None]
        found.append(logsumexp(np.concatenate([near, far], -1), axis=-1) - np.log(paths + 1))
    return np.concatenate(found)


def _log_normal(residual: np.ndarray, covs: np.ndarray) -> np.ndarray:
    """log N(residual; 0, cov); (..., Q) and (..., Q, Q) -> (...)."""
    factors = np.linalg.cholesky(covs)
    z = np.einsum("...ij,...j->...i", np.linalg.inv(factors), residual)
    log_det = np.sum(np.log(np.diagonal(factors, axis1=-2, axis2=-1)), axis=-1)
    return -np.sum(z**2, -1) / 2 - log_det - residual.shape[-1] * LOG_2PI / 2


def _log_mass(means: np.ndarray, covs: np.ndarray, ends: tuple[np.ndarray, ...]) -> np.ndarray:
    """log P(lower < y < upper) of one outcome; (B, M, R, 1) and (..., M, 1, 1) -> (B, M, R)."""
    with numerics():
        return np.asarray(log_window(means[..., 0], covs[..., 0], *ends))


def chain_likelihoods(densities: DrawDensities, y: np.ndarray | Window, chains: int) -> np.ndarray:
    """log p(y | x, Θ) as ``log_likelihood``, by many paths; (chain, draw, N)."""
    many = replace(densities, paths=max(densities.paths, LIKELIHOOD_PATHS))
    found = log_likelihood(many, y).T
    return found.reshape(chains, -1, found.shape[1])


def chain_weights(densities: DrawDensities, y: np.ndarray | Window, chains: int) -> np.ndarray:
    """Stacked weights of chains, (C,), by some rows and some draws of each, evenly spaced."""
    rows = spaced(len(densities.x), STACKING_ROWS)
    few = thinned_chains(replace(densities, x=densities.x[rows]), chains, STACKING_DRAWS)
    seen = jax.tree.map(lambda a: a[rows], y)
    return stacked_weights(leave_one_out(chain_likelihoods(few, seen, chains)))


def predictive_functionals(
    densities: DrawDensities, y: np.ndarray | Window, chains: int, rows: list[int]
) -> dict[str, np.ndarray]:
    """Predictive mean, sd and log density at y of every row: name -> (chain, draw).

    Names are "mean[n]", "sd[n]" and "log_density[n]", "mean[n,q]" with several outcomes; ``rows``
    are the n.
    """
    mean, sd = moments(densities)
    values = {}
    for i, n in enumerate(rows):
        for q in range(densities.n_outcomes):
            place = f"[{n}]" if densities.n_outcomes == 1 else f"[{n},{q}]"
            values["mean" + place] = mean[i, :, q].reshape(chains, -1)
            values["sd" + place] = sd[i, :, q].reshape(chains, -1)
    if isinstance(y, Window) and densities.n_outcomes > 1:
        return values
    for n, row in zip(rows, log_likelihood(densities, y), strict=True):
        values[f"log_density[{n}]"] = row.reshape(chains, -1)
    return values
