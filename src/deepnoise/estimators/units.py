"""The user's units and the standardised units in which models are fitted.

Skewed features have normal scores too: where a value stands among the training values, on the
scale of a normal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.stats import norm

from ..model.outcome import Window
from ..prediction.density.mixture import PredictiveMixture
from .outcomes import representative

# Beyond these the variance of y cannot be written as a float64.
SMALLEST_SCALE, LARGEST_SCALE = 1e-140, 1e140
FAR = 1e30
# A feature has no score of a higher correlation with it; of many uniform values it is 0.96, of
# exponential ones 0.90.
ALIKE = 0.9
# As they are; mean 0 and sd 1; so, and beside them the normal scores of skewed features.
Standardize = Literal[False, True, "scores"]
# Evenly spread over the scores.  With more the curve follows the ranks of single values, and what
# depends smoothly on a feature does not on its score.
MAX_KNOTS = 6
# Knots nearer than this share of their spread differ by rounding, and count as one.
NEAREST = 1e-12


@dataclass(frozen=True)
class Standardizer:
    """(value - mean) / scale, one mean and scale a column.

    Examples
    --------
    >>> import numpy as np
    >>> units = Standardizer.learn(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> units.scale
    (1.0, 1.0)
    >>> units.apply(np.array([[2.0, 7.0]]))
    array([[0., 2.]])
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def identity(cls, columns: int) -> "Standardizer":
        return cls((0.0,) * columns, (1.0,) * columns)

    @classmethod
    def learn(cls, values: np.ndarray) -> "Standardizer":
        """Means and standard deviations (ddof 0) of the columns, NaN aside; 1 where constant."""
        mean, scale = zip(*(_moments(column) for column in values.T), strict=True)
        return cls(mean, scale)

    def apply(self, values: Any) -> Any:
        """Standardised values, or ends of windows; beyond 1e30 standard deviations they stay there.

        Ends that are infinite remain so.
        """
        if isinstance(values, Window):
            ends = values.lower, values.upper
            return Window(*(np.where(np.isinf(end), end, self.apply(end)) for end in ends))
        mean, scale = np.array(self.mean), np.array(self.scale)
        # Halves: the difference of two values near the largest float stays finite.
        with np.errstate(over="ignore"):
            return np.clip((values / 2 - mean / 2) / (scale / 2), -FAR, FAR)

    def undo(self, values: Any) -> np.ndarray:
        """Standardised values in the user's units, in float64."""
        return np.asarray(values, float) * self.scale + self.mean

    def restore(self, density: PredictiveMixture) -> PredictiveMixture:
        """A density of standardised values, in the user's units."""
        return density.affine(self.scale, self.mean)

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {"mean": list(self.mean), "scale": list(self.scale)}

    @classmethod
    def from_dict(cls, plain: dict) -> "Standardizer":
        """The inverse of :meth:`to_dict`."""
        return cls(tuple(map(float, plain["mean"])), tuple(map(float, plain["scale"])))


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


@dataclass(frozen=True)
class Inputs:
    """What a network is given of the encoded features: themselves, and the scores of some.

    Scores are of standardised values.
    """

    features: Standardizer
    scores: tuple[Score, ...] = ()

    def __post_init__(self):
        if not all(0 <= score.column < len(self.scale) for score in self.scores):
            raise ValueError("scores must name columns that exist")

    @classmethod
    def learn(
        cls, x: np.ndarray, standardize: Standardize, sites: tuple[int, int] | None = None
    ) -> "Inputs":
        """With "scores", features have one where it says something else than they do.

        Columns of sites stay zeros and ones, so that the weights of no site are in another unit.
        """
        if not standardize:
            return cls(Standardizer.identity(x.shape[1]))
        features = Standardizer.learn(x)
        first, stop = sites or (0, 0)
        if sites is not None:
            none = (0.0,) * (stop - first), (1.0,) * (stop - first)
            features = Standardizer(
                (*features.mean[:first], *none[0], *features.mean[stop:]),
                (*features.scale[:first], *none[1], *features.scale[stop:]),
            )
        if standardize != "scores":
            return cls(features)
        columns = enumerate(features.apply(x).T)
        seen = [(j, v[~np.isnan(v)]) for j, v in columns if not first <= j < stop]
        varied = [(Score.learn(j, v), v) for j, v in seen if len(np.unique(v)) > 1]
        return cls(
            features, tuple(s for s, v in varied if np.corrcoef(s.apply(v), v)[0, 1] < ALIKE)
        )

    @property
    def mean(self) -> tuple[float, ...]:
        return self.features.mean

    @property
    def scale(self) -> tuple[float, ...]:
        return self.features.scale

    @property
    def width(self) -> int:
        """The number of inputs."""
        return len(self.scale) + len(self.scores)

    def names(self, features: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the inputs, of those of the features."""
        return *features, *(f"score of {features[score.column]}" for score in self.scores)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Inputs (N, features and scores) of rows of encoded features."""
        x = self.features.apply(values)
        scores = [score.apply(x[:, score.column, None]) for score in self.scores]
        return np.concatenate([x, *scores], axis=1)

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Derivatives of the inputs x (N, inputs) by the feature that each is of, in its unit."""
        scale = np.array(self.scale)
        own = np.broadcast_to(1 / scale, (len(x), len(scale)))
        of_scores = [s.slope(x[:, s.column, None]) / scale[s.column] for s in self.scores]
        return np.concatenate([own, *of_scores], axis=1)

    def to_dict(self) -> dict:
        """Plain values for JSON; without scores, those of files of before there were any."""
        scores = [score.to_dict() for score in self.scores]
        return self.features.to_dict() | ({"scores": scores} if scores else {})

    @classmethod
    def from_dict(cls, plain: dict) -> "Inputs":
        """The inverse of :meth:`to_dict`."""
        scores = tuple(Score.from_dict(score) for score in plain.get("scores", ()))
        return cls(Standardizer.from_dict(plain), scores)


@dataclass(frozen=True)
class Units:
    """Units of the encoded features and of the outcomes."""

    x: Inputs
    y: Standardizer

    @classmethod
    def learn(
        cls, x: np.ndarray, y: Any, standardize: Standardize, sites: tuple[int, int] | None = None
    ) -> "Units":
        y, inputs = representative(y), Inputs.learn(x, standardize, sites)
        if not standardize:
            return cls(inputs, Standardizer.identity(y.shape[1]))
        units = cls(inputs, Standardizer.learn(y))
        for scale in units.y.scale:
            if not SMALLEST_SCALE < scale < LARGEST_SCALE:
                raise ValueError(f"y has a standard deviation of {scale:.3g}; change the unit of y")
        return units

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {"x": self.x.to_dict(), "y": self.y.to_dict()}

    @classmethod
    def from_dict(cls, plain: dict) -> "Units":
        """The inverse of :meth:`to_dict`."""
        return cls(Inputs.from_dict(plain["x"]), Standardizer.from_dict(plain["y"]))


def _moments(values: np.ndarray) -> tuple[float, float]:
    """Mean and sd without overflow or underflow: powers of two are taken out, which is exact."""
    values = values[~np.isnan(values)]
    low, high = values.min(), values.max()
    if low == high:
        return float(low), 1.0
    size = _power_of_two(max(abs(low), abs(high)))
    mean = np.mean(values / size) * size
    apart = values / 2 - mean / 2
    spread = _power_of_two(np.abs(apart).max())
    scale = 2 * (np.sqrt(np.mean((apart / spread) ** 2)) * spread)
    return float(mean), max(float(scale), 1e-300)


def _power_of_two(value: float) -> float:
    """A power of two near the value, itself and its inverse normal numbers."""
    return float(np.ldexp(1.0, int(np.clip(np.frexp(value)[1], -1000, 1000))))
