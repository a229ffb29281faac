"""Normal scores: where a value stands among the training values, on the scale of a normal."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.stats import norm

# Evenly spread over the scores.  With more the curve follows the ranks of single values, and what
# depends smoothly on a feature does not on its score.
MAX_KNOTS = 6
# Knots nearer than this share of their spread differ by rounding, and count as one.
NEAREST = 1e-12


@dataclass(frozen=True)
class Score:
    """The score of one column: monotone and smooth through its knots, level beyond the outer ones.

    Examples
    --------
    >>> import numpy as np
    >>> score = Score.learn(0, np.array([0.0, 0.0, 1.0, 100.0]))
    >>> score.apply(np.array([0.0, 1.0, 100.0, 1000.0])).round(2)
    array([-0.92,  0.38,  1.47,  1.47])
    """

    column: int
    knots: tuple[float, ...]
    scores: tuple[float, ...]

    def __post_init__(self):
        increase = len(self.knots) > 1 and np.all(np.diff(self.knots) > 0)
        if len(self.knots) != len(self.scores) or not increase:
            raise ValueError("knots must be two or more increasing values, with one score each")

    @classmethod
    def learn(cls, column: int, values: np.ndarray) -> "Score":
        """Φ⁻¹ of the share of values below, equal ones counted half; then mean 0 and sd 1.

        There are two different values or more, and no NaN.
        """
        knots, counts = np.unique(values, return_counts=True)
        scores = norm.ppf((np.cumsum(counts) - counts / 2) / len(values))
        if len(knots) > MAX_KNOTS:
            few = np.unique(np.searchsorted(scores, np.linspace(scores[0], scores[-1], MAX_KNOTS)))
            knots, scores = knots[few], scores[few]
        steps = np.round((knots - knots[0]) / (NEAREST * (knots[-1] - knots[0])))
        _, apart = np.unique(steps, return_index=True)
        found = cls(column, tuple(knots[apart].tolist()), tuple(scores[apart].tolist()))
        seen = found.apply(values)
        scores = (np.array(found.scores) - seen.mean()) / seen.std()
        return cls(column, found.knots, tuple(scores.tolist()))

    @cached_property
    def _curve(self) -> PchipInterpolator:
        return PchipInterpolator(self.knots, self.scores)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Scores of values; NaN has none."""
        return self._curve(np.clip(values, self.knots[0], self.knots[-1]))

    def slope(self, values: np.ndarray) -> np.ndarray:
        """How fast the score rises at a value."""
        within = (values >= self.knots[0]) & (values <= self.knots[-1])
        return np.where(within, self._curve(values, nu=1), 0.0)

    def cubics(self) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
        """Where each stretch between knots starts, and its cubic in the distance from there."""
        rows = self._curve.c.T.tolist()
        return self.knots[:-1], tuple(tuple(row) for row in rows)

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {"column": self.column, "knots": list(self.knots), "scores": list(self.scores)}

    @classmethod
    def from_dict(cls, plain: dict) -> "Score":
        """The inverse of :meth:`to_dict`."""
        knots, scores = (tuple(map(float, plain[name])) for name in ("knots", "scores"))
        return cls(int(plain["column"]), knots, scores)
