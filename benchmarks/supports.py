"""What a support buys: known laws of positive, bounded, counted and often-zero outcomes.

python benchmarks/supports.py run --out docs/results/supports.jsonl
python benchmarks/supports.py show --out docs/results/supports.jsonl

Each law is fitted with its support and without, on the same rows, and judged on new rows beside
the law itself.  "claims" and "amounts" are a simulated motor portfolio: policies with exposures and
a text column, few of which have a claim.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

import deepnoise
from deepnoise import BDeepNoiseRegressor
from deepnoise.prediction import metrics

SETTINGS = {
    "hidden": (10,), "chains": 2, "warmup": 400, "draws": 100, "thin": 2, "progress": False,
}  # fmt: skip
ROWS, TEST_ROWS, REPLICATES = {"claims": 1500, "amounts": 1500}, 500, 3
LEVEL = 0.9
LEVELS = (np.arange(1000) + 0.5) / 1000


@dataclass(frozen=True)
class Truth:
    """P(Y = 0) beyond what ``law`` says, and the law of the rest, for rows."""

    law: Any
    zero: np.ndarray | float = 0.0

    @property
    def counts(self) -> bool:
        return hasattr(self.law, "pmf")

    def sample(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        drawn = np.asarray(self.law.rvs(random_state=rng), float)
        return np.where(rng.random(rows) < self.zero, 0.0, drawn)

    def log_prob(self, y: np.ndarray) -> np.ndarray:
        if self.counts:
            return self.law.logpmf(y)
        if not np.any(self.zero):
            return self.law.logpdf(y)
        inside = np.log1p(-self.zero) + self.law.logpdf(np.where(y > 0, y, 1.0))
        return np.where(y > 0, inside, np.log(self.zero))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Twice the mean pinball loss of a thousand quantiles."""
        zero = np.broadcast_to(self.zero, y.shape)[:, None]
        share = np.clip((LEVELS - zero) / (1 - zero), 0.0, 1.0)
        args = {name: np.asarray(a)[:, None] for name, a in self.law.kwds.items()}
        found = np.where(share > 0, self.law.dist.ppf(share, **args), 0.0)
        off = y[:, None] - found
        return 2 * np.mean(np.where(off > 0, LEVELS * off, (LEVELS - 1) * off), axis=1)


@dataclass(frozen=True)
class Study:
    """``table`` draws rows, ``truth`` says their law, ``support`` what the estimator is told."""

    table: Callable[[np.random.Generator, int], pd.DataFrame]
    truth: Callable[[pd.DataFrame], Truth]
    support: dict = field(default_factory=dict)


def plain(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    return pd.DataFrame(rng.uniform(-1, 1, (rows, 2)), columns=["a", "b"])


def with_years(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    return plain(rng, rows).assign(years=rng.uniform(0.2, 2.0, rows))


def policies(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows).astype(float),
            "power": rng.integers(4, 13, rows).astype(float),
            "region": rng.choice(["city", "town", "country"], rows, p=[0.4, 0.35, 0.25]),
            "years": rng.uniform(0.1, 1.0, rows),
        }
    )


def rate(x: pd.DataFrame) -> np.ndarray:
    """Claims a year of a policy."""
    region = x["region"].map({"city": 0.5, "town": 0.0, "country": -0.4}).to_numpy(float)
    young = 1.2 * np.exp(-(x["age"].to_numpy() - 18) / 10)
    return np.exp(-1.4 + young + 0.08 * (x["power"].to_numpy() - 8) + region)


def gamma(mean: np.ndarray, shape: float) -> Any:
    return stats.gamma(a=np.full(len(mean), shape), scale=mean / shape)


def negative_binomial(mean: np.ndarray, size: float) -> Any:
    return stats.nbinom(n=np.full(len(mean), size), p=size / (size + mean))


def trend(x: pd.DataFrame) -> np.ndarray:
    return np.sin(2 * x["a"].to_numpy()) + 0.5 * x["b"].to_numpy()


def beta(x: pd.DataFrame) -> Any:
    mean = expit(1.5 * trend(x))
    return stats.beta(a=4 * mean, b=4 * (1 - mean))


