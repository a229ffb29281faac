"""Take the pictures of docs/images: python tests/browser/screenshots.py MODEL DATA.

Needs what `make test-browser` installs.  Pictures have few colours, to stay small.
"""

import os
import secrets
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from deepnoise import load
from deepnoise.cli.models import recall
from deepnoise.explore.server import Server

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZE = {"width": 1100, "height": 820}
WIDE = {"width": 1360, "height": 800}
PAGE = {"width": 760, "height": 900}
COLOURS = 160


def main(model: str, data: str) -> None:
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        out = Path(folder)
        page = out / "report.html"
        command = [sys.executable, "-m", "deepnoise", "report", model, data, "--out", str(page)]
        subprocess.run(command, check=True)
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        shots = []
        for scheme, top in (("light", "top"), ("dark", "densities")):
            tab = browser.new_page(color_scheme=scheme, viewport=SIZE, device_scale_factor=2)
            tab.goto(page.as_uri())
            tab.evaluate(
                "id => document.getElementById(id).scrollIntoView({behavior: 'instant'})", top
            )
            shots.append(out / f"{scheme}.png")
            tab.screenshot(path=shots[-1])
        beside(shots, IMAGES / "report.png")
        columns = recall(Path(model))
        X = pd.read_csv(data).drop(columns=[columns.target, *columns.dropped], errors="ignore")
        server = Server(load(model), X, str(columns.target), Path(data).name)
        threading.Thread(target=server.run, daemon=True).start()
        tab = browser.new_page(viewport=WIDE, device_scale_factor=2)
        tab.goto(server.address)
        tab.wait_for_selector("#picture path.curve")
        tab.screenshot(path=out / "explore.png")
        beside([out / "explore.png"], IMAGES / "explore.png")
        server.stop()
        served(browser, model, X.iloc[0], out / "serve.png")
        beside([out / "serve.png"], IMAGES / "serve.png")
        browser.close()


def served(browser: Any, model: str, row: Any, shot: Path) -> None:
    """The page of `deepnoise serve` with the answer to a row."""
    token = secrets.token_urlsafe(24)
    command = [sys.executable, "-m", "deepnoise", "serve", model, "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"DEEPNOISE_TOKEN": token}
    ) as server:
        tab = browser.new_page(viewport=PAGE, device_scale_factor=2)
        tab.goto(server.stdout.readline().strip())
        tab.fill("#token", token)
        tab.click("#key button")
        for n, value in enumerate(row):
            tab.fill(f"#column-{n}", str(value))
        tab.fill("#above", "200")
        tab.click("#row button")
        tab.wait_for_selector("#answer svg")
        tab.screenshot(path=shot)
        server.terminate()


def beside(shots: list[Path], target: Path) -> None:
    """Pictures side by side in one small file."""
    parts = [Image.open(shot).convert("RGB") for shot in shots]
    whole = Image.new("RGB", (sum(p.width for p in parts), max(p.height for p in parts)))
    left = 0
    for part in parts:
        whole.paste(part, (left, 0))
        left += part.width
    whole.quantize(COLOURS).save(target, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
