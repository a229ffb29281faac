"""Weights of chains that stayed in different modes, by stacking of leave-one-out densities.

Yao, Vehtari and Gelman (2022), "Stacking for non-mixing Bayesian computations".
"""

import numpy as np
from scipy.special import logsumexp, softmax

STEPS = 1000


def leave_one_out(log_likelihood: np.ndarray) -> np.ndarray:
    """log p(y_n | other rows) of every chain, (C, N), from log p(y_n | x_n, Θ), (C, M, N).

    By importance sampling with truncated weights (Ionides, 2008).
    """
    draws = log_likelihood.shape[1]
    log_weights = -log_likelihood
    most = logsumexp(log_weights, axis=1, keepdims=True) - np.log(draws) / 2
    log_weights = np.minimum(log_weights, most)
    log_total = logsumexp(log_weights, axis=1)
    return logsumexp(log_weights + log_likelihood, axis=1) - log_total


def stacked_weights(log_densities: np.ndarray) -> np.ndarray:
    """Weights w of C chains with the largest Σ_n log Σ_c w_c p_cn + Σ_c log w_c; (C,).

    ``log_densities`` (C, N) are of rows that a chain has not seen.  The second sum, one row's worth
    a chain, keeps every weight positive.  By expectation and maximisation: the sum is concave.
    """
    chains = len(log_densities)
    weights = np.full(chains, 1 / chains)
    for _ in range(STEPS):
        shares = softmax(log_densities + np.log(weights)[:, None], axis=0).sum(axis=1) + 1
        weights = shares / shares.sum()
    return weights
