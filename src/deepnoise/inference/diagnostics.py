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

from . import notebook

RHAT_SETTLED = 1.05
ESS_SETTLED = 100
RHAT_CLOSE = 1.15
MIN_DRAWS = 8
# Of the predictive variance: below it, what chains disagree about hardly shows in intervals of y.
SMALL_SHARE = 0.01
# Functionals in a notebook and in print; listing() and to_dict() have all.
SHOWN = 10


@dataclass(frozen=True)
class Diagnostic:
    """How well one predicted scalar mixed.

    Attributes
    ----------
    name : str
        Such as "mean[3]" or "log_density[3]" of training row 3.
    mean : float
    sd : float
        Posterior standard deviation.
    mcse : float
        Monte Carlo standard error of the mean.
    ess_bulk : float
        Effective sample size of the middle of the distribution.
    ess_tail : float
        Effective sample size of the 5 % and 95 % quantiles, the smaller of the two.
    rhat : float
        Rank-normalised split R-hat over all chains; near 1 if they agree.
    rhat_within : float
        The largest R-hat of a single chain, whose two halves are compared.
    """

    name: str
    mean: float
    sd: float
    mcse: float
    ess_bulk: float
    ess_tail: float
    rhat: float
    rhat_within: float


@dataclass(frozen=True)
class Diagnostics:
    """Whether the chains have run long enough, judged by predicted scalars.

    Numbers that cannot be computed are NaN.

    Attributes
    ----------
    rows : tuple of Diagnostic
        One for each scalar.
    chains : int
    draws : int
        Draws per chain.
    share_between : float
        Share of the predictive variance that lies between the chains, the mean over rows.
    folds : int
        With cross-fitted chains, the number of folds: chains are compared with those of the same
        fold, and the numbers are those of the worst fold.  0 if all chains saw all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise.inference.diagnostics import diagnose
    >>> diagnose({"mean": np.random.default_rng(0).normal(size=(4, 200))}).status
    'settled'
    """

    rows: tuple[Diagnostic, ...]
    chains: int
    draws: int
    share_between: float = math.nan
    folds: int = 0

    @property
    def max_rhat(self) -> float:
        """The largest R-hat."""
        return max((r.rhat for r in self.rows if not math.isnan(r.rhat)), default=math.nan)

    @property
    def max_rhat_within(self) -> float:
        """The largest R-hat of a single chain, its two halves compared."""
        found = [r.rhat_within for r in self.rows if not math.isnan(r.rhat_within)]
        return max(found, default=math.nan)

    @property
    def min_ess(self) -> float:
        """The smallest of all bulk and tail effective sample sizes."""
        sizes = [e for r in self.rows for e in (r.ess_bulk, r.ess_tail) if not math.isnan(e)]
        return min(sizes, default=math.nan)

    @property
    def status(self) -> str:
        """One of "broken", "unknown", "moving", "apart", "short" and "settled"."""
        if not all(math.isfinite(row.mean) for row in self.rows):
            return "broken"
        if math.isnan(self.max_rhat) or math.isnan(self.min_ess):
            return "unknown"
        if self.max_rhat > RHAT_SETTLED:
            # Halves of a chain differ more by chance than chains do: they are half as long.
            steady = self.max_rhat_within - 1 < (self.max_rhat - 1) / 2
            return "apart" if steady else "moving"
        return "settled" if self.min_ess >= ESS_SETTLED else "short"

    @property
    def settled(self) -> bool:
        """Whether every scalar has R-hat of at most 1.05 and 100 effective draws or more."""
        return self.status == "settled"

    @property
    def close(self) -> bool:
        """Whether chains a few times as long would probably have settled."""
        return self.max_rhat <= RHAT_CLOSE

    @property
    def verdict(self) -> str:
        """The status as a sentence, with its numbers."""
        said = VERDICTS[self.status].format(d=self)
        if self.status in ("moving", "apart") and not math.isnan(self.share_between):
            said += f"; {_percent(self.share_between)} of the predictive variance lies between them"
        return said + self._compared

    @property
    def _compared(self) -> str:
        """What was compared, where chains left different rows out."""
        if not self.folds or self.status in ("broken", "unknown"):
            return ""
        if self.chains == self.folds:
            return "; each fold has one chain, whose two halves were compared"
        return "; chains were compared with those of their fold only"

    @property
    def advice(self) -> str:
        """What the verdict means for you, and what to do next."""
        if self.status not in ("moving", "apart"):
            return ADVICE[self.status]
        meaning = SMALL if self.share_between < SMALL_SHARE else LARGE
        return f"{meaning} {ADVICE[self.status]}"

    def worst(self, count: int = 3) -> list[str]:
        """Return the names of the ``count`` scalars on which the chains agree least."""
        judged = [row for row in self.rows if not math.isnan(row.rhat)]
        return [row.name for row in sorted(judged, key=lambda row: -row.rhat)[:count]]

    def to_dict(self) -> dict:
        """Return plain values for JSON; NaN and infinities become None."""
        rows = [{k: _finite(v) for k, v in asdict(row).items()} for row in self.rows]
        return {
            "chains": self.chains,
            "draws": self.draws,
            "folds": self.folds,
            "max_rhat": _finite(self.max_rhat),
            "max_rhat_within": _finite(self.max_rhat_within),
            "min_ess": _finite(self.min_ess),
            "share_between": _finite(self.share_between),
            "status": self.status,
            "verdict": self.verdict,
            "advice": self.advice,
            "rows": rows,
        }

    def __repr__(self) -> str:
        return notebook.lines(*self._shown())

    def _repr_html_(self) -> str:
        return notebook.table(*self._shown())

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        """Verdict and advice, and the worst functionals as texts."""
        worst = self.worst(SHOWN)
        chosen = sorted((r for r in self.rows if r.name in worst), key=lambda r: -r.rhat)
        rows = [
            [row.name, *(f"{v:.4g}" for v in (row.mean, row.sd, row.rhat))]
            + [f"{size:.0f}" for size in (row.ess_bulk, row.ess_tail)]
            for row in chosen
        ]
        title = (
            f"{self.chains} chains of {self.draws} draws: {self.verdict}. {self.advice} "
            f"The worst of {len(self.rows)}:"
        )
        return title, ["functional", "mean", "sd", "R-hat", "ESS bulk", "ESS tail"], rows

    def listing(self) -> str:
        """Return a table of all scalars, one a line, and the verdict."""
        names = [field.name for field in fields(Diagnostic)]
        width = max([len(row.name) for row in self.rows] + [4])
        lines = [
            "".ljust(width) + "".join(name.rjust(max(10, len(name) + 1)) for name in names[1:])
        ]
        for row in self.rows:
            mean, sd, mcse, bulk, tail, rhat, within = (getattr(row, name) for name in names[1:])
            lines.append(
                f"{row.name:<{width}}{mean:>10.4g}{sd:>10.4g}{mcse:>10.2g}"
                f"{bulk:>10.0f}{tail:>10.0f}{rhat:>10.3f}{within:>12.3f}"
            )
        return "\n".join([*lines, f"{self.chains} chains of {self.draws} draws: {self.verdict}"])


