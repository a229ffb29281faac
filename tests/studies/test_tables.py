"""Tables from rows whose means, errors and tests are known."""

import math

import numpy as np
import pytest
from scipy import stats

from deepnoise.studies.tables import published, render, tables, tied


def rows(method, values, name="wine", metric="rmse"):
    return [
        {
            "method": method, "set": name, "split": k, "seed": 0, "settings_hash": "h",
            "fit_seconds": 2.0, "memory_mib": 100.0, "metrics": {metric: value},
        }
        for k, value in enumerate(values)
    ]  # fmt: skip


RNG = np.random.default_rng(0)
BASE = RNG.normal(0.6, 0.1, 10)
CLOSE = BASE + RNG.normal(0, 0.01, 10)
WORSE = BASE + 0.05


def only(found, metric="RMSE"):
    return next(table for table in found if table.title == metric)


def test_cells_are_means_with_their_errors():
    table = only(tables(rows("de", BASE)))
    cell = table.cells["wine", "DE"]
    assert cell.mean == pytest.approx(BASE.mean())
    assert cell.error == pytest.approx(stats.sem(BASE))
    assert (cell.count, cell.best, cell.tied) == (10, True, False)


def test_best_and_tied_follow_from_paired_tests():
    table = only(tables(rows("de", BASE) + rows("bp", CLOSE) + rows("vi", WORSE)))
    flags = {name: (c.best, c.tied) for (_, name), c in table.cells.items() if c.count}
    better = "DE" if BASE.mean() < CLOSE.mean() else "BP"
    other = {"DE": "BP", "BP": "DE"}[better]
    # Unpaired, the difference of VI would drown in the spread of the splits.
    assert stats.ttest_ind(BASE, WORSE).pvalue > 0.05
    assert flags == {better: (True, False), other: (False, True), "VI": (False, False)}


def test_fewer_splits_never_win_and_are_said():
    few = rows("de", BASE) + rows("bp", BASE[:2] - 0.5)
    table = only(tables(few))
    assert table.cells["wine", "DE"].best
    assert "[2]" in render(table, "markdown")


def test_an_infinite_split_makes_the_mean_infinite():
    (table, *_) = [t for t in tables(rows("de", [1.0, None], metric="wepi95")) if "WEPI" in t.title]
    assert math.isinf(table.cells["wine", "DE"].mean)
    assert "∞" in render(table)
    assert r"$\infty$" in render(table, "latex")


def test_a_score_that_only_some_sets_have():
    found = rows("de", BASE) + rows("de", BASE, "naval", "lattice_nll")
    table = only(tables(found), "NLL of the interval mass")
    for style in ("text", "markdown", "latex"):
        assert "naval" in render(table, style)
        assert "wine" not in render(table, style)


def test_failed_rows_are_left_out():
    failed = {**rows("bp", [1.0])[0], "error": "ValueError: no", "metrics": None}
    table = only(tables([*rows("de", BASE), failed]))
    assert ("wine", "BP") not in table.cells


def test_published_numbers_stand_beside():
    table = only(tables(rows("de", BASE)))
    assert table.cells["wine", "paper B-DeepNoise"].mean == 0.63
    assert published("rmse")["best published"]["yacht"] == 0.42
    # Cells of the paper that repeat its NLL are slips.
    assert "wine" not in published("wepi95")["paper B-DeepNoise"]
    assert published("l1")["paper DE"]["skewed-2000"] == 100


def test_the_three_styles():
    table = only(tables(rows("de", BASE) + rows("vi", WORSE)))
    text, markdown, latex = (render(table, style) for style in ("text", "markdown", "latex"))
    best = f"{BASE.mean():.3g} ({stats.sem(BASE):.1g})"
    assert f"*{best}" in text
    assert f"**{best}**" in markdown
    assert rf"\textbf{{{best}}}" in latex
    assert len({line.count("|") for line in markdown.splitlines()}) == 1
    with pytest.raises(ValueError, match="style"):
        render(table, "html")


def test_costs_and_coverage_are_not_ranked():
    found = tables(rows("de", BASE) + rows("vi", WORSE, metric="coverage95"))
    for title in ("seconds of a fit", "coverage of central 95 % intervals"):
        assert not any(cell.best for cell in only(found, title).cells.values())


def test_the_same_numbers_cannot_be_told_apart():
    one = dict(enumerate(BASE))
    assert tied(one, dict(one), 0.0)
    assert not tied(one, {k: v + 1 for k, v in one.items()}, 0.0)


def test_one_common_split_says_nothing():
    assert not tied({0: 1.0}, {0: 1.0, 1: 3.0}, 0.0)
    assert not tied({0: 1.0, 1: 2.0}, {2: 1.0, 3: 2.0}, 0.0)


def test_without_overlap_it_is_the_paired_t_test_and_overlap_asks_for_more():
    found = []
    for shift in np.linspace(0, 0.02, 41):
        one, other = dict(enumerate(BASE)), dict(enumerate(CLOSE + shift))
        plain = stats.ttest_rel(BASE, CLOSE + shift).pvalue < 0.05
        assert tied(one, other, 0.0) != plain
        found.append((plain, not tied(one, other, 1 / 9)))
    assert {(False, False), (True, False), (True, True)} == set(found)
