"""A model of the time of a sweep: terms counted from the algorithm, their prices fitted to runs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import nnls

# Of a move in the ledgers that the prices were fitted to.
LEAPFROGS = 20
CONSTANT = "Gram matrix of x"
AXES = ("N", "P", "K", "L", "Q", "C")


@dataclass(frozen=True)
class Size:
    """N rows, P inputs, L layers of K units, Q outcomes, C chains, R devices for a chain's rows."""

    N: int
    P: int = 10
    K: int = 50
    L: int = 4
    Q: int = 1
    C: int = 1
    R: int = 1

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.P, *[self.K] * self.L, self.Q)


@dataclass(frozen=True)
class Timing:
    """Seconds of one sweep of all chains, as measured."""

    sampler: str
    size: Size
    seconds: float
    compile_seconds: float = 0.0
    device: str = ""

    def to_json(self) -> dict:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict) -> "Timing":
        return cls(**{**raw, "size": Size(**raw["size"])})


def terms(size: Size) -> dict[str, float]:
    """What a sweep does, counted; for either sampler, whose prices differ."""
    pairs = list(pairwise(size.widths))
    rows = size.C * -(-size.N // size.R)
    return {
        "launches": 1.0,
        "launches a layer": float(size.L),
        "latents": rows * size.K * size.L,
        "products": rows * sum(a * b for a, b in pairs),
        "factors": size.C * sum(b * (a + 1.0) ** 3 for a, b in pairs),
    }


@dataclass(frozen=True)
class Prices:
    """Seconds a unit of each term."""

    prices: dict[str, float]

    def seconds(self, size: Size) -> float:
        return sum(self.prices[name] * amount for name, amount in terms(size).items())


def fit_prices(timings: Sequence[Timing]) -> Prices:
    """Prices of at least 0 with the least sum of squared relative errors."""
    counted = [terms(timing.size) for timing in timings]
    names = list(counted[0])
    design = np.array([[row[name] for name in names] for row in counted])
    design /= np.array([timing.seconds for timing in timings])[:, None]
    scale = design.max(axis=0)
    found, _ = nnls(design / scale, np.ones(len(design)))
    return Prices(dict(zip(names, found / scale, strict=True)))


def exponents(timings: Iterable[Timing], base: Size) -> dict[str, tuple[list[int], float, float]]:
    """For each axis: its values, the slope of log seconds on all of them, and on the last two."""
    found = {}
    known = {timing.size: timing.seconds for timing in timings}
    for axis in AXES:
        on_axis = sorted(
            (getattr(size, axis), seconds)
            for size, seconds in known.items()
            if replace(size, **{axis: getattr(base, axis)}) == base
        )
        if len(on_axis) < 2:
            continue
        x, t = np.log(np.array(on_axis, dtype=float)).T
        last = (t[-1] - t[-2]) / (x[-1] - x[-2])
        found[axis] = ([value for value, _ in on_axis], float(np.polyfit(x, t, 1)[0]), float(last))
    return found


def bytes_a_sweep(size: Size, sampler: str, leapfrogs: int = LEAPFROGS) -> dict[str, int]:
    """Bytes of a chain that its devices add up, as the sums of Algorithm 1 and the move have them.

    Sums of squares and Gram matrices are float64, gradients float32.  One number keeps the
    factorisations in order.  The Gram matrix of x is the same in every sweep: some programs make it
    once, before their loop.  Gradients are of β, γ, τ² and σ² below the last layer, and of the
    covariance of y there; the log likelihood goes with them.
    """
    pairs = list(pairwise(size.widths))
    hidden, crosses = size.K * size.L, sum(b * (a + 1) for a, b in pairs)
    found = {
        "sums of squares": 8 * (2 * hidden + size.Q),
        "Gram matrices": 8 * (sum((a + 1) ** 2 for a, _ in pairs[1:]) + crosses),
        CONSTANT: 8 * (size.P + 1) ** 2,
        "order": 4,
    }
    if sampler == "interweaved":
        slopes = crosses + hidden + (hidden - size.K) + size.Q**2
        found["gradients"] = (leapfrogs + 1) * (4 * slopes + 8)
    return found


@dataclass(frozen=True)
class Network:
    """What one all-reduce costs between the devices of a chain; not measured, assumed."""

    latency: float = 50e-6
    bytes_a_second: float = 50e9

    def seconds(self, size: Size, sampler: str) -> float:
        """Of a sweep: sums of squares, order, Gram matrices, and one gradient for each leapfrog."""
        if size.R == 1:
            return 0.0
        sums = 3 + (LEAPFROGS + 1) * (sampler == "interweaved")
        sent = 2 * (size.R - 1) / size.R * size.C * sum(bytes_a_sweep(size, sampler).values())
        return sums * self.latency + sent / self.bytes_a_second
