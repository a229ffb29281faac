"""What the explorer computes and shows, without its server."""

import copy
import csv
import io
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest

from deepnoise.explore import engine as engines
from deepnoise.explore.engine import PATHS, Engine
from deepnoise.explore.page import NARROWEST, WIDEST, chance, facts, picture, tallest
from deepnoise.explore.scenario import make_table
from deepnoise.explore.server import COLUMNS, MOMENTS, sheet
from deepnoise.prediction import credible
from tests.estimators.toy import Line
from tests.report.pages import EVIL, LEVELS, NUMBER, TARGET, TEXT, fitted, table

C = 52.0


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def X():
    return table(25, 1)[0]


@pytest.fixture(scope="module")
def engine(model, X):
    return Engine(model, X)


@pytest.fixture(scope="module")
def controls(model, X):
    return make_table(model, X)


@pytest.fixture(scope="module")
def answer(engine, controls):
    return engine.answer(controls.encoded([controls.start(1), controls.start(2)]), C)


def test_answers_are_those_of_the_model(model, X, engine, answer):
    densities = model.predictive_.draw_densities(model.encoded_rows(X[:2]))
    densities = replace(densities, paths=20 * PATHS)
    grid = engine.outcome.grid
    bands = credible.bands(densities, grid, engines.LEVEL, [0.5])
    for ours, theirs in ((answer.pdf, bands.pdf.mean), (answer.lower, bands.pdf.lower)):
        assert np.allclose(ours, theirs, atol=0.04 * theirs.max())
    above = credible.above(densities, C, engines.LEVEL)
    assert np.allclose(answer.above.T, [above.mean, above.lower, above.upper], atol=0.03)
    inside = np.trapezoid(answer.pdf, grid, axis=1)
    assert np.allclose(inside, 1, atol=0.02)
    assert (np.diff(answer.quantiles, axis=1) > 0).all()
    assert engine.thinning == ""


def test_other_noise_gives_nearly_the_same_curve(engine, controls):
    encoded = controls.encoded([controls.start(1), controls.start(2)])
    found, noisy = [], copy.copy(engine)
    draws = engine.densities.draws
    much = replace(draws, tau2=(1000 * np.asarray(draws.tau2[0]), *draws.tau2[1:]))
    for seed in (1, 2):
        noisy.densities = replace(engine.densities, draws=much, key=jax.random.key(seed))
        found.append(noisy.answer(encoded, C).pdf)
    assert np.abs(found[0] - found[1]).max() < 0.025 * found[0].max()


def test_narrow_densities_of_large_numbers():
    grid, means, sds = 2e6 + np.linspace(0, 1, 50), np.array([[2e6 + 0.5]]), np.array([0.05])
    exact = np.exp(-np.square((grid - means[0, 0]) / 0.05) / 2) / (0.05 * np.sqrt(2 * np.pi))
    assert np.allclose(engines.curves(means, sds, grid)[0], exact, atol=1e-4 * exact.max())


def test_large_posteriors_are_thinned_and_it_is_said(model, X, monkeypatch):
    monkeypatch.setattr(engines, "DRAWS", 10)
    thin = Engine(model, X)
    assert thin.draws == 10
    assert thin.model.posterior_.draws.gamma[0].shape[:2] == (2, 5)
    assert "uses 10 of 40 draws" in thin.thinning
    assert model.posterior_.run.n_draws == 20


def test_a_method_without_draws():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    line = Line(random_state=0).fit(rows, rows[:, 0] + 0.1 * rows[:, 1])
    engine, controls = Engine(line, rows), make_table(line, rows)
    found = engine.answer(controls.encoded([controls.start(1), controls.start(2)]), 0.0)
    assert np.allclose(found.moments[:, 0], line.predict(rows[:2]))
    assert np.allclose(found.above[:, 0], line.predict_density(rows[:2]).probability_above(0.0))
    assert "(" not in chance(found, 0, 0.0, "y").split("=")[1]
    assert len(facts(found, 0, 0.0, "y")) == 3


def test_a_recalibrated_model_is_explored_as_it_predicts():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    line = Line(random_state=0).fit(rows, rows[:, 0] + 0.1 * rows[:, 1])
    line.stretch_ = 3.0
    controls = make_table(line, rows)
    found = Engine(line, rows).answer(controls.encoded([controls.start(1)]), 0.0)
    assert np.allclose(found.moments[:, 1], np.sqrt(line.predict_density(rows[:1]).var()))


def test_controls_stand_for_rows(model, X, controls):
    assert controls.start(1) == [X[NUMBER][0], X[TEXT][0]]
    assert controls.start(10**6) == controls.start(25)
    assert controls.start(-3) == controls.start(1)
    rows = [controls.start(1), controls.start(2), [None, None]]
    gaps = pd.DataFrame({NUMBER: [np.nan], TEXT: pd.Series([None], dtype=object)})
    encoded = model.encoder_.encode(pd.concat([X[:2], gaps]), "nan")
    assert np.array_equal(controls.encoded(rows), encoded, equal_nan=True)


