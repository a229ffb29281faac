"""The rule of outcome selection with least squares on simulated sets: how often is it right?

PYTHONPATH=src python benchmarks/outcome_rule.py
"""

import numpy as np

from deepnoise.prediction.selection import bootstrap_skills

SETS, FOLDS, CERTAINTY = 400, 10, 0.95
SHARES = (0.0, 0.1, 0.3, 0.5)
CASES = [(n, p, t) for t in ("normal", "t3") for p in (1, 4, 10) for n in (30, 100)]


def losses(rng: np.random.Generator, rows: int, inputs: int, tails: str, share: float):
    """Held-out squared losses with and without inputs; the first input explains ``share``."""
    x, fold = rng.normal(size=(rows, inputs)), rng.permutation(np.arange(rows) % FOLDS)
    e = rng.normal(size=rows) if tails == "normal" else rng.standard_t(3, rows) / np.sqrt(3)
    y, design = np.sqrt(share) * x[:, 0] + np.sqrt(1 - share) * e, np.c_[x, np.ones(rows)]
    loss, null = np.empty(rows), np.empty(rows)
    for k in range(FOLDS):
        seen, held = fold != k, fold == k
        slopes = np.linalg.lstsq(design[seen], y[seen], rcond=None)[0]
        loss[held] = (y[held] - design[held] @ slopes) ** 2
        null[held] = (y[held] - y[seen].mean()) ** 2
    return loss[:, None], null[:, None]


def called(rows: int, inputs: int, tails: str, share: float) -> float:
    """Share of sets in which the outcome is called predictable."""
    rng = np.random.default_rng(0)
    found = [
        np.mean(bootstrap_skills(*losses(rng, rows, inputs, tails, share), seed) > 0)
        for seed in range(SETS)
    ]
    return float(np.mean(np.array(found) >= CERTAINTY))


def main() -> None:
    print("rows inputs noise  " + "  ".join(f"R² {share:.1f}" for share in SHARES))
    for rows, inputs, tails in CASES:
        found = [called(rows, inputs, tails, share) for share in SHARES]
        cells = "  ".join(f"{100 * value:5.1f}%" for value in found)
        print(f"{rows:4d} {inputs:6d} {tails:6} {cells}", flush=True)


if __name__ == "__main__":
    main()
