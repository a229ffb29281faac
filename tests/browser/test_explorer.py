"""The explorer in a real browser: controls, the line of c, keyboard, download."""

import csv

import numpy as np
import pytest

from tests.browser.conftest import serious
from tests.estimators.toy import Line
from tests.report.pages import LEVELS, NUMBER, SOURCE, TARGET, TEXT, fitted, table

expect = pytest.importorskip("playwright.sync_api").expect

CURVE = "#picture path.curve.scenario-a"


@pytest.fixture(scope="module")
def address(serve):
    return serve(fitted(), table(25, 1)[0], TARGET, SOURCE)


@pytest.fixture(scope="module")
def strict(serve):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return serve(Line(random_state=0).fit(X, X[:, 0] + rng.normal(size=40)), X)


@pytest.fixture
def explorer(address, watched):
    one = watched(address)
    one.page.wait_for_selector(CURVE)
    return one


def test_it_loads_from_here_only(explorer, address):
    assert all(request.startswith((address, "data:")) for request in explorer.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible(address, watched, scheme, width):
    page = watched(address, scheme, width).page
    page.wait_for_selector(CURVE)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_chains_are_judged_on_the_page(explorer):
    expect(explorer.page.locator("#verdict")).to_be_visible()


def test_a_slider_and_its_box_move_the_density(explorer):
    page, slider, box = explorer.page, *map(explorer.page.locator, ("#A-0-slider", "#A-0"))
    before, number = page.locator(CURVE).get_attribute("d"), box.input_value()
    slider.press("End")
    expect(box).not_to_have_value(number)
    expect(page.locator(CURVE)).not_to_have_attribute("d", before)
    expect(slider).to_have_attribute("aria-valuetext", box.input_value())
    box.fill("99")
    expect(page.locator("#A-0-outside")).to_have_text("outside the data")
    box.fill(number)
    expect(page.locator("#A-0-outside")).to_have_text("")


def test_a_row_a_copy_and_a_reset(explorer):
    page = explorer.page
    first, level = page.locator("#A-0").input_value(), page.locator("#A-1").input_value()
    page.locator("#A-row").fill("2")
    expect(page.locator("#A-1")).not_to_have_value(level)
    page.locator("#A-row").fill("1")
    expect(page.locator("#A-0")).to_have_value(first)
    page.locator("#A-0").fill("9")
    page.get_by_role("button", name="Copy A to B").click()
    expect(page.locator("#B-0")).to_have_value("9")
    expect(page.locator("#B-1")).to_have_value(level)
    page.locator("#A-reset").click()
    expect(page.locator("#A-0")).to_have_value(first)


def test_a_level_is_selected(explorer):
    page = explorer.page
    before = page.locator(CURVE).get_attribute("d")
    page.locator("#A-1").select_option(LEVELS[1])
    expect(page.locator(CURVE)).not_to_have_attribute("d", before)


def dragged(page, place: str, share: float) -> float:
    """Where on the screen the mouse let go, having dragged from the middle of a thing."""
    box = page.locator(place).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + share * box["width"], middle, steps=5)
    page.mouse.up()
    return box["x"] + share * box["width"]


@pytest.mark.parametrize("place", ["#c-slider", "#picture"])
def test_c_is_dragged(explorer, place):
    page = explorer.page
    facts, c = page.locator("#facts-A"), page.locator("#c").input_value()
    text = facts.inner_text()
    stopped = dragged(page, place, 0.7)
    expect(page.locator("#c")).not_to_have_value(c)
    expect(facts).not_to_have_text(text)
    expect(facts).to_contain_text("P(y ≥")
    # The thumb stands below the line, which every new picture draws anew.
    page.wait_for_function(
        """x => {
            const line = document.querySelector("#picture line.threshold");
            return line && Math.abs(line.getBoundingClientRect().x - x) < 10;
        }""",
        arg=stopped,
    )


def test_c_is_typed(explorer):
    page = explorer.page
    page.locator("#c").fill("51")
    expect(page.locator("#facts-B")).to_contain_text("P(y ≥ 51)")


def test_the_picture_stays_in_view_on_a_phone(address, watched):
    page = watched(address, width=390, height=844).page
    page.wait_for_selector(CURVE)
    page.locator("#B-1").scroll_into_view_if_needed()
    page.mouse.wheel(0, 10_000)
    page.wait_for_function("window.scrollY > 300")
    box = page.locator("#picture").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] < 844
    size = "parseFloat(getComputedStyle(document.querySelector('#picture text')).fontSize)"
    scale = "document.querySelector('#picture svg').getScreenCTM().a"
    assert page.evaluate(f"{size} * {scale}") >= 11


def test_many_columns_are_filtered(serve, watched):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    page = watched(serve(Line(random_state=0).fit(X, X[:, 0]), X)).page
    page.wait_for_selector(CURVE)
    page.locator("#filter").fill("x1")
    expect(page.locator("#filter-found")).to_have_text("3 of 12")
    expect(page.locator("#A-1")).to_be_visible()
    expect(page.locator("#A-2")).to_be_hidden()
    expect(page.locator("#B-11")).to_be_visible()


def test_the_download_is_what_is_shown(explorer):
    page = explorer.page
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download these predictions").click()
    with waiting.value.path().open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["scenario"] for row in rows] == ["A", "B"]
    X = table(25, 1)[0]
    assert float(rows[0][NUMBER]) == X[NUMBER][0]
    assert rows[1][TEXT] == X[TEXT][1]
    assert f"{float(rows[0]['q50']):.3g}" in page.locator("#facts-A").inner_text()


def test_by_keyboard(explorer):
    page, seen = explorer.page, []
    while len(seen) < 30 and "B-1" not in seen:
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert seen[0] == "Skip to the controls"
    wanted = ["c-slider", "c", "download"]
    for name in ("A", "B"):
        wanted += [f"{name}-row", f"{name}-reset", f"{name}-0", f"{name}-0-slider", f"{name}-1"]
    assert [name for name in seen if name in wanted] == wanted


def test_markup_stays_text(explorer):
    page = explorer.page
    assert page.locator("h1").inner_text() == f"Explore {TARGET}"
    assert page.locator("img").count() == 0
    assert page.locator("label[for='A-0']").inner_text() == NUMBER
    title = page.evaluate("document.querySelector('#picture title').textContent")
    assert title.startswith(f"Densities of {TARGET}.")


def test_missing_is_off_and_explained(strict, watched):
    page = watched(strict).page
    page.wait_for_selector(CURVE)
    assert page.locator("button.missing").count() == 0
    assert page.locator("#no-missing").is_visible()


def test_missing_where_the_model_takes_it(explorer):
    page = explorer.page
    before = page.locator(CURVE).get_attribute("d")
    button = page.locator("#A-0-missing")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator(CURVE)).not_to_have_attribute("d", before)
    button.press("Enter")
    expect(page.locator(CURVE)).to_have_attribute("d", before)
