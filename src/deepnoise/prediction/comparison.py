"""Is a model worth having?  Its log scores against those of what is easy to have, row by row."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from ..model.outcome import Window
from .density.supported import Density
from .metrics import log_scores

LEVEL = 0.95
FEW = 10
# Outcomes of which a value is this often seen, as a share of the rows, are scored by cells.
REPEATED = 0.05


@dataclass(frozen=True)
class Gain:
    """Mean over rows of log p(y | x) of a model minus that of a rival, in nats.

    Attributes
    ----------
    mean : float
    low : float
        Lower end of its interval.
    high : float
        Upper end of its interval.
    rows : int
        Number of rows.
    """

    mean: float
    low: float
    high: float
    rows: int

    @property
    def sign(self) -> int:
        """1 if the model is clearly better, -1 if the rival is, 0 if neither is clear."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Usefulness:
    """Whether a model is worth having: its gains over two simple rivals.

    Attributes
    ----------
    no_input : Gain
        Over one density for all rows, which uses no input.
    line : Gain
        Over a straight line with Gaussian errors.

    Examples
    --------
    >>> Usefulness(Gain(0.4, 0.3, 0.5, 100), Gain(0.01, -0.02, 0.04, 100)).status
    'line'
    """

    no_input: Gain
    line: Gain

    @property
    def status(self) -> str:
        """One of "unknown", "worse", "same", "line", "beaten" and "useful".

        "worse" and "same" compare with one density for all rows.  "line" means that a straight
        line does as well, and "beaten" that it does better.
        """
        if self.no_input.rows < FEW:
            return "unknown"
        if self.no_input.sign < 1:
            return "worse" if self.no_input.sign < 0 else "same"
        return {1: "useful", 0: "line", -1: "beaten"}[self.line.sign]


def gain(ours: np.ndarray, theirs: np.ndarray, level: float = LEVEL) -> Gain:
    """Paired difference of two log scores (N,), with the t interval of its mean."""
    difference = np.asarray(ours, float) - np.asarray(theirs, float)
    rows, mean = len(difference), float(difference.mean())
    if rows < 2:
        return Gain(mean, -np.inf, np.inf, rows)
    half = float(t.ppf((1 + level) / 2, rows - 1) * difference.std(ddof=1) / np.sqrt(rows))
    return Gain(mean, mean - half, mean + half, rows)


def usefulness(
    density: Density,
    y: np.ndarray | Window,
    no_input: Density,
    line: Density,
    seen: np.ndarray | Window,
) -> Usefulness:
    """Gains of ``density`` over both rivals, at the outcomes y of one kind, seen or windows.

    If the training outcomes ``seen`` repeat their values, all are judged by the mass of the cell
    around each value, which no spike of a density can game.
    """
    judged = celled(y, seen)
    ours = log_scores(density, judged)
    return Usefulness(*(gain(ours, log_scores(rival, judged)) for rival in (no_input, line)))


def celled(y: np.ndarray | Window, seen: np.ndarray | Window) -> np.ndarray | Window:
    """y, or windows of it where values repeat: cells that meet midway between neighbours."""
    low, high = _ends(seen)
    values, counts = np.unique(low[low == high], return_counts=True)
    if len(values) < 2 or (2 * len(values) > counts.sum() and counts.max() < REPEATED * len(low)):
        return y
    edges = np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2, [np.inf]])
    low, high = _ends(y)
    cell = np.searchsorted(edges, low, side="right") - 1
    exact = low == high
    return Window(np.where(exact, edges[cell], low), np.where(exact, edges[cell + 1], high))


def _ends(y: np.ndarray | Window) -> tuple[np.ndarray, np.ndarray]:
    pair = (y.lower, y.upper) if isinstance(y, Window) else (y, y)
    return np.asarray(pair[0], float).ravel(), np.asarray(pair[1], float).ravel()
