"""Mixtures made of others: guarded, stretched about their means, or their rows interleaved."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from ...model.outcome import Window
from ..metrics import nll_seen
from .components import Components, read_guarded, read_stretched
from .mixture import PredictiveMixture

LARGEST_STRETCH = 20.0


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
