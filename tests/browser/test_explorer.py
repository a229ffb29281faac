"""The explorer in a real browser: the token, sliders, keyboard, download."""

import csv
import urllib.error
import urllib.request

import numpy as np
import pytest

from tests.browser.conftest import serious
from tests.cli_toy import error, home, run
from tests.estimators.toy import Line
from tests.report.pages import NUMBER, SOURCE, TARGET, TEXT, fitted, table

expect = pytest.importorskip("playwright.sync_api").expect

__all__ = ["home"]
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


def status(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_nothing_without_the_token(address):
    host, token = address.rstrip("/").rsplit("/", 1)
    assert host.startswith("http://127.0.0.1:")
    assert len(token) >= 32
    assert status(address) == 200
    assert status(f"{address}_dash-layout") == 200
    for wrong in ("", "wrong", token[:-1], token.swapcase(), f"%2e/{token}", f"x{token}"):
        for route in ("", "/", "/_dash-layout", "/_dash-dependencies", "/_dash-update-component"):
            assert status(f"{host}/{wrong}{route}") == 403
    for route in ("favicon.ico", "_dash-component-suites/dash/deps/react@18.js", f"?token={token}"):
        assert status(f"{host}/{route}") == 403


def test_a_port_that_is_taken(address, home):
    port = address.split(":")[2].split("/")[0]
    result = run("explore", home / "model", home / "test.csv", "--port", port)
    assert f"port {port} cannot be used: Address already in use" in error(result, 1)


def test_it_loads_from_here_only(explorer, address):
    assert all(request.startswith((address, "data:")) for request in explorer.requests)
    headers = urllib.request.urlopen(address, timeout=20).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible(address, watched, scheme, width):
    page = watched(address, scheme, width).page
    page.wait_for_selector(CURVE)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_slider_moves_the_density(explorer):
    page, slider = explorer.page, explorer.page.locator("#A-0")
    before, text = page.locator(CURVE).get_attribute("d"), page.locator("#A-0-value").inner_text()
    slider.press("End")
    expect(page.locator("#A-0-value")).not_to_have_text(text)
    expect(page.locator(CURVE)).not_to_have_attribute("d", before)
    expect(slider).to_have_attribute("aria-valuetext", page.locator("#A-0-value").inner_text())
    moved = page.locator(CURVE).get_attribute("d")
    page.locator("#A-row").fill("3")
    expect(page.locator(CURVE)).not_to_have_attribute("d", moved)


def test_c_is_dragged(explorer):
    page = explorer.page
    line, facts = page.locator("#picture line.threshold"), page.locator("#facts-A")
    before, text = line.get_attribute("x1"), facts.inner_text()
    box = page.locator("#c").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], middle, steps=5)
    page.mouse.up()
    expect(line).not_to_have_attribute("x1", before)
    expect(facts).not_to_have_text(text)
    expect(facts).to_contain_text("P(y ≥")
    # The thumb stands below the line, which every new picture draws anew.
    page.wait_for_function(
        """x => {
            const line = document.querySelector("#picture line.threshold");
            return line && Math.abs(line.getBoundingClientRect().x - x) < 10;
        }""",
        arg=box["x"] + 0.7 * box["width"],
    )


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
    while len(seen) < 20 and "B-1" not in seen:
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert seen[0] == "Skip to the controls"
    wanted = ["c", "download-button", "A-row", "A-0", "A-1", "B-row", "B-0", "B-1"]
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
    button = page.locator("#A-0-missing")
    assert button.is_disabled()
    assert "takes no missing values" in button.get_attribute("title")
    assert page.locator("#no-missing").is_visible()


def test_missing_where_the_model_takes_it(explorer):
    page = explorer.page
    before = page.locator(CURVE).get_attribute("d")
    button = page.locator("#A-0-missing")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#A-0-value")).to_have_text("missing")
    expect(page.locator(CURVE)).not_to_have_attribute("d", before)
    button.press("Enter")
    expect(page.locator(CURVE)).to_have_attribute("d", before)
