"""Inputs deleted completely at random, in training and test rows: draw them, or fill them in?"""

import jax
import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from beyond_shared import SCORES, SETTINGS, UCI, Found, by_split, paired, scored, table
from deepnoise import BDeepNoiseRegressor
from deepnoise.datasets.uci import load_uci
from deepnoise.model.covariates import fill

SHARE = 0.3
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6)
METHODS = ("drawn with the network", "filled with means", "IterativeImputer")
LEVELS = (0.5, 0.8, 0.95)


def keys(s: int) -> list[tuple]:
    return [("missing", name, s, method) for method in METHODS for name in UCI]


def make(key: tuple, folder) -> dict:
    """Scores of one method on one split, and what else is asked of ours."""
    _, name, s, method = key
    data = load_uci(name, folder)
    rng, patterns = np.random.default_rng([0, s]), np.random.default_rng(0)
    (X, y), (X_test, y_test) = ((data.X[part], data.y[part]) for part in data.split(s))
    holed, holed_test = (deleted(rng, x, patterns.random(x.shape) < SHARE) for x in (X, X_test))
    model = BDeepNoiseRegressor(**SETTINGS, random_state=s)
    rows, new = completed(holed, holed_test, method, s)
    scores = scored(model, rows, y, new, y_test)
    if method != METHODS[0]:
        return {"scores": scores}
    return {
        "scores": scores,
        "entries": entry_coverage(model, holed_test, X_test, s),
        "widths": widths(model, rng, X_test, y_test),
    }


def deleted(rng, X: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """X with NaN: the rows of a random pattern, shuffled, so that all splits compile once."""
    gaps = pattern[rng.permutation(len(X))]
    return np.where(gaps, np.nan, X)


def completed(X, X_test, method: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test inputs as a method sees them."""
    if method == METHODS[0]:
        return X, X_test
    many = IterativeImputer(max_iter=100, random_state=seed)
    imputer = many if method == METHODS[2] else SimpleImputer()
    return imputer.fit_transform(X), imputer.transform(X_test)


def entry_coverage(model, X: np.ndarray, truth: np.ndarray, seed: int) -> list[float]:
    """How often the law of the inputs covers deleted entries of new rows."""
    x, true = model.units_.x.apply(X), model.units_.x.apply(truth)
    with jax.enable_x64(True):
        laws = model.predictive_.input_laws
        keys = jax.random.split(jax.random.key(seed), len(laws.mu))
        drawn = jax.jit(jax.vmap(lambda k, law: fill(k, 5, x, law)))(keys, laws)
    drawn = np.asarray(drawn).reshape(-1, *x.shape)
    gaps = np.isnan(x)
    ends = [np.quantile(drawn, (0.5 - level / 2, 0.5 + level / 2), axis=0) for level in LEVELS]
    return [float(np.mean(((low <= true) & (true <= high))[gaps])) for low, high in ends]


def widths(model, rng, X: np.ndarray, y: np.ndarray) -> list[list[float]]:
    """Of 90 % intervals: mean width and coverage, at each share of entries deleted from X."""
    place, found = rng.random(X.shape), []
    for share in SHARES:
        low, high = model.predict_interval(np.where(place < share, np.nan, X), 0.9).T
        found.append([np.mean(high - low), np.mean((low <= y) & (y <= high))])
    return found


def of_ours(found: Found, part: str) -> dict[tuple, np.ndarray]:
    """(splits, ...) of every set: what was asked of our fits besides scores."""
    mine = {key: value[part] for key, value in found.items() if key[::3] == ("missing", METHODS[0])}
    names = [name for name in UCI if any(key[1] == name for key in mine)]
    return {
        (name,): np.array([value for key, value in mine.items() if key[1] == name])
        for name in names
    }


def show(found: Found) -> None:
    rows = by_split(found, "missing", METHODS)
    table(("set", "missing inputs"), SCORES, rows)
    paired("set", SCORES, rows, METHODS[0], ("nll", "crps", "rmse"))
    table(
        ("set",), [f"intervals of {100 * level:g} %" for level in LEVELS], of_ours(found, "entries")
    )
    widths_of = of_ours(found, "widths")
    shares = [f"{100 * share:g} %" for share in SHARES]
    table(("width of 90 %",), shares, {key: part[..., 0] for key, part in widths_of.items()})
    table(("coverage of 90 %",), shares, {key: part[..., 1] for key, part in widths_of.items()})
