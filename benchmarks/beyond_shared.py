"""What the studies of ``beyond.py`` share: settings, the ledger, scores and tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np

SETTINGS = {
    "hidden": (20, 20), "chains": 4, "warmup": 300, "draws": 50, "thin": 4,
    "progress": False,
}  # fmt: skip
SCORES = ("nll", "rmse", "crps", "coverage_90")
UCI = ("energy", "boston", "yacht")
Found = dict[tuple, Any]


def read(path: Path) -> Found:
    """Keys and values of the ledger's rows (JSON lines) that these settings made."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [row for row in map(json.loads, lines) if row["settings"] == _plain(SETTINGS)]
    return {tuple(row["key"]): row["value"] for row in rows}


def append(path: Path, key: tuple, value: Any, seconds: float) -> None:
    row = {"key": key, "value": value, "seconds": round(seconds, 1), "settings": SETTINGS}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as ledger:
        ledger.write(json.dumps(row, default=float) + "\n")


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def scored(model, X, y, X_test, y_test) -> list[float]:
    """Scores of the model, fitted to X and y, at exact test outcomes."""
    report = model.fit(X, y).score_report(X_test, y_test)
    return [report[name] for name in SCORES]


def by_split(found: Found, study: str, methods: tuple[str, ...]) -> dict[tuple, np.ndarray]:
    """(splits, ...) of every (set, method), of the splits that all methods have."""
    names = list(dict.fromkeys(key[1] for key in found if key[0] == study))
    whole = {
        name: [
            s for kind, n, s, m in found
            if (kind, n, m) == (study, name, methods[0])
            and all((study, name, s, other) in found for other in methods)
        ]
        for name in names
    }  # fmt: skip
    return {
        (name, method): np.array([_scores(found[study, name, s, method]) for s in sorted(splits)])
        for name, splits in whole.items()
        for method in methods
        if splits
    }


def _scores(value: Any) -> list[float]:
    return value["scores"] if isinstance(value, dict) else value


def mean_and_error(values: np.ndarray, sign: str = "") -> str:
    """Mean (standard error) over splits."""
    mean = format(values.mean(), f"{sign}.3f").replace("-", "−")
    return f"{mean} ({values.std(ddof=1) / len(values) ** 0.5:.3f})" if len(values) > 1 else mean


def table(first: tuple[str, ...], measures, rows: dict[tuple, np.ndarray]) -> None:
    """Markdown: the mean over splits (standard error) of every measure, one line a key."""
    lines([*first, *measures], [
        [*map(str, key), *(mean_and_error(column) for column in values.T)]
        for key, values in rows.items()
    ])  # fmt: skip


def paired(first: str, measures, rows: dict[tuple, np.ndarray], ours: str, shown) -> None:
    """Markdown: ours minus each other method on the same splits, and how often it is below."""
    cells = []
    for (name, method), values in rows.items():
        if method != ours:
            apart = rows[name, ours] - values
            columns = [mean_and_error(apart[:, list(measures).index(m)], "+") for m in shown]
            wins = int((apart[:, list(measures).index(shown[0])] < 0).sum())
            cells.append([name, method, *columns, f"{wins} of {len(values)}"])
    lines([first, "ours minus", *shown, f"{shown[0]} lower"], cells)


def lines(head: list[str], cells: list[list[str]]) -> None:
    print("\n| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for row in cells:
        print("| " + " | ".join(row) + " |")
