"""Seconds to predict a large table: python benchmarks/predictions.py.

A model of the default size, 4 chains x 200 draws x 10 paths, predicts standard normal inputs.
"before" computes as version 0.1 did: one thread, blocks of 128 rows, a CRPS in float64 alone.
"now" has the same components.  "thinned" is ``model.thinned(paths=1)``: all draws with one
path each.  Every question is asked of a fresh density after a first call, which compiles.
"""

import argparse
import contextlib
import platform
import time
from collections.abc import Callable, Iterator
from unittest import mock

import jax
import numpy as np

import deepnoise
from deepnoise import BDeepNoiseRegressor, PredictiveMixture
from deepnoise.prediction import predict
from deepnoise.prediction.density import components as mixture_components
from deepnoise.prediction.density import crps as mixture_crps

QUESTIONS: dict[str, Callable[[PredictiveMixture, np.ndarray], object]] = {
    "mean": lambda density, _: density.mean(),
    "90 % interval": lambda density, _: density.interval(0.9),
    "three quantiles": lambda density, _: density.quantile([0.05, 0.5, 0.95]),
    "CRPS": lambda density, y: density.crps(y),
    "mean, then 90 % interval": lambda density, _: (density.mean(), density.interval(0.9)),
}
SIZES = {"chains": 4, "warmup": 200, "draws": 200, "thin": 1}
THINNED = ((200, 1), (100, 2), (100, 1), (50, 4), (50, 1), (25, 8))


def fitted(seed: int) -> BDeepNoiseRegressor:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 10))
    noise = (0.2 + 0.3 * np.abs(X[:, 2])) * rng.normal(size=400)
    model = BDeepNoiseRegressor(**SIZES, progress=False, random_state=seed)
    return model.fit(X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + noise)


@contextlib.contextmanager
def as_before() -> Iterator[None]:
    with (
        mock.patch.object(mixture_components, "AHEAD", 1),
        mock.patch.object(mixture_components, "KEPT_VALUES", 1 << 24),
        mock.patch.object(predict, "cores", return_value=1),
        mock.patch.object(mixture_crps, "MANY", 1 << 30),
        mock.patch.object(mixture_crps, "_least_lags", return_value=0),
    ):
        jax.clear_caches()
        yield
    jax.clear_caches()


def seconds(model: BDeepNoiseRegressor, X: np.ndarray, y: np.ndarray, repeats: int) -> dict:
    """The least time of each question over the repeats."""
    found = {}
    for name, ask in QUESTIONS.items():
        few = min(len(X), 1024 + len(X) % 1024)
        ask(model.predict_density(X[:few]), y[:few])
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            ask(model.predict_density(X), y)
            times.append(time.perf_counter() - began)
        found[name] = min(times)
    return found


def errors(model: BDeepNoiseRegressor, X: np.ndarray) -> None:
    full = model.predict_density(X)
    sd = np.sqrt(full.var())
    print("draws  paths  components  cdf: median, worst   |mean error| / sd: median, worst")
    for draws, paths in THINNED:
        small = model.thinned(draws, paths).predict_density(X)
        cdf, mean = full.cdf_distance(small), np.abs(small.mean() - full.mean()) / sd
        numbers = np.median(cdf), cdf.max(), np.median(mean), mean.max()
        print(f"{draws:5} {paths:6} {4 * draws * paths:11}", *(f"{n:9.4f}" for n in numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed + 1)
    X, y = rng.normal(size=(asked.rows, 10)), rng.normal(size=asked.rows)
    print(
        f"deepnoise {deepnoise.__version__}, jax {jax.__version__}, numpy {np.__version__}, "
        f"Python {platform.python_version()}, seed {asked.seed}, {asked.rows} rows"
    )
    model = fitted(asked.seed)
    errors(model, X[:64])
    thinned = seconds(model.thinned(paths=1), X, y, asked.repeats + 1)
    now = seconds(model, X, y, asked.repeats)
    with as_before():
        before = seconds(model, X, y, 1)
    print("seconds                      before       now   thinned")
    for name in QUESTIONS:
        print(f"{name:26}", *(f"{part[name]:9.2f}" for part in (before, now, thinned)))


if __name__ == "__main__":
    main()
