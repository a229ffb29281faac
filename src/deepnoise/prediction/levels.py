"""What the levels of a category do to y: predictions with every row set to each level."""

from dataclasses import dataclass, replace

import numpy as np

from .credible import Band
from .functionals import moments
from .per_draw import DrawDensities, spaced

# Averages over rows: more of them would change no digit that is shown.
ROWS, VALUES = 200, 1 << 24


@dataclass(frozen=True, eq=False)
class Category:
    """A column of text: its inputs ``places``, what these are at each level, and their shares.

    Shapes: ``places`` (K,), ``inputs`` (K, K) a row a level, ``shares`` (K,) of the training rows.
    """

    name: str
    levels: tuple[str, ...]
    places: np.ndarray
    inputs: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True, eq=False)
class LevelEffects:
    """E[y] and sd[y] at each level less their mean over all levels; Bands (K,), or (K, Q)."""

    names: tuple[str, ...]
    mean: Band
    sd: Band


def contrasts(densities: DrawDensities, category: Category) -> np.ndarray:
    """E and sd of y at every level less their mean over levels as frequent as in training.

    Of at most 200 rows, evenly spaced; (mean or sd, row, draw, outcome, level).
    """
    a_row = len(densities.weights) * densities.n_outcomes * len(category.levels)
    x = densities.x[spaced(len(densities.x), int(np.clip(VALUES // a_row, 10, ROWS)))]
    found = []
    for inputs in category.inputs:
        there = x.copy()
        there[:, category.places] = inputs
        found.append(np.stack(moments(replace(densities, x=there))))
    values = np.stack(found, axis=-1)
    return values - (values @ category.shares)[..., None]
