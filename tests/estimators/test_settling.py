"""Fits that run until their predictions have settled."""

import numpy as np
import pytest

from deepnoise import BDeepNoiseRegressor, load
from deepnoise.estimators import settings
from deepnoise.inference import diagnostics

from .toy import sloped, small

SHORT = {"warmup": 16, "draws": 8, "thin": 1}
AUTO = dict.fromkeys(SHORT)


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    monkeypatch.setattr(settings, "FIRST_ROUND", SHORT)


@pytest.fixture
def never_settled(monkeypatch):
    monkeypatch.setattr(diagnostics, "RHAT_SETTLED", 0.0)


class Stop(Exception):
    pass


def stop_at(sweeps: int, error: type[BaseException] = Stop):
    def report(done, _total, _posterior):
        if done >= sweeps:
            raise error

    return report


def test_a_settled_fit_stops_after_its_first_round(monkeypatch):
    monkeypatch.setattr(diagnostics, "RHAT_SETTLED", np.inf)
    monkeypatch.setattr(diagnostics, "ESS_SETTLED", 0)
    assert small(**AUTO, max_sweeps=1000).fit(*sloped()).posterior_.run.t == 24


@pytest.mark.parametrize(("most", "sweeps", "burn"), [(24, 24, 0), (48, 48, 30), (89, 46, 30)])
def test_rounds_double_until_the_budget_is_spent(never_settled, most, sweeps, burn):
    posterior = small(**AUTO, max_sweeps=most).fit(*sloped()).posterior_
    assert posterior.run.t == pytest.approx(sweeps, abs=2)
    assert posterior.plan.burn == pytest.approx(burn, abs=2)
    assert posterior.run.n_draws == 8


@pytest.fixture(params=[0.0, np.inf], ids=["far", "close"])
def close(request, monkeypatch):
    """Whether chains are close to settling: then their draws are kept."""
    monkeypatch.setattr(diagnostics, "RHAT_CLOSE", request.param)
    return request.param > 0


def test_chains_that_are_close_get_one_more_round(never_settled, monkeypatch, close):
    """Within the default budget only: one that was given is kept."""
    monkeypatch.setattr(settings, "MOST_SWEEPS", 48)
    monkeypatch.setattr(settings, "FEWEST_SWEEPS", 1)
    assert small(**AUTO).fit(*sloped()).posterior_.run.t == (80 if close else 46)
    given = small(**AUTO, max_sweeps=48).fit(*sloped())
    assert given.posterior_.run.t == (48 if close else 46)


def test_draws_of_chains_that_are_close_are_kept(never_settled, close):
    X, y = sloped()
    first = small(**AUTO, max_sweeps=24).fit(X, y).posterior_
    longer = small(**AUTO, max_sweeps=48).fit(X, y).posterior_
    same = [(first.draws.beta[0][:, i] == longer.draws.beta[0][:, 0]).all() for i in range(8)]
    assert np.flatnonzero(same).tolist() == ([3] if close else [])
    assert longer.run.n_draws == 8
    if close:
        assert longer.plan.thin == 4
        assert (longer.draws.beta[0][:, 1] == first.draws.beta[0][:, 7]).all()
        tuning = (posterior.run.state.tuning for posterior in (first, longer))
        assert len({float(t.step_size.log_step_size_avg[0]) for t in tuning}) == 1


@pytest.mark.parametrize(
    ("rows", "steps", "most"),
    [(500, 100, 5000), (1000, 50, 5000), (500, 0, 5000), (1000, 200, 3000), (10**6, 200, 1200)],
)
def test_the_budget_is_smaller_for_large_tables_and_long_trajectories(rows, steps, most):
    assert settings.most_sweeps(None, rows, steps) == most
    assert settings.most_sweeps(None, rows, steps, close=True) == 2 * most
    assert settings.most_sweeps(77, rows, steps, close=True) == 77


def test_the_first_round_of_a_large_table_is_short(monkeypatch):
    monkeypatch.undo()
    params = BDeepNoiseRegressor().get_params()
    sweeps = lambda rows: sum(map(settings.lengths(params, rows).get, ("warmup", "draws")))
    assert settings.lengths(params, 2000)["thin"] == 2
    assert settings.lengths(params, 2001)["thin"] == 1
    assert (sweeps(2000), sweeps(2001)) == (600, 400)
    assert settings.lengths(params | {"draws": 5}, 2001) == {"warmup": 800, "draws": 5, "thin": 4}


def test_the_move_is_tuned_again_before_the_draws_of_a_round(never_settled):
    posterior = small(**AUTO, max_sweeps=48).fit(*sloped()).posterior_
    window = np.asarray(posterior.run.state.tuning.window)
    assert (window == [24, posterior.plan.burn]).all()


def test_lengths_that_were_asked_for_are_kept(never_settled):
    assert small(warmup=10, draws=5, thin=1, max_sweeps=1000).fit(*sloped()).posterior_.run.t == 15


@pytest.mark.parametrize("sweeps", [10, 27, 40])
def test_a_fit_that_was_stopped_in_any_round_ends_the_same(never_settled, close, tmp_path, sweeps):
    X, y = sloped()
    given = {**AUTO, "max_sweeps": 48, "checkpoint": tmp_path}
    with pytest.raises(Stop):
        small(**given, progress=stop_at(sweeps)).fit(X, y)
    found = small(**given).fit(X, y)
    whole = small(**AUTO, max_sweeps=48).fit(X, y)
    assert np.array_equal(found.predict(X), whole.predict(X))
    assert np.array_equal(load(tmp_path).predict(X), whole.predict(X))


@pytest.mark.usefixtures("close")
def test_an_interrupt_keeps_the_draws_of_the_last_round(never_settled):
    model = small(**AUTO, max_sweeps=48, progress=stop_at(25, KeyboardInterrupt)).fit(*sloped())
    run = model.posterior_.run
    assert (run.t, run.n_draws) == (24, 8)


def test_a_budget_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="max_sweeps must be a whole number"):
        small(**AUTO, max_sweeps=0).fit(*sloped())
