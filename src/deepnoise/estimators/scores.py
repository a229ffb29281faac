"""Normal scores: where a value stands among the training values, on the scale of a normal."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

# Evenly spread over the scores: more change none by much, and make model files long.
MAX_KNOTS = 64


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
        increase = len(self.knots) > 1 and np.all(np.diff(self.knots) > 0)
        if len(self.knots) != len(self.scores) or not increase:
            raise ValueError("knots must be two or more and increase, with a score each")

    @classmethod
    def learn(cls, column: int, values: np.ndarray) -> "Score":
        """Φ⁻¹ of the share of values below, equal ones counted half; then mean 0 and sd 1."""
        values = values[~np.isnan(values)]
        knots, counts = np.unique(values, return_counts=True)
        scores = norm.ppf((np.cumsum(counts) - counts / 2) / len(values))
        if len(knots) > MAX_KNOTS:
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
        """How fast the score rises about a value, over a fifth of the knots or ten.

        Between two neighbours it rises by 1/gap, whose mean over rows has no bound.
        """
        knots, scores, last = np.array(self.knots), np.array(self.scores), len(self.knots) - 1
        span = min(max(10, last // 5), last)
        low = np.clip(np.searchsorted(knots, values) - span // 2, 0, last - span)
        within = (values >= knots[0]) & (values <= knots[-1])
        return within * (scores[low + span] - scores[low]) / (knots[low + span] - knots[low])

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {"column": self.column, "knots": list(self.knots), "scores": list(self.scores)}

    @classmethod
    def from_dict(cls, plain: dict) -> "Score":
        """The inverse of :meth:`to_dict`."""
        knots, scores = (tuple(map(float, plain[name])) for name in ("knots", "scores"))
        return cls(int(plain["column"]), knots, scores)
