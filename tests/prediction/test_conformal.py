"""CV+ intervals: their definition by brute force, and their guarantee by simulation."""

import numpy as np
import pytest
from scipy.stats import binom

from deepnoise.prediction.conformal import (
    conformity,
    cross_intervals,
    grouped_intervals,
    rank_of,
    rows_needed,
)
from deepnoise.prediction.density.derived import interleaved
from deepnoise.prediction.density.mixture import PredictiveMixture

FALSE_ALARM = 1e-6
COVERAGE = 0.8


def random_case(seed: int):
    rng = np.random.default_rng(seed)
    rows, folds, new = rng.integers(5, 40), rng.integers(2, 5), 3
    middle, half = rng.normal(size=(folds, new)), rng.exponential(size=(folds, new))
    base = np.stack([middle - half, middle + half], axis=-1)
    return base, rng.normal(size=rows), rng.integers(folds, size=rows)


@pytest.mark.parametrize("seed", range(20))
def test_the_ends_are_order_statistics(seed):
    base, scores, folds = random_case(seed)
    rank = int(np.random.default_rng(seed).integers(1, len(scores) + 1))
    found = cross_intervals(base, scores, folds, rank)
    for m in range(base.shape[1]):
        ends = []
        for score, fold in zip(scores, folds, strict=True):
            low, high = base[fold, m]
            ends.append((low - score * (high - low), high + score * (high - low)))
        low = sorted((end[0] for end in ends), reverse=True)[rank - 1]
        high = sorted(end[1] for end in ends)[rank - 1]
        np.testing.assert_allclose(found[m], sorted([low, high]))


def mean_p(base, scores, folds, y: float) -> float:
    """The weighted mean of the p-values of an outcome y, fold by fold, as the module defines it."""
    total = 0.0
    for fold in np.unique(folds):
        own = conformity(base[fold], np.array([y]), np.array([y]))[0]
        total += 1 + np.sum(scores[folds == fold] >= own)
    return total / (len(scores) + len(np.unique(folds)))


@pytest.mark.parametrize("seed", range(20))
def test_outside_the_interval_the_mean_p_value_is_small(seed):
    """The step of the proof that the code must get right."""
    base, scores, folds = random_case(seed)
    coverage, count = 0.7, len(np.unique(folds))
    rank = rank_of(coverage, len(scores), count, guaranteed=True)
    low, high = cross_intervals(base[:, :1], scores, folds, rank)[0]
    for y in np.linspace(-10, 10, 201):
        if not low <= y <= high:
            assert mean_p(base[:, :1], scores, folds, y) <= (1 - coverage) / 2 + 1e-12


def test_one_rank_less_would_break_the_proof():
    """The bound is sharp: the check above fails for a rank that is one too small."""
    base = np.array([[[-1.0, 1.0]]] * 2)
    scores, folds = np.arange(40.0), np.arange(40) % 2
    rank = rank_of(0.8, 40, 2, guaranteed=True)
    high = cross_intervals(base, scores, folds, rank)[0, 1]
    assert mean_p(base, scores, folds, high + 1e-6) <= 0.1
    less = cross_intervals(base, scores, folds, rank - 1)[0, 1]
    assert mean_p(base, scores, folds, less + 1e-6) > 0.1


def test_ranks():
    assert rank_of(0.9, 76, 4, guaranteed=True) == 76
    assert rank_of(0.9, 75, 4, guaranteed=True) == 76  # of 75 rows: no finite end
    assert rank_of(0.9, 36, 4, guaranteed=False) == 36
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
        for folds in (2, 4, 10):
            for guaranteed in (True, False):
                least = rows_needed(coverage, folds, guaranteed)
                assert rank_of(coverage, least, folds, guaranteed) <= least
                assert rank_of(coverage, least - 1, folds, guaranteed) > least - 1


