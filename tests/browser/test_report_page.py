"""The report in a real browser, from disk."""

import pytest

from deepnoise.report import report
from tests.browser.conftest import serious
from tests.report.pages import LEVELS, NUMBER, SOURCE, TARGET, fitted, table


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "report.html"
    page = report(fitted(), *table(25, 1), target=TARGET, source=SOURCE)
    out.write_text(page, "utf-8")
    return out.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_loads_alone_and_is_accessible(address, watched, scheme, width):
    one = watched(address, scheme, width)
    assert one.requests == [address]
    assert one.page.locator("section").count() == 13
    assert serious(one.page) == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [1280, 760, 390, 320])
def test_texts_of_pictures_are_large_enough(address, watched, width):
    page = watched(address, width=width).page
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('svg.drawing text')].map(text => {
          const svg = text.ownerSVGElement;
          const shrunk = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
          return shrunk * parseFloat(getComputedStyle(text).fontSize);
        })"""
    )
    assert len(sizes) > 50
    assert min(sizes) >= 11


WIDER = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
TORN = """() => [...document.querySelectorAll('td.n')].filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const tops = [...range.getClientRects()].map(box => Math.round(box.top));
  return new Set(tops).size > 1;
}).map(cell => cell.textContent)"""


def test_a_phone_needs_no_sideways_scrolling_and_numbers_stay_whole(address, watched):
    page = watched(address, width=390).page
    assert page.evaluate(f"{WIDER}.map(e => e.ariaLabel)") == []
    assert page.evaluate(TORN) == []
    cell = page.locator("#scores table.stack td.n").first
    label = cell.evaluate("cell => getComputedStyle(cell, '::before').content")
    assert label == '"Times as likely"'
    height = cell.evaluate("cell => { cell.textContent = ''; return cell.offsetHeight; }")
    assert height == 0  # a label without a value says nothing


def test_paper_has_room_for_everything(address, watched):
    # A4 less the margins of @page, in CSS pixels.
    page = watched(address, width=688).page
    page.emulate_media(media="print")
    assert page.evaluate(f"{WIDER}.map(e => e.ariaLabel)") == []
    assert page.evaluate(TORN) == []
    outside = page.evaluate(
        "[...document.querySelectorAll('table, svg')].filter(e => "
        "e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert outside == 0
    # A heading and the sentence below it stay with the picture that they speak of.
    heads, alone = "h2, h2 + p", "e => getComputedStyle(e).breakAfter !== 'avoid'"
    found = page.evaluate(f"[...document.querySelectorAll('{heads}')].filter({alone}).length")
    assert found == 0
    verdict = page.locator("#verdict")
    assert verdict.is_visible()
    assert verdict.bounding_box()["y"] < page.locator(".cards").bounding_box()["y"]


def test_dark_is_dark(address, watched):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (
        watched(address, scheme).page.evaluate(background) for scheme in ("light", "dark")
    )
    assert light == "rgb(251, 250, 248)"
    assert dark == "rgb(20, 24, 28)"


def test_markup_stays_text(address, watched):
    page = watched(address).page
    assert page.locator("img, script").count() == 0
    assert page.locator("h1").inner_text() == f"Predicting {TARGET}"
    page.locator("summary").click()
    for name in (NUMBER, LEVELS[1]):
        assert page.get_by_text(name).first.is_visible()
    titles = page.evaluate("[...document.querySelectorAll('svg > title')].map(t => t.textContent)")
    assert any(TARGET in title for title in titles)


def test_by_keyboard(address, watched):
    page = watched(address).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] > 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    assert page.locator("details").get_attribute("open") is not None
    links = page.locator(".contents a")
    links.last.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    page.wait_for_url("**#again")


def test_it_prints(address, watched):
    page = watched(address, "dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".contents").is_visible()
    assert page.locator("details table").bounding_box()["height"] > 20
    assert page.pdf()[:5] == b"%PDF-"
