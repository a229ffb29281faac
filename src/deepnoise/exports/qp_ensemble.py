"""``to_qp``: densities as an ``Ensemble`` of the qp package, for photometric redshifts and RAIL."""

import numpy as np

try:
    import qp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("qp is not installed: pip install 'deepnoise[qp]'") from error

from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.supported import Density, SupportedDensity

# Of densities that are no Gaussian mixtures, quantiles at so many levels.
LEVELS, OUTERMOST = 400, 1e-5


def to_qp(density: Density) -> "qp.Ensemble":
    """Turn predictive densities into an ensemble of the package qp.

    Gaussian mixtures stay what they are (``qp.mixmod``), so pdf and cdf agree to rounding.
    Densities with a support become quantiles (``qp.quant``) at 400 levels, within it.

    Parameters
    ----------
    density : PredictiveMixture or SupportedDensity
        Of one outcome, from ``predict_density``.

    Returns
    -------
    qp.Ensemble
        One distribution for each row.

    Examples
    --------
    >>> from deepnoise import PredictiveMixture
    >>> from deepnoise.exports import to_qp
    >>> density = PredictiveMixture.of(means=[[[0.0], [1.0]]], covs=[[[[1.0]], [[1.0]]]])
    >>> round(float(to_qp(density).cdf(0.5)), 6)
    0.5
    """
    if density.n_outcomes > 1:
        raise ValueError(
            f"density has {density.n_outcomes} outcomes, qp one: use density.marginal(k)"
        )
    if not isinstance(density, PredictiveMixture):
        return _quantiles(density)
    weights, means, covs = density.components()
    shape = means.shape[:2]
    sds = np.sqrt(covs[..., 0, 0])
    return qp.mixmod.create_ensemble(
        means=means[..., 0],
        stds=np.broadcast_to(sds, shape),
        weights=np.broadcast_to(weights, shape),
    )


def _quantiles(density: SupportedDensity) -> "qp.Ensemble":
    support = density.support
    if support.discrete or support.points:
        raise ValueError("density has values with a probability of their own, which qp cannot hold")
    middle = np.linspace(OUTERMOST, 1 - OUTERMOST, LEVELS)
    levels, locs = middle, density.quantile(middle)
    for end, level in ((support.low, 0.0), (support.high, 1.0)):
        if np.isfinite(end):
            place = len(levels) if level else 0
            levels = np.insert(levels, place, level)
            locs = np.insert(locs, place, end, axis=1)
    return qp.quant.create_ensemble(quants=levels, locs=locs)
