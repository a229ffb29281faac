"""Conformal intervals from cross-fitted predictions: CV+, overall and by group.

Row i of fold k(i) was predicted by a model that has not seen this fold.  Its score s_i is by how
much its outcome lies outside a base interval of that model, in units of the interval's width; below
zero inside.  A new row has one base interval from each of the K models.  The interval is from the
r-th largest of {l_k(i) - w_k(i) s_i} to the r-th smallest of {u_k(i) + w_k(i) s_i}, i = 1..n, with
r = ⌈(1 - a)(n + K)⌉.  It holds the new outcome with probability 1 - 2a at least, if the rows are
exchangeable, whatever the models are:

Within fold k, p_k = (1 + #{i in k: s_i >= s_k(y)}) / (n_k + 1) of the new outcome y is a p-value.
Where y lies outside, at most n - r rows have s_i >= s_k(i)(y), so that the mean of the p_k with
weights (n_k + 1)/(n + K) is (K + n - r)/(n + K) <= a at most.  And a weighted mean of p-values is
at most a with probability 2a at most, however they depend (Rüschendorf 1982; Vovk and Wang 2020).
Folds need not be of the same size.  This is the cross-conformal bound of Barber, Candès, Ramdas and
Tibshirani (2021), whose own r is ⌈(1 - a)(n + 1)⌉, for 1 - 2a less a term of order K/n.
"""

import numpy as np

BLOCK_VALUES = 1 << 22


def rank_of(coverage: float, rows: int, folds: int, guaranteed: bool) -> int:
    """r, for a guarantee of ``coverage``, or of 2 coverage - 1 where not ``guaranteed``."""
    miss = (1 - coverage) / 2 if guaranteed else 1 - coverage
    return int(np.ceil((1 - miss) * (rows + folds) - 1e-9))


def rows_needed(coverage: float, folds: int, guaranteed: bool) -> int:
    """The fewest rows that give a finite interval."""
    miss = (1 - coverage) / 2 if guaranteed else 1 - coverage
    return int(np.ceil((1 - miss) * folds / miss - 1e-9))


def conformity(base: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Scores (n,) of outcomes that lie from ``low`` to ``high``, by base intervals (n, 2)."""
    width = base[:, 1] - base[:, 0]
    return np.maximum(base[:, 0] - high, low - base[:, 1]) / width


def cross_intervals(
    base: np.ndarray, scores: np.ndarray, folds: np.ndarray, rank: int
) -> np.ndarray:
    """Intervals (M, 2) of new rows from the base intervals (K, M, 2) of all models.

    ``scores`` and ``folds`` (n,) are of the rows that were left out.  Infinite if rank > n.
    """
    if rank > len(scores):
        return np.tile([-np.inf, np.inf], (base.shape[1], 1))
    size = max(1, BLOCK_VALUES // len(scores))
    blocks = [
        _of_block(base[:, start : start + size], scores, folds, rank)
        for start in range(0, base.shape[1], size)
    ]
    return np.concatenate(blocks)


def _of_block(base, scores, folds, rank: int) -> np.ndarray:
    reach = (base[..., 1] - base[..., 0])[folds].T * scores
    low, high = base[folds, :, 0].T - reach, base[folds, :, 1].T + reach
    lower = -np.partition(-low, rank - 1, axis=1)[:, rank - 1]
    upper = np.partition(high, rank - 1, axis=1)[:, rank - 1]
    # Where all scores are far below zero both ends may cross: then no value is needed.
    return np.stack([np.minimum(lower, upper), np.maximum(lower, upper)], axis=1)


def grouped_intervals(
    base: np.ndarray,
    scores: np.ndarray,
    folds: np.ndarray,
    groups: tuple[np.ndarray, np.ndarray],
    coverage: float,
    guaranteed: bool,
) -> np.ndarray:
    """:func:`cross_intervals` by rows of the same group only; the guarantee holds in each group.

    ``groups`` are those of the rows that were left out, (n,), and of the new rows, (M,).
    """
    known, new = groups
    found = np.tile([-np.inf, np.inf], (len(new), 1))
    for group in np.unique(new):
        own, wanted = known == group, new == group
        if not own.any():
            continue
        rank = rank_of(coverage, int(own.sum()), len(np.unique(folds[own])), guaranteed)
        found[wanted] = cross_intervals(base[:, wanted], scores[own], folds[own], rank)
    return found
