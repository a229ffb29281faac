"""Scalars of the predictive law, one for every draw: what convergence is judged on."""

import jax
import numpy as np
from scipy.special import logsumexp

from ..model.outcome import Window, log_window
from .per_draw import DrawDensities

LOG_2PI = float(np.log(2 * np.pi))


def moments(densities: DrawDensities) -> tuple[np.ndarray, np.ndarray]:
    """E[y | x, Θ] and sd[y | x, Θ] of every row and draw; (N, M, Q) each."""
    within = np.diagonal(densities.covs(), axis1=1, axis2=2)
    blocks = [(means.mean(axis=2), means.var(axis=2)) for _, means in densities.blocks()]
    mean, between = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return mean, np.sqrt(between + within)


def log_likelihood(densities: DrawDensities, y: np.ndarray | Window) -> np.ndarray:
    """log p(y | x, Θ) of every row and draw, joint over outcomes; y (N, Q), result (N, M).

    The mass of the window where one outcome is only known to lie in it.
    """
    if isinstance(y, Window):
        return _log_window(densities, y)
    factors = np.linalg.cholesky(densities.covs())
    whiten = np.linalg.inv(factors)
    log_norm = np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2)), axis=1)
    log_norm += densities.n_outcomes * LOG_2PI / 2
    found = []
    for rows, means in densities.blocks():
        z = (y[rows, None, None] - means) @ np.swapaxes(whiten, 1, 2)
        log_kernel = logsumexp(-np.sum(z**2, -1) / 2, axis=2) - np.log(means.shape[2])
        found.append(log_kernel - log_norm)
    return np.concatenate(found)


def _log_window(densities: DrawDensities, y: Window) -> np.ndarray:
    if densities.n_outcomes > 1:
        raise ValueError("the likelihood of several outcomes needs all of them to be seen exactly")
    sds = np.sqrt(densities.covs())[:, :, 0]
    found = []
    with jax.enable_x64(True):
        for rows, means in densities.blocks():
            ends = (np.asarray(end[rows, None], float) for end in (y.lower, y.upper))
            values = np.asarray(log_window(means[..., 0], sds**2, *ends))
            found.append(logsumexp(values, axis=2) - np.log(means.shape[2]))
    return np.concatenate(found)


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
