"""What single sections say, on data for which it is known."""

import numpy as np
import pytest
from scipy import stats

from deepnoise.inference.diagnostics import VERDICTS
from deepnoise.prediction import metrics
from deepnoise.prediction.mixture import GaussianMixture
from deepnoise.report import calibration, convergence, sharpness, svg, words, worst
from deepnoise.report.case import judged_rows, make_case
from deepnoise.report.influence import influences, leading, split
from deepnoise.report.scores import scores
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
    assert found.better
    values = {line.name: line.value for line in found.lines}
    for name in ("rmse", "nll", "crps"):
        assert values[name.upper()] == words.number(getattr(metrics, name)(case.density, case.y))
    turned = scores(make_case(case.model, case.X, 2 * case.y.mean() - case.y))
    assert not turned.better
    assert "Worse than one Gaussian" in turned.summary
    far = scores(make_case(case.model, case.X, case.y + 1e6))
    assert not far.better
    assert "No better and no worse" in far.summary


def test_sharpness_sees_the_link():
    width = np.linspace(1, 2, 60)
    assert "as they should" in sharpness.reading(width, width**2)
    assert "distrust" in sharpness.reading(width, -width)
    assert "equally wide" in sharpness.reading(np.ones(60), width)
    assert "Too few" in sharpness.reading(width[:5], width[:5])
    groups = sharpness.groups(width, width)
    assert [group.name for group in groups] == ["narrowest", "middle", "widest"]
    assert float(groups[0].error) < float(groups[2].error)


def test_worst_rows_come_first(case):
    y = case.y.copy()
    y[[7, 3]] = 900.0, 2000.0
    found = worst.worst(make_case(case.model, case.X, y))
    assert [row.number for row in found.rows[:2]] == [4, 8]
    assert found.rows[0].features[0] == words.number(case.X[NUMBER].iloc[3])
    assert found.rows[0].where.startswith("above ")
    assert worst.where(0.02) == f"below {words.percent(0.98)} of the density"


def test_influence_and_split(case):
    found, theirs = influences(case), case.model.influence(case.X)
    scaled = theirs.mean.mean * case.model.units_.x.scale
    order = np.argsort(-scaled)
    assert [feature.name for feature in found.features] == [theirs.names[j] for j in order]
    assert [feature.mean for feature in found.features] == [
        words.number(value, 3) for value in scaled[order]
    ]
    assert leading([]).startswith("No column")
    assert leading(["a", "b"]).startswith("a and b move the prediction")
    assert leading(list("abcdef")).startswith("a, b, c, d, e and others move")
    parts = split(case)
    shares = [float(part.share.removeprefix("under ")[:-1]) for part in parts.sources]
    assert sum(shares) == pytest.approx(100, abs=1)
    variance = case.model.decompose(case.X)
    epistemic = np.mean(variance.epistemic / (variance.epistemic + variance.aleatoric))
    assert parts.sources[0].share == words.percent(float(epistemic))


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
    wide = stats.norm.pdf(grid, one.mean(), case.model._y.std() * case.model.units_.y.scale[0])
    guard = case.model.guard
    assert np.allclose((1 - guard) * parts + guard * wide, one.pdf_grid(grid))
    alone = GaussianMixture.of([[[0.0], [1.0], [2.0], [3.0]]], np.ones((1, 4, 1, 1)))
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


def test_drawings_escape_and_survive_flat_data():
    plot = svg.panel((2, 2), (0, 0))
    assert plot.x.high > plot.x.low
    drawn = svg.drawing("a", "<b>", [svg.axes(plot, "<i>", '"&'), svg.text(0, 0, "<u>", "tick")])
    assert "<b>" not in drawn
    assert "<i>" not in drawn
    assert "&lt;u&gt;" in drawn
