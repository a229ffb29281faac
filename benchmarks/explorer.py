"""What a move in the explorer costs, by number of columns: python benchmarks/explorer.py.

A move is a question over HTTP, as the page asks it, until its answer has been read.  Processor time
is of this process, which is both sides, and says more than the clock where the machine is busy.
With --browser, Chromium moves a slider until the picture has changed (what make test-browser
installs).
"""

import argparse
import http.client
import json
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import closing
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from deepnoise import BDeepNoiseRegressor
from deepnoise.explore.server import Server

MOVES = 40
SIZES = {"hidden": (20, 20), "chains": 4, "warmup": 10, "draws": 40, "thin": 1}
MOVE = """async value => {
  const slider = document.getElementById('A-0-slider');
  const drawn = () => document.querySelector('#picture path.curve').getAttribute('d');
  const [before, start] = [drawn(), performance.now()];
  slider.value = value;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  while (drawn() === before) await new Promise(done => setTimeout(done, 1));
  return performance.now() - start;
}"""


def served(columns: int) -> tuple[Server, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, columns)), columns=[f"x{j}" for j in range(columns)])
    model = BDeepNoiseRegressor(**SIZES, init="prior", sampler="gibbs", random_state=0)
    server = Server(model.fit(X, X["x0"] + rng.normal(size=200)), X, "y", "data.csv")
    threading.Thread(target=server.run, daemon=True).start()
    return server, X


def over_http(
    connection: http.client.HTTPConnection, path: str, X: pd.DataFrame
) -> Callable[[float], None]:
    def move(value: float) -> None:
        first, second = X.iloc[:2].to_numpy().tolist()
        question = {"A": [value, *first[1:]], "B": second, "c": 0.0, "width": 760}
        connection.request("POST", f"{path}answer", json.dumps(question))
        assert "svg" in json.loads(connection.getresponse().read())

    return move


def timed(move: Callable[[float], None]) -> tuple[float, float, float]:
    """Median, ninth tenth and mean processor time of the moves, ms."""
    move(0.0)
    clock, cpu = [], time.process_time()
    for value in np.linspace(-1.5, 1.5, MOVES):
        start = time.perf_counter()
        move(float(value))
        clock.append(1e3 * (time.perf_counter() - start))
    cost = 1e3 * (time.process_time() - cpu) / MOVES
    return statistics.median(clock), float(np.quantile(clock, 0.9)), cost


def in_browser(address: str) -> tuple[float, float]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("#picture path.curve")
        values = [float(value) for value in np.linspace(-1.5, 1.5, MOVES)]
        clock = [page.evaluate(MOVE, value) for value in values]
        browser.close()
    return statistics.median(clock), float(np.quantile(clock, 0.9))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--browser", action="store_true")
    arguments = parser.parse_args()
    for columns in arguments.columns:
        server, X = served(columns)
        parts = urlsplit(server.address)
        with closing(http.client.HTTPConnection(parts.hostname, parts.port)) as connection:
            median, slow, cost = timed(over_http(connection, parts.path, X))
        print(f"{columns} columns, HTTP: {median:.1f} ms, 90 % in {slow:.1f}, processor {cost:.1f}")
        if arguments.browser:
            median, slow = in_browser(server.address)
            print(f"{columns} columns, Chromium: {median:.1f} ms, 90 % in {slow:.1f}")
        server.stop()


if __name__ == "__main__":
    main()
