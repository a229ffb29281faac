"""Which outcomes can be predicted at all, as a posterior probability.

On rows that a fit has not seen, its loss is compared with the loss of the outcome's law without any
inputs.  The share that the inputs take away, the skill, is a ratio of two means over the population
of rows; rows are draws from it, and the Bayesian bootstrap is the posterior of such means when
nothing is assumed of the population.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .credible import Band
from .density.mixture import PredictiveMixture

BOOTSTRAPS = 4000
BLOCK_VALUES = 1 << 20
INTERVAL = (0.05, 0.95)

Losses = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class OutcomeSelection:
    """How well each outcome can be predicted, judged on held-out rows.

    ``skill`` is the share of the ``loss`` that the inputs take away, for the squared loss R²: its
    posterior mean and 90 % interval, (Q,) each.  ``probability`` (Q,) is the posterior probability
    that the skill exceeds ``threshold``; ``predictable`` outcomes are those where it is at least
    ``certainty``.
    """

    names: tuple[str, ...]
    loss: str
    skill: Band
    probability: np.ndarray
    threshold: float
    certainty: float

    @property
    def predictable(self) -> tuple[str, ...]:
        """Names of the outcomes whose ``probability`` is at least ``certainty``."""
        certain = self.probability >= self.certainty
        return tuple(name for name, yes in zip(self.names, certain, strict=True) if yes)

    def __str__(self) -> str:
        width = max(len("outcome"), *map(len, self.names))
        lines = [f"{'outcome':{width}}  skill  90 % interval   P(skill > {self.threshold:g})"]
        parts = (self.skill.mean, self.skill.lower, self.skill.upper, self.probability)
        for name, mean, low, high, probability in zip(self.names, *parts, strict=True):
            verdict = "  predictable" if name in self.predictable else ""
            interval = f"{low:6.2f} to {high:5.2f}"
            lines.append(f"{name:{width}}  {mean:5.2f}  {interval}  {probability:6.3f}{verdict}")
        return "\n".join(lines)


def select(
    losses: Losses, names: Sequence[str], loss: str, threshold: float, certainty: float, seed: int
) -> OutcomeSelection:
    """The selection from losses with and without inputs, (N, Q) each, of rows not learned from.

    They are NaN where an outcome is missing, of which nothing is learned then.
    """
    skills = bootstrap_skills(*losses, seed)
    lower, upper = np.quantile(skills, INTERVAL, axis=0)
    return OutcomeSelection(
        names=tuple(names),
        loss=loss,
        skill=Band(skills.mean(axis=0), lower, upper),
        probability=np.mean(skills > threshold, axis=0),
        threshold=threshold,
        certainty=certainty,
    )


def bootstrap_skills(loss: np.ndarray, null: np.ndarray, seed: int) -> np.ndarray:
    """Posterior draws of 1 - E[loss] / E[null]; (BOOTSTRAPS, Q)."""
    loss, null = (np.where(np.isnan(loss), 0.0, part) for part in (loss, null))
    rng = np.random.default_rng(seed)
    a_time = max(BLOCK_VALUES // len(loss), 1)
    skills = []
    for first in range(0, BOOTSTRAPS, a_time):
        size = min(a_time, BOOTSTRAPS - first), len(loss)
        weights = rng.standard_exponential(size)
        skills.append(1 - (weights @ loss) / (weights @ null))
    return np.concatenate(skills)


def squared(density: PredictiveMixture, y: np.ndarray, seen: np.ndarray) -> Losses:
    """(y - E[y|x])² and (y - mean of the y seen)²; (N, Q) each."""
    mean = density.mean().reshape(y.shape)
    return (y - mean) ** 2, (y - np.nanmean(seen, axis=0)) ** 2


def crps(density: PredictiveMixture, y: np.ndarray, seen: np.ndarray) -> Losses:
    """CRPS of the density and of the empirical law of the y seen; (N, Q) each."""
    missing = np.isnan(y)
    known = np.where(missing, 0.0, y)
    null = [_empirical_crps(a, b[~np.isnan(b)]) for a, b in zip(known.T, seen.T, strict=True)]
    losses = density.crps(known).reshape(y.shape), np.stack(null, axis=1)
    return np.where(missing, np.nan, losses[0]), np.where(missing, np.nan, losses[1])


def _empirical_crps(y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """E|Y - y| - E|Y - Y'| / 2 for Y, Y' uniform on the values seen."""
    ordered, count = np.sort(seen), len(seen)
    rank = np.arange(1, count + 1)
    below = np.searchsorted(ordered, y)
    up_to = np.concatenate([[0.0], np.cumsum(ordered)])
    distance = y * below - up_to[below] + (up_to[-1] - up_to[below]) - y * (count - below)
    return distance / count - np.sum((2 * rank - count - 1) * ordered) / count**2


LOSSES: dict[str, Callable[[PredictiveMixture, np.ndarray, np.ndarray], Losses]] = {
    "squared": squared,
    "crps": crps,
}
