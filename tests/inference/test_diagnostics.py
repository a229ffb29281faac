"""R-hat and ESS against ArviZ, which computes the same, and words against known situations."""

import json

import numpy as np
import pytest

from deepnoise.inference import diagnostics
from deepnoise.inference.diagnostics import Diagnostic, Diagnostics, diagnose


def autoregressive(rng, chains, draws, phi):
    noise = rng.normal(size=(chains, draws)) * np.sqrt(1 - phi**2)
    x = np.empty((chains, draws))
    x[:, 0] = rng.normal(size=chains)
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return x


@pytest.mark.parametrize("phi", [-0.8, 0.0, 0.5, 0.95])
@pytest.mark.parametrize(("chains", "draws"), [(2, 8), (2, 9), (3, 31), (4, 200), (4, 501)])
def test_the_numbers_are_those_of_arviz(phi, chains, draws):
    stats = pytest.importorskip("arviz_stats.base").array_stats
    rng = np.random.default_rng([chains, draws])
    x = autoregressive(rng, chains, draws, phi) + rng.normal(size=(chains, 1)) / 2
    row = diagnose({"x": x}).rows[0]
    axes = {"chain_axis": 0, "draw_axis": 1}
    assert row.rhat == pytest.approx(float(stats.rhat(x, **axes)), rel=1e-9)
    assert row.ess_bulk == pytest.approx(float(stats.ess(x, method="bulk", **axes)), rel=1e-9)
    tail = float(stats.ess(x, method="tail", prob=(0.05, 0.95), **axes))
    assert row.ess_tail == pytest.approx(tail, rel=1e-9)
    assert row.mcse == pytest.approx(float(stats.mcse(x, method="mean", **axes)), rel=1e-9)


def test_ess_of_an_autoregression_is_known():
    x = autoregressive(np.random.default_rng(1), 8, 20_000, phi=0.5)
    assert diagnostics.ess(x) / x.size == pytest.approx((1 - 0.5) / (1 + 0.5), rel=0.05)


def test_mixed_chains_have_settled():
    d = diagnose({"mean": np.random.default_rng(2).normal(size=(4, 500))})
    assert d.status == "settled"
    assert d.settled
    assert d.max_rhat < 1.01
    assert d.min_ess > 400


def test_steady_chains_in_different_places_are_apart_and_the_worst_is_named():
    x = np.random.default_rng(3).normal(size=(4, 500))
    d = diagnose({"fine": x, "apart": x + np.arange(4)[:, None]})
    assert d.status == "apart"
    assert d.worst(1) == ["apart"]
    assert "different explanations" in d.advice


def test_chains_that_wander_are_told_to_run_on():
    x = np.cumsum(np.random.default_rng(11).normal(size=(4, 500)), axis=1)
    d = diagnose({"x": x})
    assert d.status == "moving"
    assert "max_sweeps" in d.advice


def test_the_share_between_chains_is_of_the_predictive_variance():
    """Means differ by chain with variance 1.25, and the outcome has variance 4 around them."""
    mean = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
    d = diagnose({"mean[3]": mean, "sd[3]": np.full_like(mean, 2.0), "log_density[3]": mean})
    assert d.share_between == pytest.approx(1.25 / 5.25)
    assert np.isnan(diagnose({"x": mean}).share_between)


def test_a_share_that_is_small_is_not_called_nothing():
    rows = tuple(Diagnostic(f"mean[{n}]", 0, 1, 0, 10, 10, 1.5, 1.5) for n in range(2))
    assert "less than 0.1% of the" in Diagnostics(rows, 4, 200, 0.0004).verdict
    assert "; 0.1% of the" in Diagnostics(rows, 4, 200, 0.0006).verdict


@pytest.mark.parametrize(("noise", "usable"), [(20.0, True), (2.0, False)])
def test_chains_that_differ_by_little_beside_the_noise_can_be_used(noise, usable):
    mean = np.random.default_rng(12).normal(size=(4, 500)) + np.arange(4)[:, None]
    d = diagnose({"mean[0]": mean, "sd[0]": np.full_like(mean, noise)})
    assert d.status == "apart"
    assert ("can be used" in d.advice) == usable


