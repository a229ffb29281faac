"""How well exports agree with their model, how large they are, how long a row takes.

A fit of scikit-learn's diabetes data, thinned to a few sizes, written as ONNX and as a program of
jax.export, and run by onnxruntime and JAX on rows that were not used to fit::

    python benchmarks/exports.py --warmup 300 --draws 100
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnxruntime
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import deepnoise
from deepnoise.exports import to_jax, to_onnx

SIZES = ((10, 2), (25, 4), (100, 10))


def seconds(run: Callable[[], object], times: int = 20) -> float:
    """The median of some runs, after one to warm up."""
    run()
    took = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return float(np.median(took))


def worst(found: dict, density: deepnoise.PredictiveMixture) -> dict[str, float]:
    """The largest differences from the model: of means, in its sd; of pdf and sd, relative."""
    found = {name: np.asarray(value, float) for name, value in found.items()}
    sd, y = np.sqrt(density.var()), density.mean()
    z = (y[:, None] - found["means"]) / found["sds"]
    pdf = np.sum(found["weights"] * np.exp(-z * z / 2) / found["sds"], 1) / np.sqrt(2 * np.pi)
    apart = {
        "mean": np.abs(found["mean"] - y) / sd,
        "sd": np.abs(found["sd"] / sd - 1),
        "pdf": np.abs(pdf / density.pdf(y) - 1),
    }
    return {name: float(value.max()) for name, value in apart.items()}


def by_onnx(path: Path, model: object, rows: np.ndarray) -> Callable[[], dict]:
    to_onnx(model, path, str(rows.dtype))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda: dict(zip(names, session.run(names, {"x": rows}), strict=True))


def by_jax(path: Path, model: object, rows: np.ndarray) -> Callable[[], dict]:
    to_jax(model, path, dtype=str(rows.dtype))
    call = jax.jit(jax.export.deserialize(bytearray(path.read_bytes())).call)

    def run() -> dict:
        with jax.enable_x64(rows.dtype == np.float64):
            return {name: np.asarray(value) for name, value in call(rows).items()}

    return run


def main(**sizes: Any) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("warmup", 300), ("draws", 100), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = vars(parser.parse_args())
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, X_test, y, _ = train_test_split(X, y, random_state=given["seed"])
    settings = {"warmup": given["warmup"], "draws": given["draws"], "random_state": given["seed"]}
    settings |= sizes
    model = deepnoise.BDeepNoiseRegressor(**settings).fit(X, y)
    print(f"deepnoise {deepnoise.__version__}, jax {jax.__version__}, ", end="")
    print(f"onnxruntime {onnxruntime.__version__}, {settings}, {len(X_test)} test rows")
    print("format dtype    draws paths components      MB    mean      sd     pdf  ms/row")
    for draws, paths in SIZES:
        small = model.thinned(min(draws, given["draws"]), paths)
        density = small.predict_density(X_test)
        for kind, make in (("onnx", by_onnx), ("jax", by_jax)):
            for dtype in ("float64", "float32"):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "model"
                    apart = worst(make(path, small, X_test.astype(dtype))(), density)
                    one = seconds(make(path, small, X_test[:1].astype(dtype)))
                    size = path.stat().st_size / 1e6
                numbers = " ".join(f"{value:7.0e}" for value in apart.values())
                print(f"{kind:6} {dtype} {draws:5} {paths:5} {density.n_components:10}", end="")
                print(f" {size:7.2f} {numbers} {1000 * one:7.2f}", flush=True)


if __name__ == "__main__":
    main()
