"""Have the chains run long enough?  R-hat, ESS and MCSE of scalar functionals, and a verdict.

Rank-normalised split R-hat, bulk and tail ESS of Vehtari, Gelman, Simpson, Carpenter and Bürkner
(2021), "Rank-normalization, folding, and localization: an improved R-hat".  To be asked of
predictive functionals: weights of a neural network have no reason to agree between chains.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

RHAT_GOOD = 1.01
RHAT_USABLE = 1.05
ESS_PER_CHAIN = 100
MIN_DRAWS = 8


@dataclass(frozen=True)
class Diagnostic:
    """One functional: its posterior mean, what is uncertain about it, and how well it mixed."""

    name: str
    mean: float
    sd: float
    mcse: float
    ess_bulk: float
    ess_tail: float
    rhat: float


@dataclass(frozen=True)
class Diagnostics:
    """A table of functionals; numbers that cannot be computed are NaN (null in JSON)."""

    rows: tuple[Diagnostic, ...]
    chains: int
    draws: int

    @property
    def max_rhat(self) -> float:
        return max((r.rhat for r in self.rows if not math.isnan(r.rhat)), default=math.nan)

    @property
    def min_ess(self) -> float:
        """The least of all bulk and tail effective sample sizes."""
        sizes = [e for r in self.rows for e in (r.ess_bulk, r.ess_tail) if not math.isnan(e)]
        return min(sizes, default=math.nan)

    @property
    def status(self) -> str:
        """broken, unknown, disagree, short, usable or good."""
        if not all(math.isfinite(row.mean) for row in self.rows):
            return "broken"
        if math.isnan(self.max_rhat) or math.isnan(self.min_ess):
            return "unknown"
        if self.max_rhat > RHAT_USABLE:
            return "disagree"
        if self.min_ess < ESS_PER_CHAIN * self.chains:
            return "short"
        return "good" if self.max_rhat <= RHAT_GOOD else "usable"

    @property
    def good(self) -> bool:
        return self.status == "good"

    @property
    def verdict(self) -> str:
        return VERDICTS[self.status].format(d=self, worst=", ".join(self.worst()))

    @property
    def advice(self) -> str:
        return ADVICE[self.status].format(d=self, target=ESS_PER_CHAIN * self.chains)

    def worst(self, count: int = 3) -> list[str]:
        """Names of the functionals on which the chains agree least."""
        judged = [row for row in self.rows if not math.isnan(row.rhat)]
        return [row.name for row in sorted(judged, key=lambda row: -row.rhat)[:count]]

    def to_dict(self) -> dict:
        """For JSON: no NaN, no infinities."""
        rows = [{k: _finite(v) for k, v in asdict(row).items()} for row in self.rows]
        return {
            "chains": self.chains,
            "draws": self.draws,
            "max_rhat": _finite(self.max_rhat),
            "min_ess": _finite(self.min_ess),
            "status": self.status,
            "verdict": self.verdict,
            "advice": self.advice,
            "rows": rows,
        }

    def __str__(self) -> str:
        names = [field.name for field in fields(Diagnostic)]
        width = max([len(row.name) for row in self.rows] + [4])
        lines = ["".ljust(width) + "".join(name.rjust(10) for name in names[1:])]
        for row in self.rows:
            mean, sd, mcse, bulk, tail, rhat = (getattr(row, name) for name in names[1:])
            lines.append(
                f"{row.name:<{width}}{mean:>10.4g}{sd:>10.4g}{mcse:>10.2g}"
                f"{bulk:>10.0f}{tail:>10.0f}{rhat:>10.3f}"
            )
        return "\n".join([*lines, f"{self.chains} chains of {self.draws} draws: {self.verdict}"])


VERDICTS = {
    "broken": "some draws are not finite",
    "unknown": f"too few draws to judge ({MIN_DRAWS} a chain at least), or nothing varies",
    "disagree": "the chains disagree (R-hat {d.max_rhat:.3f}; worst: {worst})",
    "short": "the chains agree (R-hat {d.max_rhat:.3f}), but are short (ESS {d.min_ess:.0f})",
    "usable": "the chains nearly agree (R-hat {d.max_rhat:.3f}, ESS {d.min_ess:.0f})",
    "good": "the chains agree (R-hat {d.max_rhat:.3f}, ESS {d.min_ess:.0f})",
}
ADVICE = {
    "broken": "Standardise the data, use dtype='float64' or a tighter prior.",
    "unknown": "Draw more: resume(draws=...).",
    "disagree": (
        "More warmup and draws may help. If R-hat stays, the chains sit in different modes: look "
        "at the chain weights and at the densities of single chains, and use more chains."
    ),
    "short": "Means are usable; for quantiles and tails resume until ESS reaches {target}.",
    "usable": "Fine for most uses; resume with more draws to get R-hat to 1.01.",
    "good": "Nothing to do.",
}


def diagnose(values: Mapping[str, ArrayLike]) -> Diagnostics:
    """Diagnostics of named functionals, each (chain, draw)."""
    arrays = {name: np.asarray(value, float) for name, value in values.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2 or 0 in next(iter(shapes)):
        raise ValueError(f"every functional must be (chain, draw), all alike; got {shapes or '{}'}")
    chains, draws = next(iter(shapes))
    return Diagnostics(tuple(_row(n, a) for n, a in arrays.items()), chains, draws)


def _row(name: str, x: np.ndarray) -> Diagnostic:
    if not np.isfinite(x).all():
        return Diagnostic(name, *[math.nan] * 6)
    if x.shape[1] < MIN_DRAWS or np.ptp(x) == 0:
        return Diagnostic(name, float(x.mean()), float(x.std()), *[math.nan] * 4)
    sd = x.std(ddof=1)
    mcse = sd / math.sqrt(ess(split(x)))
    return Diagnostic(name, *map(float, (x.mean(), sd, mcse, ess_bulk(x), ess_tail(x), rhat(x))))


def split(x: np.ndarray) -> np.ndarray:
    """Every chain as two half chains; the middle draw of an odd number is left out."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def normal_scores(x: np.ndarray) -> np.ndarray:
    """Ranks over all chains, turned into normal quantiles."""
    return special.ndtri((stats.rankdata(x, axis=None).reshape(x.shape) - 3 / 8) / (x.size + 1 / 4))


