"""Export to either ArviZ line, and PSIS-LOO against exact leave-one-out."""

import sys

import numpy as np
import pytest
from scipy import stats

from deepnoise.inference.arviz import loo, relative_efficiency, to_arviz
from deepnoise.inference.posterior import Plan, Posterior
from deepnoise.inference.sampling import Run
from deepnoise.model.activation import relu
from deepnoise.model.network import Theta


def posterior(rng, chains=2, draws=6, widths=(3, 4, 2)) -> Posterior:
    normal = lambda *shape: rng.normal(size=(chains, draws, *shape))
    weights = tuple(normal(*pair) for pair in zip(widths[1:], widths[:-1], strict=True))
    units = [tuple(normal(k) for k in widths[1:]) for _ in range(3)]
    theta = Theta(weights, units[0], units[1], units[2][:-1])
    return Posterior(Plan(widths[1:-1], relu, seed=0), None, Run(None, 0, theta))


@pytest.fixture
def arviz():
    pytest.importorskip("arviz")
    from deepnoise.inference.arviz import _arviz

    return _arviz()


def test_draws_keep_their_values_axes_and_names(arviz):
    rng = np.random.default_rng(1)
    p = posterior(rng)
    names = {"inputs": ["age", "size", "dose"], "outcomes": ["a", "b"]}
    lik, y = rng.normal(size=(2, 6, 5)), rng.normal(size=(5, 2))
    data = to_arviz(p, lik, y, names, values={"mean": rng.normal(size=(2, 6))})
    beta = data["posterior"]["beta_0"]
    assert beta.dims == ("chain", "draw", "hidden_0", "inputs")
    assert np.array_equal(beta.sel(inputs="size"), p.draws.beta[0][..., 1])
    assert data["posterior"]["tau2_1"].dims == ("chain", "draw", "outcomes")
    assert "sigma2_1" not in data["posterior"]
    assert data["posterior"]["mean"].shape == (2, 6)
    assert data["log_likelihood"]["y"].dims == ("chain", "draw", "row")
    assert np.array_equal(data["observed_data"]["y_b"], y[:, 1])


def test_one_outcome_without_names(arviz):
    rng = np.random.default_rng(2)
    data = to_arviz(posterior(rng, widths=(1, 1)), observed=np.arange(4.0))
    assert data["posterior"]["beta_0"].shape == (2, 6, 1, 1)
    assert np.array_equal(data["observed_data"]["y"], np.arange(4.0))


def normal_mean_likelihood(rng, y, chains=4, draws=500):
    """log N(y_n; mu, 1) at exact draws of mu | y under a flat prior."""
    mu = rng.normal(y.mean(), len(y) ** -0.5, size=(chains, draws, 1))
    return stats.norm.logpdf(y, mu)


def test_loo_agrees_with_exact_leave_one_out(arviz):
    rng = np.random.default_rng(3)
    y = rng.normal(size=40)
    result = loo(normal_mean_likelihood(rng, y))
    n = len(y)
    rest = (y.sum() - y) / (n - 1)
    exact = stats.norm.logpdf(y, rest, np.sqrt(1 + 1 / (n - 1)))
    # 1 / p(y_n | mu) varies by about |y_n - mean| sd(mu); five standard errors of 2,000 draws.
    error = 5 * np.maximum(np.abs(y - y.mean()), 1) / np.sqrt(n) / np.sqrt(2000)
    assert (np.abs(result.pointwise - exact) < error).all()
    assert result.elpd == pytest.approx(exact.sum(), abs=np.sqrt(n) * error.max())
    assert result.se == pytest.approx(np.sqrt(n) * exact.std(ddof=1), rel=0.02)
    fit = stats.norm.logpdf(y, y.mean(), np.sqrt(1 + 1 / n))
    assert result.p == pytest.approx((fit - exact).sum(), abs=np.sqrt(n) * error.max())
    assert not result.bad_rows.size
    assert "reliable" in str(result)


def test_loo_names_rows_that_are_too_influential(arviz):
    rng = np.random.default_rng(4)
    y = np.append(rng.normal(size=5), 12.0)
    result = loo(normal_mean_likelihood(rng, y))
    assert 5 in result.bad_rows
    assert f"not reliable: {len(result.bad_rows)} of 6 rows" in result.verdict
    assert 'cross_val_score(model, X, y, cv=10, scoring=deepnoise.scorer("nll"))' in str(result)
    assert "Of a censored y: fit with cross_fit=2, and ask held_out_report()" in str(result)


def test_efficiency_falls_with_autocorrelation():
    rng = np.random.default_rng(5)
    free = rng.normal(size=(4, 200, 3))
    sticky = np.repeat(free[:, :20], 10, axis=1)
    assert relative_efficiency(free) > 0.7
    assert relative_efficiency(sticky) < 0.3


@pytest.mark.parametrize("bad", [np.zeros((2, 3)), np.full((2, 8, 3), np.nan)])
def test_loo_refuses_what_it_cannot_use(bad):
    with pytest.raises(ValueError, match="finite log likelihoods"):
        loo(bad)


def test_without_arviz_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"deepnoise\[arviz\]"):
        to_arviz(posterior(np.random.default_rng(6)))