STUDIES = {
    "positive": Study(plain, lambda x: Truth(gamma(np.exp(0.5 + trend(x)), 1.5)),
                      {"support": "positive"}),
    "bounded": Study(plain, lambda x: Truth(beta(x)), {"support": (0.0, 1.0)}),
    "counts": Study(
        with_years,
        lambda x: Truth(negative_binomial(x["years"].to_numpy() * np.exp(0.7 + trend(x)), 3.0)),
        {"support": "counts", "exposure": "years"},
    ),
    "zeros": Study(
        plain,
        lambda x: Truth(gamma(np.exp(1 + trend(x)), 2.0), expit(-2 * x["b"].to_numpy())),
        {"support": "positive", "point_mass": 0.0},
    ),
    "claims": Study(
        policies,
        lambda x: Truth(negative_binomial(x["years"].to_numpy() * rate(x), 2.0)),
        {"support": "counts", "exposure": "years"},
    ),
    "amounts": Study(
        policies,
        lambda x: Truth(gamma(200.0 * x["power"].to_numpy(), 1.5),
                        np.exp(-x["years"].to_numpy() * rate(x))),
        {"support": "positive", "point_mass": 0.0},
    ),
}  # fmt: skip


def drawn(study: Study, seed: int, rows: int) -> tuple[pd.DataFrame, np.ndarray, Truth]:
    rng = np.random.default_rng(seed)
    table = study.table(rng, rows)
    truth = study.truth(table)
    return table, truth.sample(rng, rows), truth


def judged(name: str, seed: int, told: bool, settings: dict, rows: int, test_rows: int) -> dict:
    """Scores of one fit at new rows, and of the law itself."""
    study = STUDIES[name]
    X, y, _ = drawn(study, 1000 + seed, rows)
    X_test, y_test, truth = drawn(study, 2000 + seed, test_rows)
    given = study.support if told else {}
    began = time.monotonic()
    model = BDeepNoiseRegressor(**settings, **given, random_state=seed).fit(X, y)
    seconds = time.monotonic() - began
    density = model.predict_density(X_test)
    below = density.probability_between(-np.inf, 0.0) - density.probability_between(0.0, 0.0)
    above = density.probability_above(1.0) if name == "bounded" else 0.0
    return {
        "coverage": metrics.coverages_seen(density, y_test, [LEVEL])[0],
        "crps": metrics.crps(density, y_test),
        "crps_true": float(truth.crps(y_test).mean()),
        "nll": nll(density, y_test, truth, told),
        "nll_true": -float(truth.log_prob(y_test).mean()),
        "outside": float(np.mean(below + above)),
        "mean_ratio": float(density.mean().mean() / truth_mean(truth).mean()),
        "seconds": round(seconds, 1),
    }


def nll(density: Any, y: np.ndarray, truth: Truth, told: bool) -> float | None:
    """Comparable with the law's: of whole numbers the mass of y ± 1/2; None for masses at 0."""
    if told:
        return metrics.nll(density, y)
    if np.any(truth.zero):
        return None
    return metrics.lattice_nll(density, y, 1.0) if truth.counts else metrics.nll(density, y)


def truth_mean(truth: Truth) -> np.ndarray:
    return (1 - truth.zero) * truth.law.mean()


def run(out: Path, replicates: int, settings: dict, rows: int | None, test_rows: int) -> None:
    about = {"version": deepnoise.__version__, "numpy": np.__version__, "settings": settings}
    out.parent.mkdir(parents=True, exist_ok=True)
    for name in STUDIES:
        size = rows or ROWS.get(name, 400)
        for seed in range(replicates):
            for told in (True, False):
                found = judged(name, seed, told, settings, size, test_rows)
                key = {"law": name, "seed": seed, "support": told, "rows": size}
                with out.open("a") as ledger:
                    ledger.write(json.dumps({**key, **found, **about}) + "\n")


def show(out: Path) -> list[str]:
    """A table in Markdown: means over replicates."""
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    lines = [
        "| law | support | 90 % hold | CRPS / law's | NLL − law's | mean / law's | outside |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in STUDIES:
        for told in (True, False):
            few = [row for row in rows if (row["law"], row["support"]) == (name, told)]
            if not few:
                continue
            mean = lambda of, few=few: float(np.mean([of(row) for row in few]))  # noqa: E731
            gap = "–"
            if few[0]["nll"] is not None:
                gap = f"{mean(lambda r: r['nll'] - r['nll_true']):.3f}".replace("-", "−")
            lines.append(
                f"| {name} | {'with' if told else 'without'} | "
                f"{100 * mean(lambda r: r['coverage']):.1f} % | "
                f"{mean(lambda r: r['crps'] / r['crps_true']):.3f} | {gap} | "
                f"{mean(lambda r: r['mean_ratio']):.2f} | "
                f"{100 * mean(lambda r: r['outside']):.1f} % |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "show"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    given = parser.parse_args()
    if given.action == "run":
        run(given.out, given.replicates, SETTINGS, None, TEST_ROWS)
    print("\n".join(show(given.out)))


if __name__ == "__main__":
    main()
