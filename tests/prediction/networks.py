"""Random posteriors for tests of what is computed from draws."""

from itertools import pairwise

import numpy as np

from deepnoise.model.activation import hard_tanh
from deepnoise.model.network import Theta
from deepnoise.prediction.per_draw import DrawDensities


def theta(rng, draws, widths, noise=0.3):
    fans = list(pairwise(widths))
    return Theta(
        beta=tuple(rng.normal(size=(draws, out, fan_in)) for fan_in, out in fans),
        gamma=tuple(rng.normal(size=(draws, out)) for _, out in fans),
        tau2=tuple(noise * rng.gamma(2, size=(draws, out)) for _, out in fans),
        sigma2=tuple(noise * rng.gamma(2, size=(draws, out)) for _, out in fans[:-1]),
    )


def densities(
    key, widths=(2, 3, 1), draws=5, rows=4, paths=50, h=hard_tanh, noise=0.3, weights=None, seed=0
):
    rng = np.random.default_rng(seed)
    outcomes = widths[-1]
    return DrawDensities(
        key=key,
        draws=theta(rng, draws, widths, noise),
        weights=np.full(draws, 1 / draws) if weights is None else np.asarray(weights, float),
        x=rng.normal(size=(rows, widths[0])),
        h=h,
        paths=paths,
        scale=np.linspace(2.0, 5.0, outcomes),
        shift=np.linspace(-1.0, 3.0, outcomes),
    )