def test_ranges_are_those_of_the_data(model, X, controls):
    number, text = controls.controls
    trained = table(30, 0)[0][NUMBER]
    assert number.low == pytest.approx(min(X[NUMBER].min(), trained.min()), rel=1e-5)
    assert number.high == pytest.approx(max(X[NUMBER].max(), trained.max()), rel=1e-5)
    assert (number.high - number.low) / number.step == pytest.approx(500, rel=0.9)
    assert text.levels == tuple(sorted(LEVELS))


def test_whole_numbers_move_in_whole_steps(model, X):
    control = make_table(model, X.assign(**{NUMBER: np.arange(25.0)})).controls[0]
    assert (control.low, control.high, control.step) == (0, 24, 1)


def test_columns_that_do_not_vary():
    rows = np.c_[np.arange(10.0), np.full(10, 0.5), np.full(10, 3.0)]
    found = make_table(Line().fit(rows, rows[:, 0]), rows).controls
    assert [(c.low, c.high, c.step) for c in found[1:]] == [(0.5, 0.5, 0.001), (3, 3, 1)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0], "a scenario has 2 values"),
        ("ab", "a scenario has 2 values"),
        (["1", LEVELS[0]], "'1' is not a number"),
        ([True, LEVELS[0]], "True is not a number"),
        ([float("inf"), LEVELS[0]], "must be a finite number"),
        ([1.0, "green"], "'green' was not there when fitting"),
        ([1.0, 0], "0 was not there when fitting"),
        ([1.0, [LEVELS[0]]], "was not there when fitting"),
    ],
)
def test_values_that_a_column_cannot_have(controls, given, message):
    with pytest.raises(ValueError, match=message):
        controls.scenario(given)


@pytest.fixture(scope="module")
def line(X):
    """A method that takes no missing values."""
    return Line().fit(X, np.arange(len(X)))


def test_missing_values_only_where_the_model_takes_them(line, X, controls):
    assert controls.scenario([None, None]) == [None, None]
    assert replace(controls, X=X.assign(**{NUMBER: np.nan})).start(1) == [None, LEVELS[0]]
    with pytest.raises(ValueError, match=r"has no value\. This model takes no missing values"):
        make_table(line, X).scenario([None, LEVELS[0]])


def test_missing_values_change_the_density(engine, controls):
    start = controls.start(1)
    answer = engine.answer(controls.encoded([start, [None, start[1]]]), 0.0)
    assert np.isfinite(answer.pdf).all()
    assert np.abs(answer.pdf[0] - answer.pdf[1]).max() > 0.01 * answer.pdf.max()


def test_rows_that_the_model_cannot_take_are_no_choice(line, X):
    green, gap = X.copy(), X.copy()
    green.loc[24, TEXT] = "green"
    gap.loc[24, NUMBER] = np.nan
    with pytest.raises(ValueError, match="row 24 holds 'green'"):
        make_table(line, green)
    with pytest.raises(ValueError, match="row 24 is NaN"):
        make_table(line, gap)


@pytest.mark.filterwarnings("ignore:X. not there when fitting")
def test_a_level_that_is_not_known_is_missing(model, X):
    green = X.copy()
    green.loc[24, TEXT] = "green"
    assert make_table(model, green).start(25)[1] is None


@pytest.mark.parametrize("width", [100, 358, 760, 5000])
def test_the_picture_is_escaped_and_described(engine, answer, width):
    drawn = picture(answer, engine.outcome, C, TARGET, width)
    assert EVIL not in drawn
    assert drawn.count('class="curve ') == 2
    assert drawn.count('class="band ') == 2
    assert "Scenario B: median" in drawn
    assert "P(y ≥ 52)" in drawn
    shown = min(max(width, NARROWEST), WIDEST)
    assert f'viewBox="0 0 {shown} ' in drawn
    assert 2 <= drawn.count("tick middle") <= shown / 60


def test_bands_are_not_cut_unless_they_dwarf_the_curves(answer):
    top = answer.pdf.max()
    for factor, height in ((1.7, 1.7), (9.0, 2.0)):
        upper = factor * top * np.array([answer.pdf[0] / answer.pdf[0].max(), 0 * answer.pdf[1]])
        assert tallest(replace(answer, upper=upper)) == pytest.approx(height * top)


def test_the_sheet_holds_what_is_shown(X, engine, controls, answer):
    text = sheet(controls, [controls.start(1), [None, LEVELS[1]]], answer, C, engine.draws)
    first, second = csv.DictReader(io.StringIO(text))
    assert list(first) == ["scenario", NUMBER, TEXT, *MOMENTS, *COLUMNS, "draws"]
    assert float(first[NUMBER]) == X[NUMBER][0]
    assert first[TEXT] == X[TEXT][0]
    assert second[NUMBER] == ""
    assert float(second["p_above_c"]) == pytest.approx(answer.above[1, 0], rel=1e-5)
    assert first["draws"] == "40"
