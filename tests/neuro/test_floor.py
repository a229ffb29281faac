"""The floor of influence: what chance allows, and who stands above it."""

import numpy as np
import pandas as pd
import pytest

from deepnoise.studies.neuro import findings
from deepnoise.studies.neuro.figures import painted
from deepnoise.studies.neuro.fit import (
    Floor,
    NeuroPlan,
    dealt,
    features,
    fit_splits,
    floor_of,
    influence_floor,
)
from deepnoise.studies.neuro.tables import influence_table, region_table
from tests.neuro import toy
from tests.neuro.hand import table_of

MODEL = {"hidden": (5,), "chains": 2, "warmup": 300, "draws": 100, "progress": False}


@pytest.mark.parametrize("regions", [8, 90])
def test_regions_without_influence_seldom_stand_out(regions):
    rng = np.random.default_rng(regions)
    chance = rng.lognormal(sigma=0.5, size=(2000, 2, regions))
    above = [real.max() > floor_of(dealt_out).most for real, dealt_out in chance]
    # At most 0.05 by Bonferroni; binomial sd 0.005, false alarm 1e-4.
    assert 0.02 < np.mean(above) < 0.068


def test_floors_of_nothing():
    assert floor_of(np.zeros(5)) == Floor(0.0, 0.0)
    assert floor_of(np.array([0.3])) == Floor(0.3, np.inf)
    assert np.isfinite(floor_of(np.array([0.0, 0.1, 0.2])).most)


def cohort(rows=80):
    """One region decides."""
    rng = np.random.default_rng(0)
    imaging = rng.normal(size=(rows, 8))
    return table_of(2 * imaging[:, 3] + 0.3 * rng.normal(size=rows), imaging)


def test_images_are_dealt_whole_among_training_subjects():
    table, train = cohort(), np.arange(60)
    X = features(table, train, images=True)
    shuffled = dealt(X, table, train, seed=0)
    names = list(table.imaging.columns)
    assert set(map(tuple, shuffled[names].to_numpy()[:60])) == set(
        map(tuple, X[names].to_numpy()[:60])
    )
    assert (shuffled[names].to_numpy()[:60] != X[names].to_numpy()[:60]).any(axis=1).mean() > 0.9
    pd.testing.assert_frame_equal(shuffled.iloc[60:], X.iloc[60:])
    pd.testing.assert_series_equal(shuffled["age"], X["age"])


def test_the_region_that_decides_stands_out():
    table, plan = cohort(), NeuroPlan(test_share=0.25, opponents=(), model=MODEL)
    fit = next(fit_splits(table, plan, str))
    floor, found = influence_floor(table, plan, fit, str), influence_table([fit], toy.NAMES)
    regions = region_table(found, toy.atlas(), floor).set_index("region")
    assert regions["mean_above_floor"][toy.NAMES[3]]
    assert 0 < floor["mean"].typical < floor["mean"].most
    # Which others pass a floor of one deal is chance; half of the strongest is above them all.
    strong = regions["mean"][toy.NAMES[3]]
    floor["mean"] = Floor(floor["mean"].typical, strong / 2)
    regions = region_table(found, toy.atlas(), floor)
    verdict = findings.standing_out(regions, floor["mean"])
    assert verdict.status == "1 of 8 do"
    assert f"Above it: {toy.NAMES[3]}." in verdict.text
    image = painted(regions, toy.atlas(), "mean", floor["mean"].most)
    seen = np.unique(toy.atlas().region[np.asarray(image.dataobj) > 0])
    assert list(seen) == [3]


def test_words_where_none_stands_out():
    regions = pd.DataFrame({"region": ["a", "b"], "mean_above_floor": [False, False]})
    verdict = findings.standing_out(regions, Floor(0.08, 0.13))
    assert verdict.status == "none does"
    assert "middle region has an influence of 0.08" in verdict.text
    assert "up to 0.13" in verdict.text
    single = findings.standing_out(regions, Floor(0.08, np.inf))
    assert single.status == "cannot be told"


def test_words_where_many_stand_out():
    names = list("abcdefg")
    regions = pd.DataFrame({"region": names, "mean_above_floor": [True] * 7})
    text = findings.standing_out(regions, Floor(0.08, 0.13)).text
    assert text.endswith("Above it: a, b, c, d, e and 2 more.")
