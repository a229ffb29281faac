"""Mixtures made of others: guarded, stretched about their means, rows interleaved, or smoothed.

To look at, densities are smoothed: a mixture over finitely many paths has wiggles that the model
has not.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import minimize_scalar

from ...model.outcome import Window
from ..metrics import nll_seen
from .components import Components, Read, read_guarded, read_stretched
from .mixture import PredictiveMixture
from .sums import cdf, density, evaluate
from .supported import Density, SupportedDensity

LARGEST_STRETCH = 20.0
# As far as a drawn cdf may be from the computed one.
TOLERANCE = 0.01
POINTS = 768
ENDS = 1e-4
HALVINGS = 24
# Curvature below this share of the largest is rounding, or too little to see.
FLAT = 0.01


def guarded(density: PredictiveMixture, share: float, variances: np.ndarray) -> PredictiveMixture:
    """(1 - share) density + share N(its mean, diag(variances)), row by row.

    Chains that have not visited all modes give a surprising row almost no density, however many
    rows they predict well.  The added component stands last and does not move the mean.
    """
    if not share or not np.all(variances > 0):
        return density
    read = partial(read_guarded, density.read, share, variances)
    return PredictiveMixture.from_blocks(
        density.n_rows, density.n_outcomes, density.n_components + 1, read
    )


def stretched(density: PredictiveMixture, factor: float) -> PredictiveMixture:
    """The law of m + factor (y - m), m the mean of each row."""
    read = partial(read_stretched, density.read, factor)
    return PredictiveMixture.from_blocks(
        density.n_rows, density.n_outcomes, density.n_components, read
    )


def best_stretch(density: PredictiveMixture, y: np.ndarray | Window) -> float:
    """The factor, at most LARGEST_STRETCH and at least its inverse, with the least NLL of y."""
    stored = density.stored()
    ends = (-np.log(LARGEST_STRETCH), np.log(LARGEST_STRETCH))
    found = minimize_scalar(
        lambda log: nll_seen(stretched(stored, np.exp(log)), y), bounds=ends, method="bounded"
    )
    return float(np.exp(found.x))


def interleaved(parts: Sequence[PredictiveMixture], owner: np.ndarray) -> PredictiveMixture:
    """The mixture whose row n is the next row of ``parts[owner[n]]``.

    A part with fewer components than another has some more, of weight zero.
    """
    outcomes = parts[0].n_outcomes
    count = max(part.n_components for part in parts)
    place = np.empty(len(owner), int)
    for number in range(len(parts)):
        place[owner == number] = np.arange(np.sum(owner == number))

    def read(start: int, stop: int) -> Components:
        owners, places = owner[start:stop], place[start:stop]
        size = stop - start
        found = Components(
            np.zeros((size, count)),
            np.zeros((size, count, outcomes)),
            np.tile(np.eye(outcomes), (size, count, 1, 1)),
        )
        for number in np.unique(owners):
            rows = np.flatnonzero(owners == number)
            read_part = parts[number].read(int(places[rows[0]]), int(places[rows[-1]]) + 1)
            for field, values in zip(found, read_part, strict=True):
                field[rows, : values.shape[1]] = values
        return found

    return PredictiveMixture.from_blocks(len(owner), outcomes, count, read)


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
    for rows, (law,) in mixture.laws(POINTS):
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
