"""Cross-fitted chains: what they have not seen cannot reach them, and what that is good for."""

from copy import copy

import jax
import numpy as np
import pandas as pd
import pytest

import deepnoise
from deepnoise import BDeepNoiseSurvival, right_censored
from deepnoise.estimators import held_out
from deepnoise.estimators.held_out import ConformalWarning, of_chains
from deepnoise.estimators.scale import NetworkScale
from deepnoise.prediction.density.support import Support
from tests.estimators.toy import PLAIN, small

rng = np.random.default_rng(0)
ROWS = 41
X = rng.normal(5, 2, size=(ROWS, 2))
Y = 100 + 10 * X[:, 0] + rng.normal(size=ROWS)
# Exact enough to tell rounding from leaks; few sweeps, since rounding grows with them.
EXACT = {"dtype": "float64", "warmup": 2, "draws": 3, "cross_fit": 2, "sampler": "gibbs"}
X_EVEN, Y_EVEN = X[:40], Y[:40]


def cross_fitted(**settings):
    return small(**{**PLAIN, "warmup": 30, "chains": 4, "cross_fit": 2, **settings})


@pytest.fixture(scope="module")
def model():
    return cross_fitted().fit(X, Y)


@pytest.fixture(scope="module")
def exact():
    return small(**EXACT).fit(X_EVEN, Y_EVEN)


def of_fold(model, fold: int):
    """Densities of z at all rows by the chains of a fold."""
    return held_out.of_fold(model.predictive_, fold, X)


def draws_of(model, chain: int):
    return jax.tree.map(lambda a: np.asarray(a[chain]), model.posterior_.draws)


