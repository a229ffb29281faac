"""Densities to look at: a mixture over finitely many paths has wiggles that the model has not."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.ndimage import gaussian_filter1d

from .components import Components, Read
from .mixture import PredictiveMixture
from .sums import cdf, density, evaluate
from .supported import Density, SupportedDensity

# As far as a drawn cdf may be from the computed one.
TOLERANCE = 0.01
POINTS = 768
ENDS = 1e-4
HALVINGS = 24
# Curvature below this share of the largest is rounding, or too little to see.
FLAT = 0.01


def smoothed(mixture: Density, tolerance: float = TOLERANCE) -> Density:
    """The density of y plus a little normal noise, as wide as :func:`bandwidths` says."""
    return widened(mixture, bandwidths(mixture, tolerance))


def widened(mixture: Density, sds: np.ndarray) -> Density:
    """The density of y plus independent normal noise of these sds, (N,), one a row.

    Of outcomes with a support, the noise is added to the z behind y.
    """
    if isinstance(mixture, SupportedDensity):
        return replace(mixture, latent=_widened(mixture.latent, sds))
    return _widened(mixture, sds)


def _widened(mixture: PredictiveMixture, sds: np.ndarray) -> PredictiveMixture:
    read = partial(_read_widened, mixture.read, np.asarray(sds, float) ** 2)
    return PredictiveMixture.from_blocks(
        len(mixture), mixture.n_outcomes, mixture.n_components, read
    )


def bandwidths(mixture: Density, tolerance: float = TOLERANCE) -> np.ndarray:
    """Sds of the noise to add to y of every row, so that the density looks smooth; (N,).

    Smoothing by a normal only ever removes turning points of a density.  Of all sds that leave
    every value of the row's cdf within ``tolerance``, it is the smallest with as few of them
    as the largest.  So what is a mode by more than the tolerance stays, and a density without
    wiggles stays as it is.
    """
    if isinstance(mixture, SupportedDensity):
        return bandwidths(mixture.latent, tolerance)
    if mixture.n_outcomes != 1:
        raise ValueError(
            f"mixture has {mixture.n_outcomes} outcomes; smooth one, such as mixture.marginal(0)"
        )
    low, high = mixture.quantile([ENDS, 1 - ENDS]).T
    at = np.linspace(low, high, POINTS, axis=1)
    found = []
    for rows, (law,) in mixture._laws(POINTS):
        masses, heights = (evaluate(kernel, law, at[rows]) for kernel in (cdf, density))
        steps = (high[rows] - low[rows]) / (POINTS - 1)
        found += [_narrowest(*part, tolerance) for part in zip(masses, heights, steps, strict=True)]
    return np.array(found)


def turns(heights: np.ndarray) -> int:
    """How often the curvature of a curve changes its sign, where there is any to be seen."""
    bend = np.diff(heights, 2)
    seen = np.sign(bend[np.abs(bend) > FLAT * np.abs(bend).max()])
    return int(np.sum(seen[1:] != seen[:-1]))


def _narrowest(mass: np.ndarray, height: np.ndarray, step: float, tolerance: float) -> float:
    """In cells of the grid, then in units of y."""

    def allowed(sd: float) -> bool:
        return bool(np.abs(gaussian_filter1d(mass, sd, mode="nearest") - mass).max() <= tolerance)

    def turns_at(sd: float) -> int:
        return turns(gaussian_filter1d(height, sd, mode="constant") if sd else height)

    low, most = 0.0, float(POINTS)
    for _ in range(HALVINGS):
        middle = (low + most) / 2
        low, most = (middle, most) if allowed(middle) else (low, middle)
    most = low
    fewest = turns_at(most)
    if turns_at(0.0) <= fewest:
        return 0.0
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + most) / 2
        low, most = (low, middle) if turns_at(middle) <= fewest else (middle, most)
    return most * float(step)


def _read_widened(read: Read, extra: np.ndarray, start: int, stop: int) -> Components:
    weights, means, covs = read(start, stop)
    noise = extra[start:stop, None, None, None] * np.eye(covs.shape[-1])
    return Components(weights, means, covs + noise)
