"""A share of the predictive density for rows that the posterior did not foresee."""

import numpy as np

from .components import Components
from .mixture import PredictiveMixture


def guarded(density: PredictiveMixture, share: float, variances: np.ndarray) -> PredictiveMixture:
    """(1 - share) density + share N(its mean, diag(variances)), row by row.

    Chains that have not visited all modes give a surprising row almost no density, however many
    rows they predict well.  The added component stands last and does not move the mean.
    """
    if not share or not np.all(variances > 0):
        return density
    wide = np.diag(variances)[None, None]

    def read(start: int, stop: int) -> Components:
        inner = density.read(start, stop)
        weights, covs = inner.weights, inner.covs
        last = np.broadcast_to(wide, (len(covs), *wide.shape[1:]))
        return Components(
            np.concatenate([(1 - share) * weights, np.full((len(weights), 1), share)], axis=1),
            np.concatenate([inner.means, inner.mean()[:, None]], axis=1),
            np.concatenate([covs, last], axis=1),
        )

    return PredictiveMixture.from_blocks(
        density.n_rows, density.n_outcomes, density.n_components + 1, read
    )
