"""Normative scores: where an outcome lies among those expected at the same x."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

# Probabilities are kept this far from 0 and 1, where a deviate would be infinite.
SMALLEST = 1e-16


@dataclass(frozen=True)
class Centiles:
    """``centile`` P(Y <= y | x) and ``z``, its standard normal deviate.

    Shapes: (N, 3), or (N, 3, Q): the score, and lower and upper end of its credible interval.
    """

    centile: np.ndarray
    z: np.ndarray


def centiles_of(above: np.ndarray) -> Centiles:
    """From P(Y >= y | x) and the ends of its interval, on axis 1."""
    above = np.clip(above[:, [0, 2, 1]], SMALLEST, 1 - SMALLEST)
    return Centiles(1 - above, -ndtri(above))
