"""The page as a whole: self-contained, well formed, escaped, and there for every input."""

import numpy as np
import pytest

from deepnoise.report import report
from tests.estimators.toy import Line
from tests.report.pages import EVIL, LEVELS, NUMBER, SOURCE, TARGET, fitted, parsed, table

SECTIONS = {"fitted", "scores", "calibration", "sharpness", "densities", "worst"}
SECTIONS |= {"verdict", "above", "effects", "influence", "split", "convergence", "again"}
LARGEST = 3_000_000


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def html(model):
    return report(model, *table(25, 1), target=TARGET, source=SOURCE)


@pytest.fixture(scope="module")
def plain(model):
    return report(model, *table(25, 1))


def check(html):
    """What every page must be; the parsed page."""
    page = parsed(html)
    assert not page.broken
    assert not page.open
    assert not page.handlers
    assert page.tags["script"] == page.tags["img"] == page.tags["iframe"] == 0
    assert all(address.startswith(("#", "data:,")) for address in page.addresses)
    assert {address[1:] for address in page.addresses if address[0] == "#"} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.targets) <= set(page.ids)
    assert page.tags["caption"] == page.tags["table"]
    assert len(html.encode()) < LARGEST
    assert "nan" not in page.text.lower().split()
    return page


def test_everything_is_there(html):
    page = check(html)
    assert set(page.ids) >= SECTIONS
    assert page.tags["h1"] == 1
    assert page.tags["svg"] >= 12


def test_markup_is_shown_as_text(html):
    page = check(html)
    assert EVIL not in html
    for name in (NUMBER, *LEVELS, TARGET, SOURCE):
        assert name in page.text


def test_without_outcomes_there_are_no_scores(model):
    page = check(report(model, table(25, 1)[0], target="weight", source="new.csv"))
    assert not {"scores", "calibration", "sharpness", "worst"} & set(page.ids)
    assert {"densities", "influence", "convergence"} <= set(page.ids)
    assert "new.csv has no column weight" in page.text


def test_one_row(model):
    X, y = table(1, 1)
    page = check(report(model, X, y))
    assert "too few to judge calibration" in page.text
    assert "Row 1" in page.text


def test_many_rows_are_sampled_and_the_page_says_so(model):
    X, y = table(1000, 1)
    page = check(report(model, X, y, rows=25))
    assert "The table has 1,000 rows; this page is about 25 rows of them" in page.text
    assert "drawn at random" in page.text


def test_rows_to_show(model):
    shown = (3, 5, 8, 13, 21, 24)
    page = check(report(model, *table(25, 1), show=shown))
    assert {name for name in page.ids if name.startswith("row-")} == {
        f"row-{n}-title" for n in shown
    }
    with pytest.raises(ValueError, match="show must be rows from 1 to 25; got 26"):
        report(model, *table(25, 1), show=(26,))


def test_a_method_without_draws():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for standardize in (True, False):
        line = Line(standardize=standardize, random_state=0).fit(X, X[:, 0])
        page = check(report(line, X, X[:, 0]))
        assert {"scores", "densities", "again"} <= set(page.ids)
        assert not {"convergence", "influence", "split"} & set(page.ids)
        assert "x1" in page.text


def test_constant_outcomes_and_an_outlier(model):
    X, y = table(25, 1)
    check(report(model, X, np.full(25, 50.0), show=(1, 2, 3, 4, 5, 6)))
    y[3] = 1e9
    assert "Row 4" in check(report(model, X, y, show=(4, 1, 2, 3, 5, 6))).text


def test_what_cannot_be_reported(model):
    X, y = table(25, 1)
    with pytest.raises(ValueError, match="y must have one value for each of 25 rows"):
        report(model, X, y[:-1])
    with pytest.raises(ValueError, match="y must be finite"):
        report(model, X, np.where(np.arange(25) == 3, np.nan, y))
    with pytest.raises(ValueError, match="columns missing"):
        report(model, X[[NUMBER]], y)
    line = Line(random_state=0).fit(X[[NUMBER]], np.c_[y, y])
    with pytest.raises(ValueError, match="one outcome; the model has 2"):
        report(line, X[[NUMBER]])


def test_polars(model, plain):
    polars = pytest.importorskip("polars")
    X, y = table(25, 1)
    frame = polars.DataFrame({name: X[name].tolist() for name in X})
    text, same = parsed(report(model, frame, y)).text, parsed(plain).text
    assert "A sample." not in same
    assert text[text.index("At a glance") :] == same[same.index("At a glance") :]


@pytest.mark.parametrize("every", [3, 1], ids=["some", "all"])
def test_rows_with_gaps(model, every):
    X, y = table(25, 1)
    X.loc[::every, NUMBER] = np.nan
    page = check(report(model, X, y))
    assert ("Every row has missing values" in page.text) == (every == 1)
