"""The tables of docs/results/index.md as Markdown, from the ledgers.

python benchmarks/results_page.py

Deep ensembles and bde are averaged over the splits that B-DeepNoise was run on.
"""

import json
import tomllib
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
SETS = ("yacht", "boston", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein")
LAWS = ("heteroscedastic", "skewed", "multimodal")
SIZES = (1000, 2000, 4000)
OURS, PAPER, ENSEMBLE = "bdeepnoise", "paper B-DeepNoise", "de"
BEST = "best published"

Scores = dict[int, dict[str, float]]


def read(name: str) -> dict[tuple[str, str], Scores]:
    """Metrics by method and set, then by split."""
    found: dict[tuple[str, str], Scores] = defaultdict(dict)
    for line in (RESULTS / name).read_text("utf-8").splitlines():
        row = json.loads(line)
        metrics = row.get("metrics") or {k: v for k, v in row.items() if isinstance(v, float)}
        found[row.get("method", OURS), row["set"]][row["split"]] = metrics
    return found


def digits(value: float) -> str:
    """Three significant digits."""
    text = f"{value:.3g}"
    return text.replace("-", "−").replace("e−0", "e−")


def mean(scores: Scores, metric: str, splits: list[int]) -> str:
    """Mean over the splits that have it, and its standard error."""
    values = np.array([scores[s][metric] for s in splits if s in scores and metric in scores[s]])
    if not len(values):
        return "–"
    said = digits(values.mean())
    if len(values) > 1:
        said += f" ({values.std(ddof=1) / np.sqrt(len(values)):.1g})"
    return said if len(values) == len(splits) else f"{said} [{len(values)}]"


def table2(metric: str) -> list[str]:
    """Five columns of one metric; wine's NLL is of the interval mass."""
    ledger, bde = read("uci.jsonl"), read("bde.jsonl")
    published = tomllib.loads((ROOT / "src/deepnoise/studies/published.toml").read_text("utf-8"))
    lines = []
    for name in SETS:
        asked = "lattice_nll" if (metric, name) == ("nll", "wine") else metric
        splits = sorted(ledger[OURS, name])
        cells = [f"{name}", str(len(splits))]
        cells += [mean(ledger[OURS, name], asked, splits)]
        cells += [digits(published[metric][PAPER][name])]
        cells += [mean(ledger[ENSEMBLE, name], asked, splits)]
        cells += [mean(bde["bde", name], asked, splits)]
        cells += [digits(published[metric][BEST][name])]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def coverage() -> list[str]:
    """Share of held-out outcomes in 95 % intervals, and the median R-hat over splits."""
    ledger = read("uci.jsonl")
    rows = [json.loads(line) for line in (RESULTS / "uci.jsonl").read_text("utf-8").splitlines()]
    lines = []
    for name in SETS:
        splits = sorted(ledger[OURS, name])
        own, theirs = (
            100 * np.mean([ledger[method, name][s]["coverage95"] for s in splits])
            for method in (OURS, ENSEMBLE)
        )
        rhat = [r["max_rhat"] for r in rows if (r["method"], r["set"]) == (OURS, name)]
        lines.append(f"| {name} | {own:.1f} | {theirs:.1f} | {np.median(rhat):.2f} |")
    return lines


def table1() -> list[str]:
    ledger = read("synthetic.jsonl")
    published = tomllib.loads((ROOT / "src/deepnoise/studies/published.toml").read_text("utf-8"))
    lines = []
    for law in LAWS:
        for size in SIZES:
            name = f"{law}-{size}"
            splits = sorted(ledger[OURS, name])
            cells = [mean(ledger[method, name], "l1", splits) for method in (OURS, ENSEMBLE, "mdn")]
            cells.insert(1, digits(published["l1"][PAPER][name]))
            cells.append(digits(published["l1"]["best Gaussian"][name]))
            lines.append(f"| {law}, {size:,} rows | " + " | ".join(cells) + " |")
    return lines


def diabetes() -> list[str]:
    ledger = read("diabetes.jsonl")
    ours = read("settling-diabetes.jsonl")[OURS, "diabetes"]
    names = {"de": "deep ensemble", "ridge": "ridge", "bart": "BART", "ngboost": "NGBoost"}
    lines = []
    for method, name in ((OURS, "B-DeepNoise"), *names.items()):
        scores = ours if method == OURS else ledger[method, "diabetes"]
        at = {m: np.mean([s[m] for s in scores.values()]) for m in ("nll", "rmse", "crps")}
        inside = 100 * np.mean([s["coverage_95"] for s in scores.values()])
        gain = np.array([ours[s]["nll"] - scores[s]["nll"] for s in sorted(scores)])
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        paired = "" if method == OURS else f"{gain.mean():.3f} ({error:.3f})".replace("-", "−")
        numbers = f"{at['nll']:.2f} | {at['rmse']:.1f} | {at['crps']:.1f} | {inside:.1f}"
        lines.append(f"| {name} | {numbers} | {paired} |")
    return lines


def main() -> None:
    for title, lines in (
        ("Table 1", table1()),
        ("Table 2, NLL", table2("nll")),
        ("Table 2, RMSE", table2("rmse")),
        ("Coverage", coverage()),
        ("Diabetes", diabetes()),
    ):
        print(f"\n{title}\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
