"""Models of times: the axis is time, not its logarithm."""

import numpy as np
import pytest

from deepnoise import BDeepNoiseSurvival
from deepnoise.explore.engine import Engine
from deepnoise.explore.page import facts, picture
from deepnoise.explore.scenario import make_table
from deepnoise.explore.server import MOMENTS, sheet
from tests.estimators.toy import PLAIN

LIMIT = 900.0


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(60, 1))


@pytest.fixture(scope="module")
def model(rows):
    time = np.exp(5 + rows[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60))
    sizes = {"hidden": (2,), "chains": 2, "warmup": 40, "draws": 20, "random_state": 0}
    seen = (np.minimum(time, LIMIT), time <= LIMIT)
    return BDeepNoiseSurvival(**sizes, **PLAIN).fit(rows, seen)


@pytest.fixture(scope="module")
def engine(model, rows):
    return Engine(model, rows)


@pytest.fixture(scope="module")
def answer(model, engine, rows):
    controls = make_table(model, rows)
    return engine.answer(controls.encoded([controls.start(1), controls.start(2)]), 200.0)


def test_the_axis_is_time_and_ends_with_the_longest(engine):
    grid = engine.outcome.grid
    assert 0 < grid[0] < 10
    assert LIMIT < grid[-1] < 1.1 * LIMIT


def test_the_curve_is_a_density_of_time(model, engine, rows, answer):
    grid = engine.outcome.grid
    inside = np.trapezoid(answer.pdf, grid, axis=1)
    ends = model.survival_bands(rows[:2], [grid[0], grid[-1]]).mean
    assert np.allclose(inside, ends[:, 0] - ends[:, 1], atol=0.03)


def test_numbers_are_those_of_the_model(model, rows, answer):
    draws = model.survival_bands(rows[:2], [200.0], level=0.9)
    assert np.allclose(answer.above[:, 0], draws.mean[:, 0], atol=0.03)
    assert np.allclose(answer.above[:, 1:].T, [draws.lower[:, 0], draws.upper[:, 0]], atol=0.06)
    assert np.allclose(answer.quantiles[:, 1], model.predict(rows[:2]), rtol=0.1)


def test_words_speak_of_time(engine, answer):
    assert dict(facts(answer, 0, 200.0, engine.outcome.symbol)).keys() >= {"P(time ≥ 200)"}
    assert "P(time ≥ 200)" in picture(answer, engine.outcome, 200.0, "days", 700)


def test_times_have_no_mean_in_the_sheet(model, engine, rows, answer):
    controls = make_table(model, rows)
    text = sheet(controls, [controls.start(1)] * 2, answer, 200.0, engine.draws)
    assert not set(MOMENTS) & set(text.splitlines()[0].split(","))


def test_a_threshold_is_a_time(model, engine, rows):
    controls = make_table(model, rows)
    with pytest.raises(ValueError, match="c must be a time above 0"):
        engine.answer(controls.encoded([controls.start(1)]), 0.0)