def rhat(x: np.ndarray) -> float:
    """The larger of split R-hat of normal scores (location) and of folded ones (scale)."""
    halves = split(x)
    folded = np.abs(halves - np.median(halves))
    return max(_variance_ratio(normal_scores(halves)), _variance_ratio(normal_scores(folded)))


def _variance_ratio(x: np.ndarray) -> float:
    n = x.shape[1]
    within, between = x.var(axis=1, ddof=1).mean(), x.mean(axis=1).var(ddof=1)
    if within == 0:
        return math.inf if between > 0 else 1.0
    return float(np.sqrt((n - 1) / n + between / within))


def ess_bulk(x: np.ndarray) -> float:
    return ess(normal_scores(split(x)))


def ess_tail(x: np.ndarray) -> float:
    """The lesser ESS of the 5% and 95% quantiles."""
    return min(ess(split((x <= np.quantile(x, p)).astype(float))) for p in (0.05, 0.95))


def ess(x: np.ndarray) -> float:
    """Chains × draws / τ, with Geyer's initial monotone sequence of autocorrelations."""
    chains, n = x.shape
    if np.ptp(x) == 0:
        return float(x.size)
    covariance = _autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (x.mean(axis=1).var(ddof=1) if chains > 1 else 0.0)
    rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    last = max((n - 3) // 2, 0)
    negative = np.flatnonzero(pairs[: last + 1] < 0)
    stop = negative[0] if negative.size else last
    # The even term of the first pair left out is kept when positive: it matters for short τ.
    tau = -1 + 2 * np.minimum.accumulate(pairs[:stop]).sum() + max(rho[2 * stop], 0.0)
    return float(x.size / max(tau, 1 / math.log10(x.size)))


def _autocovariance(x: np.ndarray) -> np.ndarray:
    """Biased autocovariances of every chain at all lags, by FFT."""
    n = x.shape[1]
    spectrum = np.fft.rfft(x - x.mean(axis=1, keepdims=True), 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n


def _finite(value):
    return None if isinstance(value, float) and not math.isfinite(value) else value