def test_different_spread_is_seen_too():
    x = np.random.default_rng(4).normal(size=(4, 500)) * np.array([[1], [1], [1], [5]])
    assert diagnose({"x": x}).status == "apart"


def test_a_drift_within_one_chain_is_seen():
    x = np.random.default_rng(5).normal(size=(1, 500)) + np.linspace(0, 5, 500)
    assert diagnose({"x": x}).status == "moving"


def test_stuck_chains_disagree():
    d = diagnose({"x": np.repeat(np.arange(4.0)[:, None], 50, axis=1)})
    assert d.max_rhat == np.inf
    assert d.to_dict()["max_rhat"] is None


def test_short_chains_are_told_to_draw_on():
    d = diagnose({"x": np.random.default_rng(6).normal(size=(4, 20))})
    assert d.status == "short"
    assert "twice the draws" in d.advice


@pytest.mark.parametrize(
    "x", [np.random.default_rng(7).normal(size=(4, 4)), np.ones((4, 100))], ids=["few", "constant"]
)
def test_what_cannot_be_judged_is_not_judged(x):
    d = diagnose({"x": x})
    assert d.status == "unknown"
    assert np.isnan(d.max_rhat)


def test_a_constant_does_not_hide_the_others():
    x = np.random.default_rng(8).normal(size=(4, 500))
    assert diagnose({"x": x, "constant": 0 * x}).settled


def test_a_draw_that_is_not_finite_breaks_the_verdict():
    x = np.random.default_rng(9).normal(size=(4, 500))
    x[1, 3] = np.nan
    assert diagnose({"x": x, "y": np.nan_to_num(x)}).status == "broken"


def test_as_table_and_as_json():
    d = diagnose(
        {"mean y": np.random.default_rng(10).normal(size=(2, 100)), "c": np.ones((2, 100))}
    )
    assert str(d) == repr(d)
    lines = d.listing().splitlines()
    assert lines[0].split() == ["mean", "sd", "mcse", "ess_bulk", "ess_tail", "rhat", "rhat_within"]
    assert lines[1].startswith("mean y")
    assert "2 chains of 100 draws" in lines[-1]
    plain = json.loads(json.dumps(d.to_dict(), allow_nan=False))
    assert plain["rows"][1]["rhat"] is None
    assert plain["verdict"] == d.verdict


@pytest.mark.parametrize(
    "values",
    [{}, {"x": np.ones(4)}, {"x": np.ones((2, 0))}, {"x": np.ones((2, 9)), "y": np.ones((2, 8))}],
)
def test_shapes_are_checked(values):
    with pytest.raises(ValueError, match="chain, draw"):
        diagnose(values)


def test_chains_that_left_different_rows_out_are_judged_fold_by_fold():
    x = np.random.default_rng(7).normal(size=(4, 500))
    apart = x + np.array([0.0, 5.0, 0.0, 5.0])[:, None]
    assert diagnose({"mean": apart}).status == "apart"
    found = diagnose({"mean": apart}, folds=2)
    assert found.status == "settled"
    assert found.verdict.endswith("chains were compared with those of their fold only")
    assert found.to_dict()["folds"] == 2
    assert found.rows[0].mean == pytest.approx(apart.mean())
    # Chains of the same fold that differ are still noticed, and the worst fold counts.
    worse = x + np.array([0.0, 5.0, 0.0, 9.0])[:, None]
    assert diagnose({"mean": worse}, folds=2).status == "apart"
    worst = diagnose({"mean": worse[1::2]})
    assert diagnose({"mean": worse}, folds=2).max_rhat == pytest.approx(worst.max_rhat)
    alone = diagnose({"mean": apart[:2]}, folds=2)
    assert "each fold has one chain, whose two halves were compared" in alone.verdict


def test_shares_between_chains_are_of_chains_of_one_fold():
    rng = np.random.default_rng(8)
    mean = rng.normal(size=(4, 400)) * 0.1 + np.array([0.0, 5.0, 0.0, 5.0])[:, None]
    values = {"mean[0]": mean, "sd[0]": np.ones((4, 400))}
    assert diagnose(values).share_between > 0.5
    assert diagnose(values, folds=2).share_between < 0.01
