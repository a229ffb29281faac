"""Statistical tests at one declared false-alarm rate, shared by all that compare samples."""

from collections.abc import Mapping

import numpy as np
import scipy.stats

# The chance that a whole test (all its comparisons together) fails although the code is right.
ALPHA = 1e-4


def rejected(p_values: Mapping[str, float], alpha: float = ALPHA) -> dict[str, float]:
    """The comparisons that a family rejects at level ``alpha`` (Bonferroni), worst first."""
    threshold = alpha / max(len(p_values), 1)
    found = {name: p for name, p in p_values.items() if not p >= threshold}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def two_sided(z: float) -> float:
    """The p-value of a standard normal."""
    return float(2 * scipy.stats.norm.sf(abs(z)))


def mean_is_zero(values: np.ndarray) -> float:
    """p-value of a zero mean, for many independent values of finite variance."""
    error = values.std() / np.sqrt(len(values))
    return two_sided(values.mean() / error) if error > 0 else float(values.mean() == 0)


def same_law(a: np.ndarray, b: np.ndarray) -> float:
    """p-value of the two-sample Kolmogorov-Smirnov test."""
    return float(scipy.stats.ks_2samp(a, b, method="asymp").pvalue)


def uniform_ranks(ranks: Mapping[str, np.ndarray], kept: int) -> dict[str, float]:
    """p-values of ranks 0..kept being uniform: χ² of eight equal bins, and the ECDF in its band."""
    rng = np.random.default_rng(0)
    p_values = {}
    for name, rank in ranks.items():
        counts = np.bincount(rank * 8 // (kept + 1), minlength=8)
        p_values[f"{name} χ²"] = scipy.stats.chisquare(counts).pvalue
        spread = (rank + rng.uniform(size=rank.size)) / (kept + 1)
        p_values[f"{name} ECDF"] = scipy.stats.kstest(spread, "uniform").pvalue
    return p_values


def mcse(chains: np.ndarray) -> float:
    """Monte Carlo standard error of the mean of (chain, draw) values: batch means of all chains."""
    count = max(int(np.sqrt(chains.shape[1])), 2)
    used = chains[:, : chains.shape[1] // count * count]
    batches = used.reshape(chains.shape[0] * count, -1).mean(axis=1)
    return float(batches.std(ddof=1) / np.sqrt(len(batches)))


def rhat(chains: np.ndarray) -> float:
    """Rank-normalised split R-hat of (chain, draw) values (Vehtari et al. 2021)."""
    half = chains.shape[1] // 2
    split = np.concatenate([chains[:, :half], chains[:, -half:]])
    folded = np.abs(split - np.median(split))
    return max(_rhat_of(_normal_scores(split)), _rhat_of(_normal_scores(folded)))


def _normal_scores(values: np.ndarray) -> np.ndarray:
    ranks = scipy.stats.rankdata(values).reshape(values.shape)
    return scipy.stats.norm.ppf((ranks - 0.375) / (values.size + 0.25))


def _rhat_of(chains: np.ndarray) -> float:
    n = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = n * chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt(((n - 1) / n * within + between / n) / within))