VERDICTS = {
    "broken": "broken: some draws are not finite",
    "unknown": f"not judged: there are fewer than {MIN_DRAWS} draws per chain, or nothing varies",
    "moving": "not settled: the chains are still moving (R-hat {d.max_rhat:.2f})",
    "apart": "not settled: each chain is steady, but they differ (R-hat {d.max_rhat:.2f})",
    "short": (
        "nearly settled: the chains agree (R-hat {d.max_rhat:.2f}), but the hardest prediction has "
        "{d.min_ess:.0f} effective draws"
    ),
    "settled": (
        "settled: the chains agree (R-hat {d.max_rhat:.2f}), and the hardest prediction has "
        "{d.min_ess:.0f} effective draws"
    ),
}
SMALL = (
    "The chains differ by little beside the noise of the outcome: predictions and prediction "
    "intervals can be used, but credible bands are too narrow."
)
LARGE = "Predictions are an average over chains that differ, and credible bands are too narrow."
ADVICE = {
    "broken": "Do not use this model: standardise the data, or fit in float64 (dtype, --dtype).",
    "unknown": "Draw more, for example with resume, before you trust the credible bands.",
    "moving": "Resume with twice the draws, or allow more sweeps (max_sweeps, --max-sweeps).",
    "apart": "The chains found different explanations of the data: use more chains.",
    "short": "You can use the means. Resume with twice the draws before you quote tails.",
    "settled": "Nothing to do.",
}


