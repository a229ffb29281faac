"""The documentation in a real browser, from disk, as `make docs` built it."""

import pytest

from tests.test_docs import ROOT

SITE = ROOT / "site"


@pytest.fixture(scope="module")
def site():
    if not (SITE / "index.html").is_file():
        pytest.skip("there is no site/: run make docs first")
    return SITE.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_load_from_disk_alone(site, watched, scheme, width):
    for page in ("index.html", "gallery/index.html", "reference/python.html"):
        one = watched(f"{site}/{page}", scheme, width)
        assert all(address.startswith("file:") for address in one.requests)
        assert one.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_search_works_from_disk(site, watched):
    page = watched(f"{site}/how_to/settle.html").page
    # Key by key: the theme reads the box when a key goes up, which filling it does not do.
    page.locator(".md-search__input").press_sequentially("censored")
    page.wait_for_selector(".md-search-result__item")
    assert "ensored" in page.locator(".md-search-result__item").first.inner_text()
