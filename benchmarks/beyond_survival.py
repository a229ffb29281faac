"""Survival times of which the true curves are known, 40 % of them censored."""

import numpy as np

from beyond_censored import SHARE, censored
from beyond_shared import SETTINGS, Found, table
from deepnoise import BDeepNoiseSurvival
from deepnoise.prediction.metrics import concordance

ROWS = 300
METHODS = ("windows", "censored rows dropped")
MEASURES = ("concordance", "mean error of P(time > t)")
TIMES = np.geomspace(0.05, 40, 60)
PLACES = np.array([[-1.2, 0.0], [0.0, -1.0], [0.0, 1.0], [1.2, 0.0]])


def keys(s: int) -> list[tuple]:
    return [("survival", "log-logistic", s, method) for method in METHODS]


def true_log_time(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre and scale of a log-logistic time: a bend in the first input, spread by the second."""
    return 1.2 * np.abs(x[:, 0]) - 0.5 + 0.6 * x[:, 1], 0.25 + 0.35 / (1 + np.exp(-2 * x[:, 1]))


def true_survival(x: np.ndarray, times: np.ndarray) -> np.ndarray:
    centre, scale = true_log_time(x)
    return 1 / (1 + np.exp((np.log(times) - centre[:, None]) / scale[:, None]))


def make(key: tuple, _folder) -> dict:
    """Concordance with exact test times, and distance of the survival curves from the truth."""
    _, _, s, method = key
    rng = np.random.default_rng([s, 1])
    x = rng.normal(size=(ROWS + 500, 2))
    centre, scale = true_log_time(x)
    log_time = centre + scale * rng.logistic(size=len(x))
    train, new, exact = x[:ROWS], x[ROWS:], np.exp(log_time[ROWS:])
    log_seen, event = censored(rng, log_time[:ROWS], SHARE)
    kept = np.ones(ROWS, bool) if method == METHODS[0] else event
    model = BDeepNoiseSurvival(**SETTINGS, random_state=s)
    model.fit(train[kept], (np.exp(log_seen[kept]), event[kept]))
    curves, truth = model.predict_survival(new, TIMES), true_survival(new, TIMES)
    everyone = np.ones(len(exact), bool)
    found = {
        "scores": [concordance(model.predict(new), exact, everyone), np.abs(curves - truth).mean()],
        "best": concordance(np.exp(centre[ROWS:]), exact, everyone),
    }
    if method == METHODS[0]:
        band = model.survival_bands(PLACES, TIMES, 0.9)
        found["band"] = [part.tolist() for part in (band.mean, band.lower, band.upper)]
    return found


def show(found: Found) -> None:
    mine = {key: value for key, value in found.items() if key[0] == "survival"}
    rows = {
        (method,): np.array([v["scores"] for key, v in mine.items() if key[3] == method])
        for method in METHODS
        if any(key[3] == method for key in mine)
    }
    best = [v["best"] for key, v in mine.items() if key[3] == METHODS[0]]
    if best:
        rows["the truth",] = np.array([[value, 0.0] for value in best])
    table((f"survival, {len(best)} sets of {ROWS} rows",), MEASURES, rows)
