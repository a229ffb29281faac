"""Is a row like the training data?  Its density under the law of the inputs."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..model.covariates import InputLaw


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
