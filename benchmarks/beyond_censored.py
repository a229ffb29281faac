"""Outcomes censored or rounded: say so with windows, drop them, or take bounds for values?"""

import matplotlib.pyplot as plt
import numpy as np

from beyond_shared import SCORES, SETTINGS, remembered, save, scored, table
from deepnoise import BDeepNoiseRegressor, BDeepNoiseSurvival, right_censored, rounded
from deepnoise.datasets.uci import load_uci
from deepnoise.plots.style import BLUE, CHAINS, GREY, ORANGE, paper_style
from deepnoise.prediction.concordance import concordance

SHARE = 0.4
METHODS = ("windows", "censored rows dropped", "bounds as values")
ROUNDING = ("windows, rounded", "rounded as exact")
SURVIVAL_ROWS = 300
TIMES = np.geomspace(0.05, 40, 60)
PLACES = np.array([[-1.2, 0.0], [0.0, -1.0], [0.0, 1.0], [1.2, 0.0]])


def censored(rng, y: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """(time, event): points from the law of y plus a shift, so that exactly ``share`` end early."""
    points = rng.permutation(y) + 1e-6 * y.std() * rng.normal(size=len(y))
    apart = np.sort(y - points)
    points = points + apart[-round(share * len(y)) - 1]
    return np.minimum(y, points), y <= points


def run(args) -> None:
    scores: dict[tuple, list] = {}
    for s in range(args.splits):
        for name in args.sets:
            for method in (*METHODS, *ROUNDING):
                key = "censored", name, s, method, args.seed
                found = remembered(args.out, key, lambda: one_fit(*key[1:], args.data))  # noqa: B023
                scores.setdefault((name, method), []).append(found)
    table(("set", "outcomes"), SCORES, scores)
    survival = []
    for s in range(args.splits):
        key = "survival", args.seed + s
        survival.append(remembered(args.out, key, lambda: simulated_survival(key[1])))  # noqa: B023
    measures = ("concordance", "mean error of P(time > t)")
    found = {(method,): [s[method] for s in survival] for method in survival[0] if method != "band"}
    table(("survival of 300 rows, 40 % censored",), measures, found)
    draw(scores, survival[0]["band"], args.images / "censored.png")


def one_fit(name: str, s: int, method: str, seed: int, folder) -> list[float]:
    data = load_uci(name, folder)
    (X, y), test = ((data.X[part], data.y[part]) for part in data.split(s))
    rows = ways(np.random.default_rng([seed, s]), X, y)[method]
    model = BDeepNoiseRegressor(**SETTINGS, random_state=seed + s)
    return scored(model, *rows, *test, name, s, method)[1]


def ways(rng, X: np.ndarray, y: np.ndarray) -> dict[str, tuple]:
    """Training rows as each method sees them."""
    time, event = censored(rng, y, SHARE)
    step = y.std()
    coarse = np.round(y / step) * step
    return {
        METHODS[0]: (X, right_censored(time, event)),
        METHODS[1]: (X[event], time[event]),
        METHODS[2]: (X, time),
        ROUNDING[0]: (X, rounded(coarse, step)),
        ROUNDING[1]: (X, coarse),
    }


def true_log_time(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre and scale of a log-logistic time: a bend in the first input, spread by the second."""
    return 1.2 * np.abs(x[:, 0]) - 0.5 + 0.6 * x[:, 1], 0.25 + 0.35 / (1 + np.exp(-2 * x[:, 1]))


def true_survival(x: np.ndarray, times: np.ndarray) -> np.ndarray:
    centre, scale = true_log_time(x)
    return 1 / (1 + np.exp((np.log(times) - centre[:, None]) / scale[:, None]))


def simulated_survival(seed: int) -> dict:
    """Concordance with exact test times, and distance of the survival curves from the truth."""
    rng = np.random.default_rng([seed, 1])
    x = rng.normal(size=(SURVIVAL_ROWS + 500, 2))
    centre, scale = true_log_time(x)
    log_time = centre + scale * rng.logistic(size=len(x))
    train, new = x[:SURVIVAL_ROWS], x[SURVIVAL_ROWS:]
    log_seen, event = censored(rng, log_time[:SURVIVAL_ROWS], SHARE)
    exact = np.exp(log_time[SURVIVAL_ROWS:])
    settings = SETTINGS | {"random_state": seed}
    fits = {
        "truth": None,
        METHODS[0]: BDeepNoiseSurvival(**settings).fit(train, (np.exp(log_seen), event)),
        METHODS[1]: BDeepNoiseSurvival(**settings).fit(
            train[event], (np.exp(log_seen[event]), event[event])
        ),
    }
    found: dict = {}
    for method, model in fits.items():
        median = np.exp(centre[SURVIVAL_ROWS:]) if model is None else model.predict(new)
        truth = true_survival(new, TIMES)
        curves = truth if model is None else model.predict_survival(new, TIMES)
        order = concordance(median, exact, np.ones(len(exact), bool))
        found[method] = [order, np.abs(curves - truth).mean()]
    band = fits[METHODS[0]].survival_bands(PLACES, TIMES, 0.9)
    found["band"] = [part.tolist() for part in (band.mean, band.lower, band.upper)]
    print("survival", seed, found[METHODS[0]], found[METHODS[1]], flush=True)
    return found


@paper_style
def draw(scores: dict[tuple, list], band, path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.8), layout="constrained")
    names = list(dict.fromkeys(name for name, _ in scores))
    for m, (method, colour) in enumerate(zip(METHODS, (BLUE, GREY, ORANGE), strict=True)):
        nll = np.array([[row[0] for row in scores[name, method]] for name in names])
        place = np.arange(len(names)) + 0.2 * (m - 1)
        left.plot(place, nll, ".", color=colour, alpha=0.4)
        left.plot(place, nll.mean(1), "o", color=colour, label=method)
    left.set_xticks(range(len(names)), names)
    left.set(title=f"{SHARE:.0%} of outcomes censored", ylabel="negative log likelihood")
    left.legend()
    for i, truth in enumerate(true_survival(PLACES, TIMES)):
        label = f"x = ({PLACES[i, 0]:g}, {PLACES[i, 1]:g})"
        mean, lower, upper = (part[i] for part in band)
        right.plot(TIMES, mean, color=CHAINS[i], label=label)
        right.fill_between(TIMES, lower, upper, color=CHAINS[i], alpha=0.2, lw=0)
        right.plot(TIMES, truth, "--", color=CHAINS[i], lw=0.9)
    right.set(title="survival, 90 % bands; dashed: truth", xlabel="t", ylabel="P(time > t)")
    right.set_xscale("log")
    right.legend()
    save(figure, path)