def test_few_rows_give_infinite_intervals():
    base, scores, folds = random_case(0)
    assert np.isinf(cross_intervals(base, scores, folds, len(scores) + 1)).all()
    groups = np.zeros(len(scores), int), np.array([0, 1, 0])
    found = grouped_intervals(base, scores, folds, groups, 0.5, False)
    assert np.isinf(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()


def test_scores_are_in_widths_of_the_base_interval():
    base = np.array([[0.0, 2.0]] * 4)
    y = np.array([-1.0, 1.0, 2.0, 6.0])
    np.testing.assert_allclose(conformity(base, y, y), [0.5, -0.5, 0.0, 2.0])
    # An outcome that is known to be a stretch of z counts by its nearest end.
    np.testing.assert_allclose(conformity(base[:1], np.array([3.0]), np.array([9.0])), [0.5])


def nearest(x, y, at):
    """Outcomes of the nearest of rows (S, n) at new places (S, m): as overfitted as can be."""
    pairs = zip(x, y, at, strict=True)
    return np.stack([b[np.abs(new[:, None] - a).argmin(axis=1)] for a, b, new in pairs])


def simulated(leak: bool, noise, groups=None, rows=48, repetitions=4000, folds=3):
    """Whether intervals of nearest neighbours held new outcomes, (S,), and the new x."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (repetitions, rows + 1))
    y = np.sin(3 * x) + noise(rng, x)
    fold = rng.permuted(np.tile(np.arange(rows) % folds, (repetitions, 1)), axis=1)
    held, new = np.empty((repetitions, rows)), np.empty((folds, repetitions))
    for k in range(folds):
        out = fold == k
        kept = np.where(out, np.inf, x[:, :rows]) if not leak else x[:, :rows]
        found = nearest(kept, y[:, :rows], x)
        held[out], new[k] = found[:, :rows][out], found[:, rows]
    inside = np.empty(repetitions, bool)
    for s in range(repetitions):
        scores = conformity(held[s, :, None] + [-0.5, 0.5], y[s, :rows], y[s, :rows])
        kinds = np.zeros(rows + 1, int) if groups is None else groups(x[s])
        base = (new[:, s, None] + [-0.5, 0.5])[:, None]
        given = base, scores, fold[s], (kinds[:rows], kinds[rows:])
        low, high = grouped_intervals(*given, COVERAGE, True)[0]
        inside[s] = low <= y[s, rows] <= high
    return inside, x[:, rows]


def fewest(count: int) -> int:
    """Of so many, how many at least are inside if each is with probability COVERAGE or more."""
    return int(binom.ppf(FALSE_ALARM, count, COVERAGE))


def heavy(rng, x):
    return rng.standard_t(1.5, x.shape)


def uneven(rng, x):
    return np.where(x > 0.7, 3.0, 0.1) * rng.normal(size=x.shape)


@pytest.mark.parametrize("noise", [heavy, uneven])
def test_the_guarantee_holds_for_an_overfitted_model(noise):
    inside, _ = simulated(False, noise)
    assert inside.sum() >= fewest(len(inside))


def test_a_leak_is_noticed():
    """The check above can fail: a model that has seen the held-out rows covers next to nothing."""
    inside, _ = simulated(True, heavy)
    assert inside.sum() < fewest(len(inside))


def test_the_guarantee_holds_in_each_group():
    loud = lambda x: (x > 0.7).astype(int)
    size = {"rows": 200, "repetitions": 3000, "folds": 2}
    overall, x = simulated(False, uneven, **size)
    grouped, _ = simulated(False, uneven, loud, **size)
    rare = x > 0.7
    # Without groups the rare, loud rows are covered too seldom: there is something to guarantee.
    assert overall[rare].sum() < fewest(rare.sum())
    assert grouped[rare].sum() >= fewest(rare.sum())
    assert grouped[~rare].sum() >= fewest((~rare).sum())


def test_interleaved_rows():
    rng = np.random.default_rng(0)
    owner = np.array([1, 0, 0, 1, 1, 0, 1])
    few = PredictiveMixture.of(rng.normal(size=(3, 2, 1)), np.ones((1, 2, 1, 1)), [[0.3, 0.7]])
    more = PredictiveMixture.of(rng.normal(size=(4, 3, 1)), np.ones((1, 3, 1, 1)))
    found, y = interleaved([few, more], owner), rng.normal(size=7)
    np.testing.assert_allclose(found.log_prob(y)[owner == 0], few.log_prob(y[owner == 0]))
    np.testing.assert_allclose(found.log_prob(y)[owner == 1], more.log_prob(y[owner == 1]))
    np.testing.assert_allclose(found[2:5].mean(), found.mean()[2:5])
