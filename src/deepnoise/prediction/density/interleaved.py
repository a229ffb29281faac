"""Rows of several mixtures in one."""

from collections.abc import Sequence

import numpy as np

from .components import Components
from .mixture import PredictiveMixture


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
