"""What single sections say, on data for which it is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from deepnoise.inference.diagnostics import VERDICTS
from deepnoise.prediction import metrics
from deepnoise.prediction.comparison import one_density
from deepnoise.prediction.credible import Band
from deepnoise.prediction.density.mixture import PredictiveMixture
from deepnoise.prediction.influence import Effects, Influence, LevelEffects
from deepnoise.report import calibration, convergence, rows, svg, words
from deepnoise.report.case import judged_rows, make_case
from deepnoise.report.influence import influences, leading, lines, split
from deepnoise.report.page import overall
from deepnoise.report.scores import scores, width_groups, width_reading
from tests.estimators.toy import Line
from tests.report.pages import NUMBER, fitted, table

UNIFORM = (np.arange(200) + 0.5) / 200


@pytest.fixture(scope="module")
def case():
    return make_case(fitted(), *table(25, 1))


@pytest.mark.parametrize(
    ("pit", "status"),
    [
        (UNIFORM, "good"),
        (stats.norm.cdf(2 * stats.norm.ppf(UNIFORM)), "narrow"),
        (stats.norm.cdf(stats.norm.ppf(UNIFORM) / 2), "wide"),
        (stats.norm.cdf(stats.norm.ppf(UNIFORM) / 2 + 0.4), "biased"),
        (UNIFORM[:19], "unknown"),
    ],
)
def test_verdicts_on_calibration(pit, status):
    assert calibration.judge(pit)[0] == status


def test_coverage_table():
    lines = calibration.table(np.abs(2 * UNIFORM - 1))
    assert [line.reading for line in lines] == ["as promised"] * 4
    lines = calibration.table(np.full(200, 0.93))
    assert [line.reading for line in lines] == ["too few", "too few", "too few", "too many"]


def test_scores_are_those_of_the_metrics(case):
    found = scores(case)
    values = {line.name: line.own for line in found.lines}
    y = case.seen[:, 0]
    for name in ("rmse", "nll", "crps"):
        assert values[name.upper()] == words.number(getattr(metrics, name)(case.density, y))
    turned = scores(make_case(Line().fit(*table(30, 0)), case.X, 2 * y.mean() - y))
    assert turned.status == "worse"
    assert "Worse than ignoring all columns" in turned.summary


def test_noise_is_not_called_useful():
    """The page of issue 21: independent normal columns, a log-normal outcome of its own."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(160, 3)), np.exp(rng.normal(size=160))
    # A density that follows the outcomes and asks no column: far better than one Gaussian.
    skewed = one_density(y[:80], 80)
    page = make_case(Line(random_state=0).fit(X[:80], y[:80]), X[80:], y[80:])
    found = scores(replace(page, density=skewed))
    gaussian = stats.norm.logpdf(y[80:], y[:80].mean(), y[:80].std())
    assert np.mean(skewed.log_prob(y[80:]) - gaussian) > 0.3
    assert found.status in ("same", "worse")
    assert overall(found.status, "good", "settled", "").kind == "bad"


def test_a_line_is_told_that_it_is_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=160)
    page = make_case(Line(random_state=0).fit(X[:80], y[:80]), X[80:], y[80:])
    assert scores(page).status in ("line", "beaten")
    bent = np.abs(X[:, 0]) + 0.1 * rng.normal(size=160)
    page = make_case(Line(random_state=0).fit(X[:80], bent[:80]), X[80:], bent[80:])
    right = PredictiveMixture.of(np.abs(X[80:, :1])[:, None], np.full((1, 1, 1, 1), 0.01))
    assert scores(replace(page, density=right)).status == "useful"
    assert scores(make_case(page.model, X[80:85], bent[80:85])).status == "unknown"


def test_one_verdict_with_a_next_step():
    assert overall("useful", "good", "settled", "") == overall("useful", "good", None, "")
    assert overall("useful", "good", "settled", "").kind == "good"
    assert overall("useful", "narrow", "settled", "").kind == "bad"
    assert overall("useful", "good", "moving", "run on").next_step == "run on"
    assert overall("useful", "good", "broken", "stop").headline == "Do not use this model"
    assert overall(None, None, "settled", "").kind == "warn"
    for status in ("useful", "line", "beaten", "same", "worse", "unknown"):
        assert overall(status, "good", "settled", "").next_step.endswith(".")


def test_sharpness_sees_the_link():
    width = np.linspace(1, 2, 60)
    assert "as they should" in width_reading(width, width**2)
    assert "distrust" in width_reading(width, -width)
    assert "equally wide" in width_reading(np.ones(60), width)
    assert "Too few" in width_reading(width[:5], width[:5])
    groups = width_groups(width, width)
    assert [group.name for group in groups] == ["narrowest", "middle", "widest"]
    assert float(groups[0].error) < float(groups[2].error)


def test_worst_rows_come_first(case):
    y = case.seen[:, 0].copy()
    y[[7, 3]] = 900.0, 2000.0
    labels = [f"id {n}" for n in range(25)]
    found = rows.worst(make_case(case.model, case.X, y, labels=labels))
    assert [row.name for row in found.rows[:2]] == ["Row 4 (id 3)", "Row 8 (id 7)"]
    assert f"</span> {words.number(case.X[NUMBER].iloc[3])}</span>" in found.rows[0].features
    assert found.rows[0].where.startswith("above ")
    assert rows.side(0.02) == f"below {words.percent(0.98)} of the density"


