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


@pytest.mark.parametrize(("most", "sweeps", "burn"), [(24, 24, 0), (48, 48, 30), (91, 46, 30)])
def test_rounds_double_until_the_budget_is_spent(never_settled, most, sweeps, burn):
    posterior = small(**AUTO, max_sweeps=most).fit(*sloped()).posterior_
    assert posterior.run.t == pytest.approx(sweeps, abs=2)
    assert posterior.plan.burn == pytest.approx(burn, abs=2)
    assert posterior.run.n_draws == 8


@pytest.mark.parametrize(("rhat", "sweeps"), [(np.inf, 96), (0.0, 48)])
def test_chains_that_are_close_get_one_more_round(never_settled, monkeypatch, rhat, sweeps):
    """Within the default budget only: one that was given is kept."""
    monkeypatch.setattr(settings, "MOST_SWEEPS", 48)
    monkeypatch.setattr(settings, "FEWEST_SWEEPS", 1)
    monkeypatch.setattr(diagnostics, "RHAT_CLOSE", rhat)
    assert small(**AUTO).fit(*sloped()).posterior_.run.t == pytest.approx(sweeps, abs=7)
    given = small(**AUTO, max_sweeps=48).fit(*sloped())
    assert given.posterior_.run.t == pytest.approx(48, abs=2)


@pytest.mark.parametrize(
    ("rows", "steps", "most"),
    [(500, 100, 5000), (1000, 50, 7500), (1000, 200, 3000), (2500, 100, 2000), (10**6, 200, 1200)],
)
def test_the_budget_takes_about_as_long_for_any_table_and_trajectory(rows, steps, most):
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
def test_a_fit_that_was_stopped_in_any_round_ends_the_same(never_settled, tmp_path, sweeps):
    X, y = sloped()
    given = {**AUTO, "max_sweeps": 48, "checkpoint": tmp_path}
    with pytest.raises(Stop):
        small(**given, progress=stop_at(sweeps)).fit(X, y)
    found = small(**given).fit(X, y)
    whole = small(**AUTO, max_sweeps=48).fit(X, y)
    assert np.array_equal(found.predict(X), whole.predict(X))
    assert np.array_equal(load(tmp_path).predict(X), whole.predict(X))


def test_an_interrupt_keeps_the_draws_of_the_last_round(never_settled):
    model = small(**AUTO, max_sweeps=48, progress=stop_at(25, KeyboardInterrupt)).fit(*sloped())
    assert model.posterior_.run.t == 24
    assert model.posterior_.run.n_draws == 8


def test_a_budget_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="max_sweeps must be a whole number"):
        small(**AUTO, max_sweeps=0).fit(*sloped())
