"""Missing inputs, windows on outcomes and survival times through the door."""

import numpy as np
import pytest

import deepnoise
from deepnoise import BDeepNoiseSurvival, between, right_censored, rounded
from deepnoise.estimators.outcomes import as_window, representative

from .toy import PLAIN, small

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(40, 2))
X[:, 1] = X[:, 0] + 0.2 * RNG.normal(size=40)
Y = X[:, 0] + 0.1 * RNG.normal(size=40)
GAPS = np.where(RNG.random(X.shape) < 0.3, np.nan, X)


@pytest.fixture(scope="module")
def with_gaps():
    return small(warmup=200, draws=60).fit(GAPS, Y)


def test_missing_inputs_give_finite_wider_densities(with_gaps):
    rows = np.array([[1.0, 1.0], [np.nan, 1.0], [np.nan, np.nan]])
    width = np.diff(with_gaps.predict_interval(rows, 0.8), axis=1)[:, 0]
    assert np.isfinite(width).all()
    assert width[2] > 2 * width[0]
    assert width[2] > width[1]


def test_observed_entries_stay_as_they_are(with_gaps):
    x = with_gaps.posterior_.run.state.gibbs.unseen.x
    seen = ~np.isnan(with_gaps.rows_.x)
    assert np.array_equal(x[:, seen], np.broadcast_to(with_gaps.rows_.x[seen], (2, seen.sum())))
    assert np.isfinite(x).all()


def test_the_mean_imputed_value_follows_the_other_column(with_gaps):
    x = with_gaps.posterior_.run.state.gibbs.unseen.x.mean(axis=0)
    hidden = np.isnan(with_gaps.rows_.x).any(axis=1) & ~np.isnan(with_gaps.rows_.x).all(axis=1)
    assert np.corrcoef(x[hidden].T)[0, 1] > 0.7


def test_complete_training_rows_suffice_for_gaps_at_prediction():
    model = small(**PLAIN).fit(X, Y)
    assert model.accepts_missing_
    rows = np.array([[np.nan, 0.5], [0.5, 0.5]])
    together = model.predict_interval(rows)
    assert np.isfinite(together).all()
    np.testing.assert_allclose(model.predict_interval(rows[:1]), together[:1], rtol=1e-9)
    assert np.isfinite(model.predict_above(rows, 0.0)).all()


def test_familiarity(with_gaps):
    found = with_gaps.familiarity(np.array([[0.0, 0.0], [4.0, -4.0], [np.nan, 0.0]]))
    assert found.log_density[0] > found.log_density[1]
    assert found.tail[0] > 0.5
    assert found.tail[1] < 1e-6
    assert np.isfinite(found.log_density).all()


def test_frames_with_gaps_and_unseen_levels():
    frame = pd.DataFrame({"size": GAPS[:, 0], "kind": np.where(X[:, 0] > 0, "a", "b")})
    frame.loc[3, "kind"] = None
    model = small(**PLAIN).fit(frame, Y)
    with pytest.warns(UserWarning, match="kind"):
        assert np.isfinite(model.predict(pd.DataFrame({"size": [0.1], "kind": ["new"]}))).all()


def test_saved_checkpointed_and_resumed(tmp_path, with_gaps):
    with_gaps.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(GAPS), with_gaps.predict(GAPS))
    more = loaded.resume(70).posterior_.draws.beta[0]
    whole = small(warmup=200, draws=70, checkpoint=str(tmp_path / "kept")).fit(GAPS, Y)
    assert np.array_equal(more, whole.posterior_.draws.beta[0])
    again = small(warmup=200, draws=70, checkpoint=str(tmp_path / "kept")).fit(GAPS, Y)
    assert np.array_equal(again.predict(GAPS), whole.predict(GAPS))


def test_methods_that_need_whole_rows_say_so(with_gaps):
    for method in (with_gaps.influence, with_gaps.decompose):
        with pytest.raises(ValueError, match="without missing values"):
            method(GAPS)


def test_a_column_without_values_is_refused():
    with pytest.raises(ValueError, match="column 'x1' are missing"):
        small().fit(np.c_[X[:, 0], np.full(40, np.nan)], Y)


CENSORED = between(np.minimum(Y, 0.3), np.where(Y > 0.3, np.inf, Y))


@pytest.fixture(scope="module")
def censored():
    return small(warmup=200, draws=60).fit(X, CENSORED)


def test_censored_outcomes_are_not_taken_for_values(censored):
    bounds = small(warmup=200, draws=60).fit(X, np.minimum(Y, 0.3))
    top = np.argsort(Y)[-5:]
    assert (censored.predict(X[top]) > bounds.predict(X[top])).mean() > 0.5
    y = censored.posterior_.run.state.gibbs.unseen.y
    window = censored.rows_.seen
    assert ((y >= window.lower) & (y <= window.upper)).all()