def test_influence_and_split(case):
    found, theirs = influences(case), case.model.influence(case.X)
    effects = theirs.on_mean
    order = np.argsort(-effects.size)
    columns = [feature for feature in found.features if feature.bar]
    assert [feature.name for feature in columns] == [theirs.columns[j] for j in order]
    for feature, j in zip(columns, order, strict=True):
        assert feature.mean.startswith(words.number(effects.size[j], 3))
        assert ("in the noise" in feature.mean) == (not effects.clear[j])
    assert leading([], 3) == "No column moves the prediction by more than noise would."
    assert leading(["a", "b"], 3).startswith("a and b move the prediction by more than noise")
    assert leading(["a"], 3).endswith("; the other columns cannot be told from noise.")
    assert leading(list("abcdef"), 9).startswith("a, b, c, d, e and others move")
    assert leading(list("abc"), 3).startswith("All 3 columns")
    parts = split(case)
    shares = [float(part.share.removeprefix("under ")[:-1]) for part in parts.sources]
    assert sum(shares) == pytest.approx(100, abs=1)
    variance = case.model.decompose(case.X)
    epistemic = np.mean(variance.epistemic / (variance.epistemic + variance.aleatoric))
    assert parts.sources[0].share == words.percent(float(epistemic))


def test_levels_stand_below_their_column_and_signs_are_shown(case):
    levels = Band(np.array([-1.0, 2.0]), np.array([-2.0, 1.0]), np.array([0.5, 3.0]))
    sizes, floors = np.array([4.0, 1.0]), np.array([1.0, 2.0])
    signed = Band(*(np.array([np.nan, end]) for end in (0.5, -0.25, 1.5)))
    effects = Effects(sizes, floors, signed)
    of_levels = {"colour": LevelEffects(("blue", "red"), levels, levels)}
    columns = ("colour", "size")
    found = Influence((), sizes, levels, levels, columns, effects, effects, of_levels, 0.95)
    colour, red, blue = lines(found, 0, 4.0)
    assert [colour.name, red.name, blue.name] == ["colour", "colour = red", "colour = blue"]
    assert [colour.interval, red.interval] == ["by level", "+2 (1 to 3)"]
    assert blue.interval == f"{words.number(-1.0, 3)} ({words.number(-2.0, 3)} to 0.5)"
    (size,) = lines(found, 1, 4.0)
    assert size.mean == "1, in the noise"
    assert "bar noise" in size.bar


def test_every_status_has_a_meaning(case):
    assert set(convergence.MEANING) == set(VERDICTS)
    found = convergence.convergence(case)
    assert found.status == case.model.diagnostics_.status
    assert len(found.chains) == 2
    assert len(found.traces) == 4


def test_chains_average_to_the_whole(case):
    one = case.density[0]
    grid = np.linspace(20, 90, 30)
    parts = np.mean([part.pdf_grid(grid) for part in convergence.by_chain(one, 2)], axis=0)
    wide = stats.norm.pdf(grid, one.mean(), case.model.rows_.y.std() * case.model.units_.y.scale[0])
    guard = case.model.guard
    assert np.allclose((1 - guard) * parts + guard * wide, one.pdf_grid(grid))
    alone = PredictiveMixture.of([[[0.0], [1.0], [2.0], [3.0]]], np.ones((1, 4, 1, 1)))
    assert convergence.by_chain(alone, 2)[1].mean() == pytest.approx([2.5])


def test_a_million_rows():
    chosen = judged_rows(1_000_000, 500, (1_000_000,))
    assert len(chosen) in (500, 501)
    assert chosen[-1] == 999_999
    assert (np.diff(chosen) > 0).all()
    assert np.array_equal(judged_rows(7, 500, ()), np.arange(7))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345.678, "12,346"),
        (0.00012345, "0.0001234"),
        (-3.10, "−3.1"),
        (0, "0"),
        (1e-9, "1e−09"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
    ],
)
def test_numbers(value, text):
    assert words.number(value) == text


def test_words():
    assert words.percent(0.0312) == "3.1\N{NO-BREAK SPACE}%"
    assert words.percent(1e-6) == "under 0.1\N{NO-BREAK SPACE}%"
    assert words.counted(1, "row") == "1 row"
    assert words.counted(1_000_000, "row") == "1,000,000 rows"
    assert words.functional("sd[167]") == "spread at training row 168"
    assert words.functional("log_density[0,1]") == "log density at training row 1, outcome 2"


@pytest.mark.parametrize("ends", [(0, 1), (-3.7, 1234.5), (1e-6, 2e-6), (-5, -4.99)])
def test_ticks_are_round_and_inside(ends):
    ticks = svg.Axis(*ends, 0, 100).ticks(6)
    assert 2 <= len(ticks) <= 7
    step = np.diff(ticks)
    assert np.allclose(step, step[0])
    assert ticks[0] >= ends[0] - 1e-9 * abs(ends[0])
    assert ticks[-1] <= ends[1] + 1e-9 * abs(ends[1])


@pytest.mark.parametrize("ends", [(0.02, 3.15), (0.1, 3.3), (-0.4, 3.9), (19, 79)])
def test_an_axis_has_enough_ticks_to_be_read(ends):
    assert 3 <= len(svg.Axis(*ends, 0, 100).ticks(4)) <= 4


def test_bands_of_single_rows_are_not_cut_unless_they_dwarf_the_curves():
    heights = np.array([[1.0, 3.0], [2.0, 1.0]])
    for upper, top in ((2.0, 3.0), (5.0, 5.0), (40.0, 6.0)):
        band = Band(heights, 0 * heights, np.full((2, 2), upper))
        assert rows.tallest(heights, band) == top
    assert rows.tallest(heights, None) == 3.0


def test_drawings_escape_and_survive_flat_data():
    plot = svg.panel((2, 2), (0, 0))
    assert plot.x.high > plot.x.low
    drawn = svg.drawing("a", "<b>", [svg.axes(plot, "<i>", '"&'), svg.text(0, 0, "<u>", "tick")])
    assert "<b>" not in drawn
    assert "<i>" not in drawn
    assert "&lt;u&gt;" in drawn
