"""Normal scores: where a value stands among the training values, on the scale of a normal."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

# Evenly spread over the scores: more change none by much, and make model files long.
MAX_KNOTS = 256


@dataclass(frozen=True)
class Score:
    """The score of one column, straight between its knots and level beyond the outer ones.

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
        if len(self.knots) != len(self.scores) or not np.all(np.diff(self.knots) > 0):
            raise ValueError("knots must increase, with a score each")

    @classmethod
    def learn(cls, column: int, values: np.ndarray) -> "Score":
        """Φ⁻¹ of the share of values below, equal ones counted half; then mean 0 and sd 1."""
        values = values[~np.isnan(values)]
        knots, counts = np.unique(values, return_counts=True)
        scores = norm.ppf((np.cumsum(counts) - counts / 2) / len(values))
        few = np.unique(np.searchsorted(scores, np.linspace(scores[0], scores[-1], MAX_KNOTS)))
        knots, scores = knots[few], scores[few]
        seen = np.interp(values, knots, scores)
        return cls(
            column, tuple(knots.tolist()), tuple(((scores - seen.mean()) / seen.std()).tolist())
        )

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Scores of values; NaN has none."""
        return np.interp(values, self.knots, self.scores)

    def slope(self, values: np.ndarray) -> np.ndarray:
        """The derivative of the score, to the right at a knot."""
        slopes = np.diff(self.scores) / np.diff(self.knots)
        return np.concatenate([[0.0], slopes, [0.0]])[np.searchsorted(self.knots, values, "right")]

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {"column": self.column, "knots": list(self.knots), "scores": list(self.scores)}

    @classmethod
    def from_dict(cls, plain: dict) -> "Score":
        """The inverse of :meth:`to_dict`."""
        knots, scores = (tuple(map(float, plain[name])) for name in ("knots", "scores"))
        return cls(int(plain["column"]), knots, scores)