SAMPLERS = ["gibbs", pytest.param("interweaved", marks=pytest.mark.slow)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_chain_is_that_of_a_fit_of_its_rows_alone(sampler):
    settings = EXACT | {"sampler": sampler}
    model = small(**settings).fit(X_EVEN, Y_EVEN)
    for fold in range(2):
        kept, held = model.folds_.kept(fold), model.folds_.held(fold)
        alone = small(**settings | {"cross_fit": None}).fit(X[kept], Y[kept])
        same = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
        jax.tree.map(same, draws_of(model, fold), draws_of(alone, fold))
        if fold == 0:  # the noise of paths is that of the first draws of a density
            alone.chain_weights_ = np.array([1.0, 0.0])
            theirs = alone.predict_density(X[held]).cdf(Y[held])
            ours = model.held_out_density().cdf(Y_EVEN)[held]
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nothing_of_a_held_out_row_reaches_its_chains(sampler):
    settings = EXACT | {"sampler": sampler}
    model = small(**settings).fit(X_EVEN, Y_EVEN)
    held = model.folds_.held(0)
    moved_x, moved_y = X_EVEN.copy(), Y_EVEN.copy()
    moved_x[held], moved_y[held] = 1e9 * X[held] + 3, -1e12 * Y[held]
    moved = small(**settings).fit(moved_x, moved_y)
    jax.tree.map(np.testing.assert_array_equal, draws_of(model, 0), draws_of(moved, 0))
    assert np.abs(draws_of(model, 1).tau2[-1] / draws_of(moved, 1).tau2[-1] - 1).max() > 1e-3
    before, after = (of_fold(m, 0).log_prob(Y) for m in (model, moved))
    np.testing.assert_array_equal(before, after)


def test_draws_in_common_units_have_the_same_densities(exact):
    view = exact.thinned()
    view.guard, view.chain_weights_ = 0.0, np.array([1.0, 0.0])
    ours = of_chains(exact.predictive_, 0, slice(0, None, 2), X)
    np.testing.assert_allclose(view.predict_density(X).log_prob(Y), ours.log_prob(Y), rtol=1e-9)


@pytest.mark.slow
def test_a_straight_line_is_averaged_over_folds_exactly():
    line = small(**EXACT | {"hidden": (), "guard": 0.0}).fit(X, Y)
    single = [of_fold(line, fold).pdf(Y) for fold in range(2)]
    np.testing.assert_allclose(line.predict_density(X).pdf(Y), np.mean(single, axis=0), rtol=1e-9)
    held = np.where(line.folds_.of == 0, single[0], single[1])
    np.testing.assert_allclose(line.held_out_density().pdf(Y), held, rtol=1e-9)


def test_folds_are_shuffled_and_of_equal_size(model):
    of = model.folds_.of
    assert sorted(np.bincount(of)) == [20, 21]
    assert not np.array_equal(of, np.arange(ROWS) % 2)
    other = cross_fitted(random_state=1).fit(X, Y).folds_.of
    assert not np.array_equal(of, other)


def test_saved_loaded_and_resumed(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_conformal(X, 0.6), model.predict_conformal(X, 0.6))
    assert loaded.held_out_report() == model.held_out_report()
    whole = cross_fitted(draws=24).fit(X, Y)
    jax.tree.map(
        np.testing.assert_array_equal, loaded.resume(24).posterior_.draws, whole.posterior_.draws
    )


def test_a_checkpoint_is_continued(model, tmp_path):
    settings = {"checkpoint": tmp_path / "fit", "random_state": 0}
    cross_fitted(draws=10, **settings).fit(X, Y)
    continued = cross_fitted(**settings).fit(X, Y)
    jax.tree.map(np.testing.assert_array_equal, continued.posterior_.draws, model.posterior_.draws)
    with pytest.raises(ValueError, match="holds a different fit"):
        cross_fitted(**settings | {"cross_fit": 4}).fit(X, Y)


def test_thinned(model):
    few = model.thinned(5, paths=2)
    assert few.held_out_density().n_components == 2 * 5 * 2 + 1
    assert np.isfinite(few.predict_conformal(X, 0.6)).all()


def test_the_honest_score_is_that_of_the_held_out_densities(model):
    density, report = model.held_out_density(), model.held_out_report()
    assert len(density) == ROWS
    assert report["nll"] == pytest.approx(-density.log_prob(Y).mean())
    assert set(report) == set(model.score_report(X, Y))


def test_recalibrated_without_other_rows():
    model = cross_fitted().fit(X, Y)
    before = model.held_out_report()
    assert model.recalibrate().stretch_ != 1
    assert model.held_out_report() == before
    other = cross_fitted().fit(X, Y)
    other._stretch_by(other.held_out_density(), Y[:, None])
    assert model.stretch_ == other.stretch_


def test_stacking_weighs_the_chains_of_a_fold_by_its_rows():
    model = cross_fitted(combine="stacked").fit(X, Y)
    weights = model.chain_weights_.reshape(2, 2)  # (chain of the fold, fold)
    np.testing.assert_allclose(weights.sum(axis=0), 0.5)
    assert np.ptp(weights) > 1e-3
    alone = [slice(c, c + 1) for c in (0, 2)]
    log = [of_chains(model.predictive_, 0, chain, X).log_prob(Y) for chain in alone]
    held = model.folds_.held(0)
    better = int(np.sum(log[1][held]) > np.sum(log[0][held]))
    assert weights[better, 0] > weights[1 - better, 0]


def test_conformal_intervals_reach_as_far_as_the_scores_say(model):
    plain, sure = (model.predict_conformal(X, 0.6, guaranteed=g) for g in (False, True))
    assert plain.shape == (ROWS, 2)
    assert (plain[:, 0] < plain[:, 1]).all()
    assert (sure[:, 0] <= plain[:, 0]).all()
    assert (plain[:, 1] <= sure[:, 1]).all()


def test_conformal_intervals_of_groups():
    frame = pd.DataFrame({"x": X[:, 0], "site": np.where(X[:, 1] > 5, "a", "b")})
    model = cross_fitted().fit(frame, Y)
    by_name = model.predict_conformal(frame, 0.6, groups="site")
    place = model.predict_conformal(frame, 0.6, groups=1)
    labels = frame["site"].to_numpy()
    by_label = model.predict_conformal(frame, 0.6, groups=(labels, labels))
    np.testing.assert_array_equal(by_name, by_label)
    np.testing.assert_array_equal(by_name, place)
    assert not np.array_equal(by_name, model.predict_conformal(frame, 0.6))
    with pytest.warns(ConformalWarning, match="3 of 41 intervals are infinite: .* there are 0"):
        wide = model.predict_conformal(frame, 0.6, groups=(labels, ["c"] * 3 + list(labels[3:])))
    assert np.isinf(wide[:3]).all()
    assert np.isfinite(wide[3:]).all()
    with pytest.raises(ValueError, match="'city' is no column of X; it has 'x', 'site'"):
        model.predict_conformal(frame, 0.6, groups="city")
    with pytest.raises(ValueError, match="groups must be those of the 41 training rows"):
        model.predict_conformal(frame, 0.6, groups=(labels[1:], labels))


def test_too_few_rows_for_the_promise(model):
    with pytest.warns(ConformalWarning, match="needs 78 training rows of a kind, and there are 41"):
        assert np.isinf(model.predict_conformal(X[:2], 0.95)).all()


def test_counts_with_exposure():
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.5, 3, ROWS)
    frame = pd.DataFrame({"x": X[:, 0], "years": exposure})
    counts = rng.poisson(0.4 * exposure)
    model = cross_fitted(support="counts", exposure="years").fit(frame, counts)
    found = model.predict_conformal(frame, 0.6)
    assert (found == np.round(found)).all()
    assert (found >= 0).all()
    assert np.mean((found[:, 0] <= counts) & (counts <= found[:, 1])) >= 0.6
    assert np.isfinite(model.held_out_report()["nll"])
    # Counts of 0 have no lower end: chains of a fold, too, have units of what is behind them.
    for units in model.folds_.units:
        assert units.y.mean[0] == pytest.approx(model.units_.y.mean[0], abs=0.3)


