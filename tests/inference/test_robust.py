"""Hard data and extreme variances: every number stays finite, in both dtypes and both kernels."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.kernels import Data, GibbsKernel, InterweavedKernel
from deepnoise.inference.priors import build_prior
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import CHAIN_AXES
from deepnoise.model.activation import hard_tanh, piecewise_linear
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.network import Prior, sample_prior

SWEEPS = 30
HIDDEN = (3, 2)
SURE = 1e6
KERNELS = {
    "gibbs": lambda h: GibbsKernel(h, settle=5),
    "interweaved": lambda h: InterweavedKernel(h, warmup=20, settle=5, leapfrogs=5),
}


def rows(name: str, N: int = 12, P: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """(x, y) with one thing wrong."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(N, P)), rng.normal(size=(N, 1))
    if name == "duplicated column":
        x[:, 1] = x[:, 0]
    elif name == "collinear columns":
        x[:, 3] = x[:, 0] - 2 * x[:, 1] + 1e-9 * x[:, 2]
    elif name == "constant columns":
        x[:, :2] = 0.0, 1e3
    elif name == "constant y":
        y[:] = 0.0
    elif name == "duplicated rows":
        x[:], y[:] = x[:1], y[:1]
    elif name == "huge":
        x[0], y[0] = 1e4, -1e4
    return x, y


DATA = (
    "duplicated column",
    "collinear columns",
    "constant columns",
    "constant y",
    "duplicated rows",
    "huge",
)


def pinned(prior: Prior, parts: tuple[str, ...], value: float) -> Prior:
    """``prior`` with the variances of some parts as good as known."""
    fix = lambda law: InverseGamma(jnp.full_like(law.a, SURE), jnp.full_like(law.b, SURE * value))
    changed = {name: tuple(map(fix, getattr(prior, name))) for name in parts}
    return Prior(**{**prior.__dict__, **changed})


def priors(widths, dtype) -> list[Prior]:
    """The default, the paper's, noise of 1e-10, and weights of variance 1e-20 and 1e20."""
    default = build_prior("default", widths, dtype)
    return [
        default,
        build_prior("paper", widths, dtype),
        pinned(default, ("preact", "postact"), 1e-10),
        pinned(default, ("weight", "bias"), 1e-20),
        pinned(default, ("weight", "bias"), 1e20),
        pinned(build_prior("paper", widths, dtype), ("preact", "postact"), 1e10),
    ]


@partial(jax.jit, static_argnums=0)
def run(kernel, keys, theta, scales, data):
    """Final states of one chain for each prior, on every data set."""

    def one_chain(key, theta, scales, data):
        state = kernel.init(key, theta, scales, data)
        step = lambda t, s: kernel.step(jax.random.fold_in(key, t), t, s, data)
        return jax.lax.fori_loop(0, SWEEPS, step, state)

    chains = jax.vmap(one_chain, in_axes=(0, 0, 0, CHAIN_AXES))
    return jax.vmap(chains, in_axes=(None, None, None, Data(0, 0, None)))(keys, theta, scales, data)


def start(key, stacked: Prior, widths, dtype):
    """Theta and Scales drawn from each prior; the paper's has no moments, so it is kept sane."""
    draw = jax.jit(jax.vmap(lambda key, prior: sample_prior(key, prior, widths, dtype)))
    theta, scales = draw(jax.random.split(key, len(stacked.weight[0].a)), stacked)
    return jax.tree.map(lambda a: jnp.clip(a, -1e10, 1e10), (theta, scales))


def assert_finite(names, state):
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        broken = ~np.isfinite(np.asarray(leaf)).reshape(*leaf.shape[:2], -1).all(axis=2)
        where = [(names[i], int(j)) for i, j in np.argwhere(broken)]
        assert not where, f"{jax.tree_util.keystr(path)}: {where}"


def check(key, kernel, dtype, names, N, P, h=hard_tanh):
    with numerics():
        widths = (P, *HIDDEN, 1)
        stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *priors(widths, dtype))
        theta, scales = start(key, stacked, widths, dtype)
        x, y = (jnp.asarray(np.stack(part), dtype) for part in zip(*(rows(n, N, P) for n in names)))
        keys = jax.random.split(jax.random.fold_in(key, 1), len(stacked.weight[0].a))
        state = run(KERNELS[kernel](h), keys, theta, scales, Data(x, y, stacked))
        assert_finite(names, state)
        final = getattr(state, "gibbs", state)
        variances = jax.tree.leaves((final.theta.tau2, final.theta.sigma2, final.scales))
        assert min(float(s2.min()) for s2 in variances) > 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_bad_columns_and_extreme_variances(kernel, key):
    check(key, kernel, "float32", DATA, N=12, P=4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_row_and_more_columns_than_rows(kernel, key):
    check(key, kernel, "float32", ("plain", "constant y"), N=1, P=4)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("N", [1, 3, 12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_of_it_in_both_dtypes(dtype, N, kernel, key):
    steep = piecewise_linear((0.0, 50.0, -3.0), (0.0, 1.0, 0.0), (-0.1, 2.0))
    check(key, kernel, dtype, DATA, N=N, P=4)
    check(key, kernel, dtype, DATA, N=N, P=4, h=steep)
