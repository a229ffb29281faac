"""What each part of the method buys, as Markdown, from the ledgers of batched studies.

python benchmarks/parts.py docs/results/uci.jsonl [plain Gibbs: docs/results/uci-gibbs.jsonl]
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

METRICS = ("rmse", "nll", "crps", "coverage95", "wepi95")
SETS = ("yacht", "boston", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein")
WORDS = {
    "start": "start",
    "posterior": "draws",
    "guarded": "and guard",
    "stacked": "and stacked chains",
}


def rows_of(path: str) -> dict[str, list[dict]]:
    """Rows with parts, by set."""
    found = defaultdict(list)
    for line in Path(path).read_text().splitlines():
        row = json.loads(line)
        if "parts" in row:
            found[row["set"]].append(row)
    return found


def cell(values: list[float]) -> str:
    values = np.array([np.nan if v is None else v for v in values], float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.4g} ({error:.1g})"


def agreement(rows: list[dict]) -> str:
    """Median R-hat, ESS, seconds and ESS a second over splits."""
    middle = lambda name: float(np.median([row[name] for row in rows]))  # noqa: E731
    seconds, ess = middle("fit_seconds"), middle("min_ess")
    return f"{middle('max_rhat'):.2f} | {ess:.1f} | {seconds:.1f} | {ess / seconds:.1f}"


def lines(name: str, rows: list[dict], sampler: str, parts: tuple[str, ...]) -> None:
    for part in parts:
        scores = " | ".join(cell([row["parts"][part][m] for row in rows]) for m in METRICS)
        tail = " | | | " if part == "start" else agreement(rows)
        label = WORDS[part] if part == "start" else f"{sampler}{WORDS[part]}"
        print(f"| {name} | {len(rows)} | {label} | {scores} | {tail} |")


def main(ours: str, gibbs: str | None = None) -> None:
    interweaved, plain = rows_of(ours), rows_of(gibbs) if gibbs else {}
    heads = ("set", "splits", "from", *METRICS, "R-hat", "ESS", "s a fit", "ESS/s")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name in SETS:
        if name in interweaved:
            lines(name, interweaved[name], "", tuple(WORDS))
        if name in plain:
            lines(name, plain[name], "plain Gibbs: ", ("posterior", "guarded"))


if __name__ == "__main__":
    main(*sys.argv[1:])
