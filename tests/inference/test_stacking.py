import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from deepnoise.inference.stacking import leave_one_out, stacked_weights


def test_weights_maximise_the_log_score():
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(3, 200)) + np.array([[0.0], [0.3], [-0.5]])
    found = stacked_weights(logs)

    def objective(w):
        return logsumexp(logs, axis=0, b=w[:, None]).sum() + np.log(w).sum()

    near = [found * np.exp(0.01 * rng.normal(size=3)) for _ in range(20)]
    assert all(objective(w / w.sum()) < objective(found) for w in near)


def test_a_chain_in_a_bad_mode_loses_its_weight():
    logs = np.stack([np.full(100, -1.0), np.full(100, -4.0)])
    assert stacked_weights(logs)[1] < 0.03
    np.testing.assert_allclose(stacked_weights(np.zeros((4, 50))), 0.25)


def test_leave_one_out_of_a_normal_mean():
    """Rows N(mu, 1) with a flat prior of mu: the density of a row given the others is known."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=40)
    mu = rng.normal(y.mean(), 40**-0.5, size=(2, 4000, 1))
    found = leave_one_out(norm.logpdf(y, mu))
    others = (y.sum() - y) / 39
    expected = norm.logpdf(y, others, np.sqrt(1 + 1 / 39))
    np.testing.assert_allclose(found, np.broadcast_to(expected, (2, 40)), atol=0.01)
    seen = logsumexp(norm.logpdf(y, mu), axis=1) - np.log(4000)
    assert np.abs(seen - expected).max() > 0.05
