"""Where outcomes can lie: y = g(z), g never falling, z the real number that a network predicts.

Where g rises, y has a density.  Where g is flat, y has a point mass: of a count each whole number
is one such step.  So whatever z may be, y stays within its support.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import expit, logit

from ...model.outcome import Window

Kind = Literal["real", "positive", "between", "counts"]
# Of the amounts above a point mass at zero, the share below the bend of log(1 + y / bend).
BEND_SHARE = 0.1


@dataclass(frozen=True)
class Support:
    """Outcomes of a kind, within [low, high]; ``points`` are values with a mass of their own.

    ``size`` is the bend of amounts with a point mass at zero, or the length of z that a point mass
    between other values takes up.
    """

    kind: Kind = "real"
    low: float = -np.inf
    high: float = np.inf
    points: tuple[float, ...] = ()
    size: float = 1.0

    @property
    def is_real(self) -> bool:
        return self.kind == "real" and not self.points

    @property
    def discrete(self) -> bool:
        return self.kind == "counts"

    @property
    def logarithmic(self) -> bool:
        """Whether z is the logarithm of y, so that exposure is added to it."""
        return self.discrete or (self.kind == "positive" and not self.points)

    @property
    def inner(self) -> tuple[float, ...]:
        """Points that are no ends, in order."""
        return tuple(p for p in self.points if self.low < p < self.high)

    def least(self, y: Any) -> np.ndarray:
        """The least z that gives y or more; -inf if all do."""
        y = np.asarray(y, float)
        if self.discrete:
            return _log(np.ceil(y))
        at = np.where(y > self.low, self._shifted(y, side="left"), -np.inf)
        return np.where(y > self.high, np.inf, at)

    def most(self, y: Any) -> np.ndarray:
        """The largest z that gives y or less; inf if all do."""
        y = np.asarray(y, float)
        if self.discrete:
            return _log(np.floor(y) + 1)
        at = np.where(y < self.high, self._shifted(y, side="right"), np.inf)
        return np.where(y < self.low, -np.inf, at)

    def value(self, z: Any) -> np.ndarray:
        """y = g(z)."""
        z = np.asarray(z, float)
        if self.discrete:
            # A hair above: exp(log(3)) may fall short of 3.
            with np.errstate(over="ignore"):
                return np.floor(np.exp(z) * (1 + 1e-12))
        flats = []
        for point in reversed(self.inner):
            start = self._shifted(np.array(point), side="left")
            flats.append((point, (z >= start) & (z <= start + self.size)))
            z = np.where(z > start + self.size, z - self.size, np.minimum(z, start))
        y = self._unlinked(z)
        for point, flat in flats:
            y = np.where(flat, point, y)
        return y

    def log_slope(self, y: Any) -> np.ndarray:
        """log dz/dy where y has a density, -inf where it has none; no meaning at point masses."""
        y = np.asarray(y, float)
        if self.discrete:
            return np.full(y.shape, -np.inf)
        inside = (y > self.low) & (y < self.high)
        if self.kind == "real":
            return np.where(inside, 0.0, -np.inf)
        if self.kind != "between":
            at = np.where(inside, y, 1.0)
            bend = self.size if self.low in self.points else 0.0
            return np.where(inside, -np.log(at + bend), -np.inf)
        width = self.high - self.low
        u = np.where(inside, (y - self.low) / width, 0.5)
        slope = -np.log(width) * np.ones_like(u)
        slope = slope if self.low in self.points else slope - np.log(u)
        slope = slope if self.high in self.points else slope - np.log1p(-u)
        return np.where(inside, slope, -np.inf)

    def window(self, y: np.ndarray | Window) -> np.ndarray | Window:
        """What is known of z from y (N, Q), exact or known to lie in a window itself."""
        if self.is_real:
            return y
        lower, upper = (y.lower, y.upper) if isinstance(y, Window) else (y, y)
        low, high = self.least(lower), self.most(upper)
        if not isinstance(y, Window) and (low == high).all():
            return low
        return Window(low, high)

    def _shifted(self, y: np.ndarray, side: str) -> np.ndarray:
        below = np.searchsorted(np.array(self.inner), y, side="left" if side == "left" else "right")
        return self.linked(y) + self.size * below

    def linked(self, y: np.ndarray) -> np.ndarray:
        """z without the steps of inner points: all of the line, or from 0 on above a point mass."""
        if self.kind == "real":
            return y
        if self.kind == "positive":
            y = np.maximum(y, 0.0)
            return np.log1p(y / self.size) if self.low in self.points else _log(y)
        u = np.clip((y - self.low) / (self.high - self.low), 0.0, 1.0)
        ends = self.low in self.points, self.high in self.points
        with np.errstate(divide="ignore"):
            if ends == (True, True):
                return u
            return -np.log1p(-u) if ends[0] else np.log(u) if ends[1] else logit(u)

    def _unlinked(self, z: np.ndarray) -> np.ndarray:
        if self.kind == "real":
            return z
        ends = self.low in self.points, self.high in self.points
        with np.errstate(over="ignore"):
            if self.kind == "positive":
                return self.size * np.expm1(np.maximum(z, 0.0)) if ends[0] else np.exp(z)
            if ends == (True, True):
                u = np.clip(z, 0.0, 1.0)
            elif ends[0]:
                u = -np.expm1(-np.maximum(z, 0.0))
            else:
                u = np.exp(np.minimum(z, 0.0)) if ends[1] else expit(z)
        y = np.clip(self.low + (self.high - self.low) * u, self.low, self.high)
        return np.where(u >= 1, self.high, y)

    def to_dict(self) -> dict:
        """Plain values for JSON; ends that are infinite are None."""
        ends = [None if np.isinf(end) else float(end) for end in (self.low, self.high)]
        return {"kind": self.kind, "ends": ends, "points": list(self.points), "size": self.size}

    @classmethod
    def from_dict(cls, plain: dict) -> "Support":
        """The inverse of :meth:`to_dict`."""
        if plain["kind"] not in get_args(Kind):
            raise ValueError(f"unknown kind of support {plain['kind']!r}")
        low, high = plain["ends"]
        points = tuple(map(float, plain["points"]))
        ends = -np.inf if low is None else float(low), np.inf if high is None else float(high)
        return cls(plain["kind"], *ends, points, float(plain["size"]))


REAL = Support()


def _log(y: np.ndarray) -> np.ndarray:
    """log y, -inf at and below zero."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(y, 0.0))
