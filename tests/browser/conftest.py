"""A real Chromium and the pages in it; where none can be had, a message that is not missed."""

import os
import shutil
import threading
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Milliseconds until something is given up: how busy the machine is decides nothing.
PATIENCE = 120_000
LOUD = """
NO BROWSER: THE PAGES WERE NOT TESTED.
There is no Chromium on this machine, and it could not be installed.
Debian, Ubuntu: apt-get install chromium.  Elsewhere: CHROMIUM=/path/to/it make test-browser
"""


def chromium() -> str | None:
    """The path of a browser: the user's choice, or the first that is installed."""
    chosen = os.environ.get("CHROMIUM")
    return chosen or next(filter(None, map(shutil.which, NAMES)), None)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    if any("NO BROWSER" in str(report.longrepr) for report in skipped):
        for line in LOUD.strip().splitlines():
            terminalreporter.write_sep("!", line, red=True, bold=True)


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    path = chromium()
    if path is None:
        pytest.skip("NO BROWSER")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        # Without its sandbox Chromium also runs as root and in containers.
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


class Watched:
    """A page, and everything that went wrong in it."""

    def __init__(self, page):
        self.page = page
        self.requests, self.wrong = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url}"))
        page.on("response", self._answered)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", self._said)
        page.on("dialog", self._dialog)

    def _answered(self, response):
        if response.status >= 400:
            self.wrong.append(f"{response.status}: {response.url}")

    def _said(self, message):
        if message.type in ("error", "warning"):
            self.wrong.append(f"console: {message.text}")

    def _dialog(self, dialog):
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def watched(browser):
    """A function that opens an address; at the end nothing may have gone wrong."""
    opened = []

    def open_page(address, scheme="light", width=1280, height=900):
        size = {"width": width, "height": height}
        one = Watched(browser.new_page(color_scheme=scheme, viewport=size))
        opened.append(one)
        one.page.set_default_timeout(PATIENCE)
        one.page.goto(address)
        return one

    yield open_page
    for one in opened:
        one.page.close()
        assert not one.wrong


@pytest.fixture(scope="session")
def serve():
    """A function that serves a model and gives the address."""
    server_module = pytest.importorskip("deepnoise.explore.server")
    running = []

    def start(model, X, target="y", source="test.csv"):
        server = server_module.Server(model, X, target, source)
        threading.Thread(target=server.run, daemon=True).start()
        running.append(server)
        return server.address

    yield start
    for server in running:
        server.stop()


def serious(page) -> list[str]:
    """What axe-core finds that matters."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{problem['id']}: {problem['nodes'][0]['html']}"
        for problem in found
        if problem["impact"] in ("serious", "critical")
    ]