def diagnose(values: Mapping[str, ArrayLike], folds: int = 0) -> Diagnostics:
    """Diagnostics of named functionals, each (chain, draw).

    With ``folds``, chain c left out fold c mod ``folds``, and is compared with chains that did too.
    """
    arrays = {name: np.asarray(value, float) for name, value in values.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2 or 0 in next(iter(shapes)):
        raise ValueError(
            f"every value must be an array (chain, draw), all of one shape; got {shapes or '{}'}"
        )
    chains, draws = next(iter(shapes))
    if not folds:
        rows = tuple(_row(n, a) for n, a in arrays.items())
        return Diagnostics(rows, chains, draws, share_between(arrays))
    parts = [{n: a[fold::folds] for n, a in arrays.items()} for fold in range(folds)]
    rows = tuple(_worst([_row(n, part[n]) for part in parts], arrays[n]) for n in arrays)
    between = float(np.mean([share_between(part) for part in parts]))
    return Diagnostics(rows, chains, draws, between, folds)


def _worst(rows: list[Diagnostic], x: np.ndarray) -> Diagnostic:
    """One functional of all folds: R-hat and sizes of the worst, NaN if one could not be judged."""
    most = lambda name: float(np.max([getattr(row, name) for row in rows]))  # noqa: E731
    least = lambda name: float(np.min([getattr(row, name) for row in rows]))  # noqa: E731
    mcse = math.sqrt(sum(row.mcse**2 for row in rows)) / len(rows)
    sizes = least("ess_bulk"), least("ess_tail"), most("rhat"), most("rhat_within")
    if not np.isfinite(x).all():
        return Diagnostic(rows[0].name, *[math.nan] * 7)
    return Diagnostic(rows[0].name, float(x.mean()), float(x.std(ddof=1)), mcse, *sizes)


def share_between(values: Mapping[str, np.ndarray]) -> float:
    """Of the predictive variance, what lies between the chains; the mean over rows.

    Of every "mean[n]" that stands beside an "sd[n]"; NaN if there is none.
    """
    shares = []
    for name, mean in values.items():
        sd = values.get(name.replace("mean[", "sd["))
        if name.startswith("mean[") and sd is not None:
            shares.append(mean.mean(axis=1).var() / (mean.var() + np.mean(sd**2)))
    return float(np.mean(shares)) if shares else math.nan


def _row(name: str, x: np.ndarray) -> Diagnostic:
    if not np.isfinite(x).all():
        return Diagnostic(name, *[math.nan] * 7)
    if x.shape[1] < MIN_DRAWS or np.ptp(x) == 0:
        return Diagnostic(name, float(x.mean()), float(x.std()), *[math.nan] * 5)
    sd = x.std(ddof=1)
    mcse = sd / math.sqrt(ess(split(x)))
    within = max(rhat(chain[None]) for chain in x)
    numbers = x.mean(), sd, mcse, ess_bulk(x), ess_tail(x), rhat(x), within
    return Diagnostic(name, *map(float, numbers))


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


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0005 else "less than 0.1%"


def _finite(value):
    return None if isinstance(value, float) and not math.isfinite(value) else value
