"""Scores with their errors, paired differences, and what is concluded from them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t

from deepnoise.studies.neuro import findings
from deepnoise.studies.neuro import (
    scores as neuro_scores,
)
from deepnoise.studies.neuro.findings import with_error
from deepnoise.studies.neuro.fit import WITH, WITHOUT
from tests.neuro.hand import gaussians, split


def test_the_error_of_a_mean_is_the_textbooks():
    x = np.random.default_rng(0).normal(size=30)
    found = neuro_scores.average(x, np.arange(30))
    se = x.std(ddof=1) / np.sqrt(30)
    assert found.value == pytest.approx(x.mean())
    assert found.se == pytest.approx(se)
    assert found.upper - found.value == pytest.approx(t.ppf(0.975, 29) * se)


def test_rows_of_one_unit_count_once():
    x = np.random.default_rng(0).normal(size=30)
    once = neuro_scores.average(x, np.arange(30))
    thrice = neuro_scores.average(np.tile(x, 3), np.tile(np.arange(30), 3))
    assert thrice.se == pytest.approx(once.se)
    assert (thrice.lower, thrice.upper) == pytest.approx((once.lower, once.upper))
    inside = (x > -1).astype(float)
    assert neuro_scores.chance(inside, np.arange(30), 0.9) == neuro_scores.chance(
        np.tile(inside, 3), np.tile(np.arange(30), 3), 0.9
    )


def test_one_unit_tells_nothing_about_others():
    found = neuro_scores.average(np.arange(5.0), np.zeros(5))
    assert found.value == 2
    assert np.isnan([found.se, found.lower, found.upper]).all()


def test_outcomes_that_are_all_the_same_have_no_variance_to_explain():
    y = np.ones(4)
    fit = split(y, gaussians(y, 1), gaussians(0 * y, 1))
    assert neuro_scores.pooled_scores([fit], 0.9)[["r2", "r2_se"]].isna().all().all()


def test_intervals_of_few_subjects_hold_the_truth():
    rng = np.random.default_rng(0)
    found = [neuro_scores.average(rng.normal(size=6), np.arange(6)) for _ in range(2000)]
    held = np.mean([e.lower <= 0 <= e.upper for e in found])
    # Binomial sd 0.005; false alarm 1e-4.
    assert abs(held - 0.95) < 0.019


def test_scores_and_their_errors():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    fits = [split(y, gaussians(y, 1), gaussians(np.full(4, 1.5), 2), number=n) for n in range(2)]
    table = neuro_scores.pooled_scores(fits, 0.9).set_index("method")
    assert table.loc[WITH, ["rmse", "rmse_se"]].tolist() == [0, 0]
    assert table.loc[WITH, "r2"] == 1
    assert table.loc[WITHOUT, "r2"] == pytest.approx(0)
    assert table.loc[WITHOUT, "width"] == pytest.approx(2 * 2 * 1.6448536)
    assert table.loc[WITH, "coverage"] == 1
    assert table.loc[WITH, "chance_low"] == binom.ppf(0.025, 4, 0.9) / 4
    squares = (y - 1.5) ** 2
    rmse = np.sqrt(squares.mean())
    expected = squares.std(ddof=1) / 2 / (2 * rmse)
    assert table.loc[WITHOUT, "rmse_se"] == pytest.approx(expected)
    assert "explains 100 ± 0 % of the variance" in findings.accuracy(table.reset_index())
    by_split = neuro_scores.split_scores(fits, 0.9)
    assert list(by_split["split"]) == [1, 1, 2, 2]


def test_no_variance_explained_is_called_nothing():
    row = pd.Series({"r2": -0.14, "r2_se": 0.31})
    assert findings.explained(row) == "nothing (−14 ± 31 %)"


@pytest.mark.parametrize(
    ("value", "se", "text"),
    [
        (0.8771, 0.0613, "0.877 ± 0.061"),
        (-15.23, 0.84, "−15.23 ± 0.84"),
        (152.3, 38.2, "152 ± 38"),
        (0.5, np.nan, "0.5"),
        (3.595864228200564, 6.0e-17, "3.6"),
    ],
)
def test_numbers_with_errors(value, se, text):
    assert with_error(value, se) == text


def test_rivals_are_better_or_worse_only_if_the_subjects_say_so():
    y = np.random.default_rng(0).normal(size=60)
    rivals = {
        "near": gaussians(y * 0, 1.001),
        "worse": gaussians(y + 3, 1),
        "better": gaussians(y, 0.1),
    }
    fit = split(y, gaussians(y * 0, 1), gaussians(y, 0.1))
    fit.densities.update(rivals)
    found = neuro_scores.comparison([fit])
    crps = found[found["score"] == "CRPS"].set_index("method")
    expected = rivals["worse"].crps(y).mean() - fit.densities[WITH].crps(y).mean()
    assert crps.loc["worse", "value"] == pytest.approx(expected)
    assert crps.loc["near", "lower"] < 0 < crps.loc["near", "upper"]
    text = findings.rivalry(found)
    assert "clearly better than those of worse; they cannot be told from those of near" in text
    assert f"clearly worse than those of {WITHOUT} and better." in text


def judged(with_images, without, y, **settings):
    fit = split(y, with_images, without, **settings)
    scores = neuro_scores.pooled_scores([fit], 0.9)
    return findings.images(neuro_scores.comparison([fit]), scores)


def test_wider_intervals_alone_do_not_show_that_images_help():
    narrow, wide = gaussians(np.zeros(80), 0.9), gaussians(np.zeros(80), 1.1)
    y = np.random.default_rng(1).normal(size=80)
    # So that their NLL is the same: log s + mean square / 2 s² at s = 0.9 and 1.1.
    square = 2 * np.log(1.1 / 0.9) / (0.9**-2 - 1.1**-2)
    y *= np.sqrt(square / np.mean(y**2))
    fit = split(y, narrow, wide)
    widths = neuro_scores.width_comparison([fit], 0.9)
    assert widths["ratio_lower"] > 1.2
    scores = neuro_scores.pooled_scores([fit], 0.9)
    text = findings.widening(widths, scores, 0.9)
    assert "22 % wider" in text
    assert "information" not in text
    verdict = judged(narrow, wide, y)
    assert verdict.status == "not shown"
    assert "information" not in verdict.text


def test_images_help_where_both_scores_say_so():
    rng = np.random.default_rng(2)
    signal = rng.normal(size=80)
    y = signal + 0.5 * rng.normal(size=80)
    known, plain = gaussians(signal, 0.5), gaussians(0 * y, np.sqrt(1.25))
    assert judged(known, plain, y).status == "they carry information"
    assert judged(plain, known, y).status == "predictions are worse with them"
    one = judged(known, plain, y, units=np.zeros(80))
    assert one.status == "cannot be told"


def test_a_bad_fit_without_images_is_no_merit_of_the_images():
    rng = np.random.default_rng(3)
    y = rng.normal(size=80)
    verdict = judged(gaussians(0 * y, 1), gaussians(0 * y, 0.3), y)
    assert verdict.status == "not settled"
    assert "without images are too narrow" in verdict.text


def test_scores_that_disagree_settle_nothing():
    score = {"method": WITHOUT, "value": 0.2, "se": 0.1}
    rows = [
        {**score, "score": "NLL", "lower": 0.1, "upper": 0.3},
        {**score, "score": "CRPS", "lower": -0.1, "upper": 0.5},
    ]
    covered = {"coverage": 0.9, "chance_low": 0.8, "chance_high": 1.0}
    scores = pd.DataFrame([{"method": WITHOUT, **covered}])
    assert findings.images(pd.DataFrame(rows), scores).status == "not settled"


@pytest.mark.parametrize(
    ("sd", "status", "kind"),
    [(0.5, "too narrow", "bad"), (1.0, "as promised", "good"), (3.0, "too wide", "warn")],
)
def test_coverage_that_chance_cannot_explain(sd, status, kind):
    y = np.random.default_rng(4).normal(size=200)
    scores = neuro_scores.pooled_scores([split(y, gaussians(0 * y, sd), gaussians(0 * y, 1))], 0.9)
    found = findings.promises(scores, 0.9)
    assert (found.status, found.kind) == (status, kind)
    assert "chance alone allows 86 % to 94 %" in found.text


def test_few_subjects_allow_much():
    y = np.array([0.0, 0, 0, 0, 0, 0, 0, 3])
    scores = neuro_scores.pooled_scores([split(y, gaussians(0 * y, 1), gaussians(0 * y, 1))], 0.9)
    assert scores.loc[0, "coverage"] == 7 / 8
    assert findings.promises(scores, 0.9).status == "as promised"


@pytest.mark.parametrize(
    ("ends", "said"),
    [((0.9, 1.2), "not clearly wider"), ((0.7, 0.9), "narrower"), ((1.1, 1.3), "wider on average")],
)
def test_words_on_widths_follow_the_interval(ends, said):
    widths = {"ratio": np.mean(ends), "ratio_lower": ends[0], "ratio_upper": ends[1]}
    covered = {"coverage": 0.9, "chance_low": 0.8, "chance_high": 1.0}
    scores = pd.DataFrame([{"method": name, **covered} for name in (WITH, WITHOUT)])
    assert said in findings.widening({**widths, "share_wider": 0.5}, scores, 0.9)


def test_widths_are_not_compared_where_coverage_is_off():
    y = np.random.default_rng(5).normal(size=100)
    fit = split(y, gaussians(0 * y, 0.4), gaussians(0 * y, 1))
    scores = neuro_scores.pooled_scores([fit], 0.9)
    text = findings.widening(neuro_scores.width_comparison([fit], 0.9), scores, 0.9)
    assert "should not be compared: those with images are too narrow" in text
