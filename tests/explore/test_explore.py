"""What the explorer computes and shows, without its server."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from deepnoise.explore import engine as engines
from deepnoise.explore.engine import PATHS, Engine
from deepnoise.explore.picture import chance, facts, picture
from deepnoise.explore.scenario import make_table
from deepnoise.explore.sheet import COLUMNS, sheet
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
def answer(engine, X):
    return engine.answer(X[:2], C)


def test_answers_are_those_of_the_model(model, X, engine, answer):
    densities = replace(model._draw_densities(X[:2]), paths=PATHS)
    bands = credible.bands(densities, engine.grid, engines.LEVEL, [0.5])
    for ours, theirs in ((answer.pdf, bands.pdf.mean), (answer.lower, bands.pdf.lower)):
        assert np.allclose(ours, theirs, atol=1e-5 * theirs.max())
    above = credible.above(densities, C, engines.LEVEL)
    assert np.allclose(answer.above.T, [above.mean, above.lower, above.upper])
    inside = np.trapezoid(answer.pdf, engine.grid, axis=1)
    assert np.allclose(inside, 1, atol=0.02)
    assert (np.diff(answer.quantiles, axis=1) > 0).all()
    assert engine.thinning == ""


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
    found = engine.answer(controls.rows([controls.start(1), controls.start(2)]), 0.0)
    assert np.allclose(found.mean, line.predict(rows[:2]))
    assert np.allclose(found.above[:, 0], line.probability_above(rows[:2], 0.0))
    assert "(" not in chance(found, 0, 0.0).split("=")[1]
    assert len(facts(found, 0, 0.0)) == 3


def test_sliders_stand_for_rows(model, X):
    controls = make_table(model, X)
    rows = controls.rows([controls.start(1), controls.start(2)])
    assert rows[NUMBER].tolist() == X[NUMBER][:2].tolist()
    assert rows[TEXT].tolist() == X[TEXT][:2].tolist()
    assert np.allclose(model.predict(rows), model.predict(X[:2]))
    assert controls.start(10**6) == controls.start(25)
    assert controls.start(-3) == controls.start(1)
    number, text = controls.controls
    assert number.low <= X[NUMBER].min() < X[NUMBER].max() <= number.high
    assert (text.low, text.high, text.step) == (0.0, 1.0, 1)
    assert controls.shown(["3.25", "1"]) == ["3.25", sorted(LEVELS)[1]]


def test_whole_numbers_move_in_whole_steps(model, X):
    control = make_table(model, X.assign(**{NUMBER: np.arange(25.0)})).controls[0]
    assert control.step == 1
    assert control.low == int(control.low)


@pytest.fixture(scope="module")
def line(X):
    """A method that takes no missing values."""
    return Line().fit(X, np.arange(len(X)))


def test_missing_values_only_where_the_model_takes_them(model, line, X):
    assert not make_table(line, X).missing
    controls = make_table(model, X)
    assert controls.missing
    rows = controls.rows([[None, None], [1.0, 0]])
    assert np.isnan(rows[NUMBER][0])
    assert rows[TEXT][0] is None
    assert controls.shown([None, 0]) == ["missing", sorted(LEVELS)[0]]
    assert replace(controls, X=X.assign(**{NUMBER: np.nan})).start(1) == [None, 1.0]


def test_missing_values_change_the_density(model, engine, X):
    controls = make_table(model, X)
    start = controls.start(1)
    answer = engine.answer(controls.rows([start, [None, start[1]]]), 0.0)
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


def test_the_picture_is_escaped_and_described(engine, answer):
    drawn = picture(answer, engine.grid, C, TARGET)
    assert EVIL not in drawn
    assert drawn.count('class="curve ') == 2
    assert drawn.count('class="band ') == 2
    assert "Scenario B: median" in drawn
    assert "P(y ≥ 52)" in drawn


def test_the_sheet_holds_what_is_shown(model, X, engine, answer):
    controls = make_table(model, X)
    text = sheet(controls, [controls.start(1), [None, 1]], answer, C, engine.draws)
    first, second = csv.DictReader(io.StringIO(text))
    assert list(first) == ["scenario", NUMBER, TEXT, *COLUMNS, "draws"]
    assert float(first[NUMBER]) == X[NUMBER][0]
    assert first[TEXT] == X[TEXT][0]
    assert second[NUMBER] == ""
    assert float(second["p_above_c"]) == pytest.approx(answer.above[1, 0], rel=1e-5)
    assert first["draws"] == "40"
