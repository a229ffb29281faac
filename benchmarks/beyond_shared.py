"""What the three studies of ``beyond.py`` share: settings, scores and tables."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SETTINGS = {
    "hidden": (20, 20), "chains": 4, "warmup": 300, "draws": 50, "thin": 4,
    "progress": False,
}  # fmt: skip
SCORES = ("nll", "rmse", "crps", "coverage_90")


def remembered(path: Path, key: tuple, compute: Callable[[], Any]) -> Any:
    """What the ledger (JSON lines) holds of this key and these settings, or a new line of it."""
    key = json.loads(json.dumps([*key, SETTINGS]))
    lines = path.read_text().splitlines() if path.exists() else []
    for line in map(json.loads, lines):
        if line["key"] == key:
            return line["value"]
    value = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as ledger:
        ledger.write(json.dumps({"key": key, "value": value}, default=float) + "\n")
    return value


def scored(model, X, y, X_test, y_test, *where) -> tuple:
    """The model fitted to X and y, and its scores at exact test outcomes."""
    began = time.perf_counter()
    report = model.fit(X, y).score_report(X_test, y_test)
    words = " ".join(f"{name} {report[name]:.3f}" for name in SCORES)
    print(*where, words, f"{time.perf_counter() - began:.0f} s", flush=True)
    return model, [report[name] for name in SCORES]


def table(first: tuple[str, ...], measures, found: dict[tuple, list]) -> None:
    """Markdown: the mean over splits (standard error) of every measure, one line a key."""
    print("\n| " + " | ".join([*first, *measures]) + " |")
    print("|---" * (len(first) + len(measures)) + "|")
    for key, rows in found.items():
        values = np.array(rows, float)
        cells = [f"{mean:.3f}" for mean in values.mean(0)]
        if len(rows) > 1:
            errors = values.std(0, ddof=1) / np.sqrt(len(rows))
            cells = [f"{cell} ({e:.3f})" for cell, e in zip(cells, errors, strict=True)]
        print("| " + " | ".join([*map(str, key), *cells]) + " |")


def save(figure, path) -> None:
    """A picture that stays small, without the date and the versions that made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"\n{path}: {path.stat().st_size / 1000:.0f} kB")