def test_a_count_that_touches_the_interval_is_inside():
    counts, offset = NetworkScale(Support("counts", 0.0)), np.array([0.0, np.log(2.0), 0.0])
    z = np.log([[3.0, 5.0], [1.5, 2.4], [0.2, 0.9]])[..., None]
    # Within [log 3, log 5] lies a part of [log y, log(y + 1)) of y = 3 and 4, and the ends touch
    # those of 2 and 5.
    assert counts.intervals(z, offset).tolist() == [[2, 5], [2, 4], [0, 0]]


@pytest.mark.slow
def test_several_outcomes():
    y = np.stack([Y, -Y], axis=1)
    model = cross_fitted(draws=6).fit(X, y)
    assert model.predict_conformal(X[:3], 0.6).shape == (3, 2, 2)
    assert np.isfinite(model.held_out_report()["nll"])


@pytest.mark.slow
def test_censored_times_have_honest_scores_but_no_conformal_intervals():
    time = np.random.default_rng(2).exponential(size=ROWS)
    settings = {**PLAIN, "hidden": (2,), "chains": 2, "cross_fit": 2, "warmup": 10, "draws": 6}
    model = BDeepNoiseSurvival(**settings, random_state=0)
    model.fit(X, right_censored(np.minimum(time, 1.5), time < 1.5))
    assert np.isfinite(model.held_out_report()["concordance"])
    with pytest.raises(ValueError, match=r"predict_conformal needs exact outcomes .* censored"):
        model.predict_conformal(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cross_fit": 1}, "cross_fit must be a whole number of at least 2"),
        ({"cross_fit": 3}, "use chains=6, not 4"),
        ({"init": "gradient"}, "cross_fit needs init='prior'"),
        ({"devices": 2}, "cross_fit needs devices=1"),
        ({"memory_limit": "1GB"}, "cross_fit needs memory_limit=None"),
        ({"standardize": "scores"}, "cross_fit needs standardize=True or False"),
        ({"point_mass": 0.0}, "cross_fit needs point_mass=None"),
    ],
)
def test_what_does_not_go_with_it(settings, message):
    with pytest.raises(ValueError, match=message):
        cross_fitted(**settings).fit(X, Y)


def test_rows_that_do_not_go_with_it():
    with pytest.raises(ValueError, match="cross_fit needs X without missing values"):
        cross_fitted().fit(np.where(X > 8, np.nan, X), Y)
    with pytest.raises(ValueError, match="cross_fit needs sample_weight=None"):
        cross_fitted().fit(X, Y, sample_weight=np.ones(ROWS))
    with pytest.raises(ValueError, match="cross_fit=4 needs 6 rows or more; got 5"):
        cross_fitted(cross_fit=4).fit(X[:5], Y[:5])


def test_clear_lines_after_the_fit(model):
    with pytest.raises(ValueError, match="coverage must be between 0 and 1; got 90"):
        model.predict_conformal(X, 90)
    with pytest.raises(ValueError, match="conformal intervals need rows without missing values"):
        model.predict_conformal([[np.nan, 1.0]], 0.6)
    with pytest.raises(ValueError, match="held_out_report has the score"):
        model.loo()
    with pytest.raises(ValueError, match="recalibrate needs both X and y"):
        model.recalibrate(X)
    usual = copy(model)
    usual.folds_ = None
    with pytest.raises(ValueError, match="held_out_density needs cross-fitted chains; fit with"):
        usual.held_out_density()


def test_the_length_of_the_chains_asks_no_row():
    """A rule that stops the chains would look at rows that some of them must not know."""
    plan = deepnoise.estimators.settings.lengths
    params = {"warmup": None, "draws": None, "thin": None}
    for rows in (100, 5000):
        fixed = plan({**params, "cross_fit": 2}, rows)
        assert fixed == {"warmup": 800, "draws": 200, "thin": 4}
    assert deepnoise.estimators.settings.fixed_length({"cross_fit": 2})
    assert not deepnoise.estimators.settings.fixed_length({"cross_fit": None})


def test_the_verdict_compares_chains_of_a_fold_only(model):
    found = model.diagnostics_
    assert found.folds == 2
    assert "chains were compared with those of their fold only" in found.verdict
