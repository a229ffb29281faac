"""The parts of a default fit against their floors: gradient start, interweaved step, prediction.

    python benchmarks/default_fit.py

As many rows and columns as scikit-learn's diabetes data.  The floor is flops over the rate of a
large product, hashes and logarithms, at the rates of ``bench.py``, measured in the same run.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from bench import best, floor, rates, weights
from deepnoise.estimators import settings
from deepnoise.estimators.bdeepnoise import BDeepNoiseRegressor
from deepnoise.inference.kernels import InterweavedKernel
from deepnoise.inference.posterior import Plan, begin, chain_priors
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import advance, chain_keys
from deepnoise.inference.unseen import Data
from deepnoise.prediction.predict import predictive

ROWS, P, NEW = 442, 10, 1000
STEPS, SWEEPS, LEAPFROGS = 400, 20, 50


def plan() -> Plan:
    """The default one, its start stopped after so many steps."""
    full = settings.plan(BDeepNoiseRegressor().get_params(deep=False), 0, ROWS)
    return replace(full, warmstart=replace(full.warmstart, steps=STEPS, patience=STEPS))


def start_floor(p: Plan, widths: tuple[int, ...], r: dict[str, float]) -> float:
    """A step of all trainings: a product forward and two backward, an exponential a path."""
    w = p.warmstart
    cells = w.batch * w.paths
    products = w.batch * widths[0] * widths[1] + cells * weights(widths[1:])
    hashes = 2 * w.paths * sum(p.hidden)
    one = 3 * 2 * products * r["flop32"] + cells * r["log"] + hashes * (r["hash"] + r["log"])
    return p.chains * len(w.rates) * one


def kernel_of(p: Plan) -> InterweavedKernel:
    """The plan's, with trajectories of one length."""
    kernel = p.kernel()
    assert isinstance(kernel, InterweavedKernel)
    return replace(kernel, lengths=(LEAPFROGS,))


def step_floor(p: Plan, widths: tuple[int, ...], r: dict[str, float]) -> float:
    """Gradients, refreshed paths with their noise, and a sweep, of all chains."""
    kernel = kernel_of(p)
    passes = 3 * (LEAPFROGS + 1) + kernel.tries + 2
    noises = ROWS * kernel.tries * (2 * sum(p.hidden) - p.hidden[-1])
    move = 2 * ROWS * weights(widths) * passes * r["flop32"]
    paths = noises * (r["hash"] + 2 * r["log"])
    return p.chains * (move + paths + floor(ROWS, r, widths))


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, P)).astype(np.float32)
    y = np.tanh(x[:, :1]) + np.float32(0.1) * rng.normal(size=(ROWS, 1)).astype(np.float32)
    p = plan()
    widths = p.widths(x, y)
    paths = BDeepNoiseRegressor().paths
    components = p.chains * p.draws * paths
    with numerics():
        r = rates()
        rows = jnp.asarray(x), jnp.asarray(y)
        starting = jax.jit(begin, static_argnums=0)
        start, state = starting(p.program(), 0, *rows)
        data = Data(*rows, chain_priors(p, start.theta, *rows))
        keys = chain_keys(0, p.chains)
        sweeping = lambda: advance(kernel_of(p), 1, keys, state, 0, SWEEPS, data)[0]  # noqa: E731
        measured = {
            f"start, a step of {p.chains} x {len(p.warmstart.rates)} trainings": (
                best(starting, p.program(), 0, *rows, repeats=3) / STEPS,
                start_floor(p, widths, r),
            ),
            f"interweaved, a step of {p.chains} chains, {LEAPFROGS} leapfrogs": (
                best(sweeping, repeats=5) / SWEEPS,
                step_floor(p, widths, r),
            ),
        }
        many = jax.tree.map(lambda a: jnp.repeat(a, p.draws, axis=0), start.theta)
    new = rng.normal(size=(NEW, P))
    key = jax.random.key(0)
    product = NEW * components * weights(widths[1:]) + NEW * p.chains * p.draws * P * widths[1]
    measured[f"prediction, {NEW} rows x {components} components"] = (
        best(lambda: np.asarray(predictive(key, many, new, p.h, paths).mean()), repeats=3),
        2 * product * r["flop64"],
    )
    print(f"jax {jax.__version__}, {ROWS} rows, {P} columns, hidden {p.hidden}")
    print("\n| what | ms | floor ms | ratio |\n|---|---|---|---|")
    for what, (seconds, least) in measured.items():
        print(f"| {what} | {1e3 * seconds:.2f} | {1e3 * least:.2f} | {seconds / least:.1f} |")


if __name__ == "__main__":
    main()
