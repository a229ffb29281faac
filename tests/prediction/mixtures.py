"""Mixtures drawn at random, and one row of them in plain scipy."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy import stats

from deepnoise.prediction.density.mixture import PredictiveMixture

quick = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**16)


def random_parts(seed, rows=4, components=5, outcomes=1, shared=False, weighted=True):
    """(means, covs, weights) with scales over two decades."""
    rng = np.random.default_rng(seed)
    first = 1 if shared else rows
    means = rng.normal(size=(rows, components, outcomes)) * 3
    roots = rng.normal(size=(first, components, outcomes, outcomes))
    scale = np.exp(rng.uniform(-2, 2, size=(first, components, 1, 1)))
    covs = scale * (roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(outcomes))
    weights = rng.dirichlet(np.ones(components), size=first) if weighted else None
    return means, covs, weights


def random_mixture(seed, **shape):
    return PredictiveMixture.of(*random_parts(seed, **shape))


def univariate(means, sds, weights=None):
    """One outcome, from (N, C) means and (N or 1, C) sds."""
    return PredictiveMixture.of(
        np.asarray(means)[..., None], np.asarray(sds)[..., None, None] ** 2, weights
    )


def in_blocks(mixture, read=None):
    """The same mixture, read lazily."""
    return PredictiveMixture.from_blocks(
        len(mixture), mixture.n_outcomes, mixture.n_components, read or mixture.read
    )


def row_of(mixture, n):
    """Weights, means and sds of row n of a mixture with one outcome, each (C,)."""
    weights, means, covs = mixture[n].components()
    return weights[0], means[0, :, 0], np.sqrt(covs[0, :, 0, 0])


def oracle_cdf(mixture, n, x):
    weights, means, sds = row_of(mixture, n)
    return weights @ stats.norm.cdf(x, means, sds)


def oracle_half_difference(mixture, n):
    """E|X - X'| / 2 over all pairs of components."""
    weights, means, sds = row_of(mixture, n)
    gap, sd = means[:, None] - means, np.hypot(sds[:, None], sds)
    mean = 2 * sd * stats.norm.pdf(gap / sd) + gap * (2 * stats.norm.cdf(gap / sd) - 1)
    return 0.5 * weights @ mean @ weights