def test_scores_of_windows(censored):
    report = censored.score_report(X, CENSORED)
    assert np.isfinite(list(report.values())).all()
    exact = Y <= 0.3
    assert report["rmse"] == pytest.approx(
        np.sqrt(np.mean((censored.predict(X[exact]) - Y[exact]) ** 2))
    )
    all_open = between(np.full(40, -np.inf), np.full(40, np.inf))
    assert censored.score_report(X, between(Y, np.full(40, np.inf)))["nll"] > 0
    with pytest.raises(ValueError, match="missing in every row"):
        censored.score_report(X, all_open)


def test_diagnostics_loo_and_files_of_windows(tmp_path, censored):
    assert np.isfinite(censored.diagnostics_.max_rhat)
    censored.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    assert np.array_equal(
        loaded.resume(65).posterior_.draws.beta[0],
        small(warmup=200, draws=65).fit(X, CENSORED).posterior_.draws.beta[0],
    )


def test_windows_in_other_forms():
    frame = pd.DataFrame({"lower": CENSORED.lower, "upper": CENSORED.upper})
    assert np.array_equal(as_window(frame).upper[:, 0], CENSORED.upper)
    records = np.array([(True, 2.0), (False, 3.0)], dtype=[("event", bool), ("time", float)])
    assert as_window(records).upper.ravel().tolist() == [2.0, np.inf]
    assert rounded([1.0], 0.5).lower.tolist() == [0.75]
    assert right_censored([1.0, 2.0], [1, 0]).upper.tolist() == [1.0, np.inf]
    assert representative(as_window(between([-np.inf, 1.0], [2.0, 3.0]))).ravel().tolist() == [2, 2]


def test_outcomes_that_are_partly_missing():
    y = np.c_[Y, -Y]
    y[::3, 0] = np.nan
    model = small(**PLAIN).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.diagnostics_.max_rhat)


def test_infinite_on_both_sides_is_missing():
    y = np.where(np.arange(40) % 4, Y, np.nan)
    open_ends = between(np.where(np.isnan(y), -np.inf, y), np.where(np.isnan(y), np.inf, y))
    found = [small(**PLAIN).fit(X, given).predict(X) for given in (y, open_ends)]
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: between([2.0], [1.0]), "lower must not exceed upper, but in row 0 it does: 2 > 1"),
        (lambda: between([1.0, 2.0], [3.0]), "the same shape"),
        (lambda: between([np.nan], [1.0]), "lower must not hold NaN"),
        (lambda: between([np.inf], [np.inf]), "lower must not be inf"),
        (lambda: between(["a"], [1.0]), "lower must be numbers"),
        (lambda: rounded([1.0], 0.0), "step must be a positive number"),
        (lambda: right_censored([1.0], [2]), "event must hold True or False"),
        (
            lambda: small().fit(X, np.full(40, np.nan)),
            "outcome 0 is missing in every row; leave it out",
        ),
        (
            lambda: small().fit(X, np.c_[Y, np.full(40, np.nan)]),
            "outcome 1 is missing in every row",
        ),
        (lambda: small().fit(X, between(Y[:3], Y[:3])), "inconsistent numbers of samples"),
        (lambda: BDeepNoiseSurvival().fit(X, (-np.ones(40), np.ones(40))), "time must be positive"),
        (lambda: BDeepNoiseSurvival().fit(X, (np.ones(40), np.zeros(40))), "event is never True"),
        (lambda: BDeepNoiseSurvival().fit(X, Y), "y must be \\(time, event\\)"),
    ],
)
def test_bad_outcomes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_survival():
    time = np.exp(Y)
    y = np.minimum(time, 1.5), time <= 1.5
    settings = {"hidden": (2,), "chains": 2, "warmup": 200, "draws": 60, "paths": 4}
    model = BDeepNoiseSurvival(**settings, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    curves = model.predict_survival(X[:3], [0.2, 1.0, 4.0])
    assert (np.diff(curves, axis=1) <= 0).all()
    assert ((curves >= 0) & (curves <= 1)).all()
    found = model.survival_bands(X[:1], model.predict(X[:1]))
    assert ((found.lower <= found.mean) & (found.mean <= found.upper)).all()
    assert (model.predict(X) > 0).all()
    with pytest.raises(ValueError, match="times must be positive"):
        model.predict_survival(X, [0.0])
    middle = model.predict(X[:3])
    placed = model.centiles(X[:3], middle)
    assert abs(placed.z[:, 0]).max() < 0.01
    pair = model.centiles(X[:3], (middle, np.ones(3, bool)))
    np.testing.assert_array_equal(pair.centile, placed.centile)
    with pytest.raises(ValueError, match="row 1 was censored, leave such rows out"):
        model.centiles(X[:3], (middle, np.array([True, False, True])))
    with pytest.raises(ValueError, match="times must be positive"):
        model.centiles(X[:3], -middle)
