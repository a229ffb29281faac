"""Outcomes censored or rounded: say so with windows, drop them, or take bounds for values?"""

import numpy as np

from beyond_shared import SCORES, SETTINGS, UCI, Found, by_split, paired, scored, table
from deepnoise import BDeepNoiseRegressor, right_censored, rounded
from deepnoise.datasets.uci import load_uci

SHARE = 0.4
METHODS = ("windows", "censored rows dropped", "bounds as values")
ROUNDING = ("windows", "rounded as exact")


def keys(s: int) -> list[tuple]:
    return [("censored", name, s, method) for method in METHODS for name in UCI]


def rounded_keys(s: int) -> list[tuple]:
    return [("rounded", name, s, method) for method in ROUNDING for name in UCI]


def make(key: tuple, folder) -> list[float]:
    """Scores of one method on one split, at exact test outcomes."""
    study, name, s, method = key
    data = load_uci(name, folder)
    (X, y), test = ((data.X[part], data.y[part]) for part in data.split(s))
    if study == "censored":
        ways = censored_ways(np.random.default_rng([0, s]), X, y)
    else:
        ways = rounded_ways(X, y)
    return scored(BDeepNoiseRegressor(**SETTINGS, random_state=s), *ways[method], *test)


def censored(rng, y: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """(time, event): points from the law of y plus a shift, so that exactly ``share`` end early."""
    points = rng.permutation(y) + 1e-6 * y.std() * rng.normal(size=len(y))
    apart = np.sort(y - points)
    points = points + apart[-round(share * len(y)) - 1]
    return np.minimum(y, points), y <= points


def censored_ways(rng, X: np.ndarray, y: np.ndarray) -> dict[str, tuple]:
    """Training rows as each method sees them."""
    time, event = censored(rng, y, SHARE)
    ways = (X, right_censored(time, event)), (X[event], time[event]), (X, time)
    return dict(zip(METHODS, ways, strict=True))


def rounded_ways(X: np.ndarray, y: np.ndarray) -> dict[str, tuple]:
    """Outcomes at multiples of their standard deviation."""
    step = y.std()
    coarse = np.round(y / step) * step
    return dict(zip(ROUNDING, ((X, rounded(coarse, step)), (X, coarse)), strict=True))


def show(found: Found) -> None:
    for study, methods in (("censored", METHODS), ("rounded", ROUNDING)):
        rows = by_split(found, study, methods)
        table(("set", f"outcomes, {study}"), SCORES, rows)
        paired("set", SCORES, rows, methods[0], ("nll", "crps", "rmse"))
