"""Inputs deleted completely at random, in training and test rows: draw them, or fill them in?"""

import jax
import matplotlib.pyplot as plt
import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from beyond_shared import SCORES, SETTINGS, remembered, save, scored, table
from deepnoise import BDeepNoiseRegressor
from deepnoise.datasets.uci import load_uci
from deepnoise.model.covariates import fill
from deepnoise.plots.style import BLUE, GREEN, GREY, ORANGE, paper_style

SHARE = 0.3
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6)
METHODS = ("drawn with the network", "filled with means", "IterativeImputer")
COLOURS = dict(zip(METHODS, (BLUE, GREY, ORANGE), strict=True))
LEVELS = (0.5, 0.8, 0.95)


def deleted(rng, X: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """X with NaN: the rows of a random pattern, shuffled, so that all splits compile once."""
    gaps = pattern[rng.permutation(len(X))]
    return np.where(gaps, np.nan, X)


def entry_coverage(model, X: np.ndarray, truth: np.ndarray, seed: int) -> list[float]:
    """How often the law of the inputs covers deleted entries of new rows."""
    x, true = model.units_.x.apply(X), model.units_.x.apply(truth)
    with jax.enable_x64(True):
        laws = model._all_input_laws()
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


def run(args) -> None:
    scores: dict[tuple, list] = {}
    covered: dict[tuple, list] = {}
    by_share = []
    for s in range(args.splits):
        for name in args.sets:
            for method in METHODS:
                key = "missing", name, s, method, args.seed
                found = remembered(args.out, key, lambda: one_fit(*key[1:], args.data))  # noqa: B023
                scores.setdefault((name, method), []).append(found["scores"])
                if method == METHODS[0]:
                    covered.setdefault((name,), []).append(found["entries"])
                    if name == args.sets[0]:
                        by_share.append(found["widths"])
    table(("set", "missing inputs"), SCORES, scores)
    table(("set",), [f"{level:.0%} of deleted entries" for level in LEVELS], covered)
    if by_share:
        share = {(f"{s:.0%}",): [b[i] for b in by_share] for i, s in enumerate(SHARES)}
        table(("deleted from test rows",), ("width of 90 %", "coverage"), share)
    draw(scores, np.array(by_share), args.images / "missing.png")


def one_fit(name: str, s: int, method: str, seed: int, folder) -> dict:
    """Scores of one method, and what else is asked of ours."""
    data = load_uci(name, folder)
    rng, patterns = np.random.default_rng([seed, s]), np.random.default_rng(seed)
    (X, y), (X_test, y_test) = ((data.X[part], data.y[part]) for part in data.split(s))
    holed, holed_test = (deleted(rng, x, patterns.random(x.shape) < SHARE) for x in (X, X_test))
    model = BDeepNoiseRegressor(**SETTINGS, random_state=seed + s)
    rows, new = completed(holed, holed_test, method, seed + s)
    model, found = scored(model, rows, y, new, y_test, name, s, method)
    if method != METHODS[0]:
        return {"scores": found}
    return {
        "scores": found,
        "entries": entry_coverage(model, holed_test, X_test, s),
        "widths": widths(model, rng, X_test, y_test),
    }


def completed(X, X_test, method: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test inputs as a method sees them."""
    if method == METHODS[0]:
        return X, X_test
    many = IterativeImputer(max_iter=100, random_state=seed)
    imputer = many if method == METHODS[2] else SimpleImputer()
    return imputer.fit_transform(X), imputer.transform(X_test)


@paper_style
def draw(scores: dict[tuple, list], by_share: np.ndarray, path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.8), layout="constrained")
    names = list(dict.fromkeys(name for name, _ in scores))
    for m, method in enumerate(METHODS):
        nll = np.array([[row[0] for row in scores[name, method]] for name in names])
        place = np.arange(len(names)) + 0.2 * (m - 1)
        left.plot(place, nll, ".", color=COLOURS[method], alpha=0.4)
        left.plot(place, nll.mean(1), "o", color=COLOURS[method], label=method)
    left.set_xticks(range(len(names)), names)
    left.set(title=f"{SHARE:.0%} of inputs deleted", ylabel="negative log likelihood")
    left.legend()
    if by_share.size:
        mean = by_share.mean(0)
        right.plot(SHARES, mean[:, 0], "o-", color=BLUE, label="width of 90 % intervals")
        right.set(title=names[0], xlabel="share deleted from test rows", ylabel="width")
        right.set_ylim(0)
        beside = right.twinx()
        beside.plot(SHARES, mean[:, 1], "s--", color=GREEN)
        right.plot([], [], "s--", color=GREEN, label="their coverage")
        beside.set(ylim=(0, 1), ylabel="coverage")
        beside.spines["right"].set_visible(True)
        right.legend(loc="lower right")
    save(figure, path)
