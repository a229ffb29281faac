"""A fitted model as constants: what an export needs to answer for new rows without deepnoise."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators.bdeepnoise import BDeepNoiseRegressor
from ..estimators.units import Inputs
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..model.marginal import last_covariance, path_noises
from ..model.network import Theta

# ONNX files end at 2 GB, and compilers of such constants need several times their size.
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Network:
    """M draws of a network with R noise paths each, the noise fixed, and the units of one outcome.

    Layer l has ``weights[l]`` (M, 1, in, out) and ``before[l]``, bias and noise of v (M, R, 1, K),
    the last one without noise; ``after[l]`` (M, R, 1, K) is the noise that h(v) is given between
    hidden layers.  ``shares`` and ``sds`` are those of the M R components, in standard units.
    """

    inputs: Inputs
    h: PiecewiseLinear
    weights: tuple[np.ndarray, ...]
    before: tuple[np.ndarray, ...]
    after: tuple[np.ndarray, ...]
    shares: np.ndarray
    sds: np.ndarray
    guard: tuple[float, float] | None
    stretch: float
    scale: float
    shift: float

    @property
    def components(self) -> int:
        """The number of components of every row."""
        return len(self.shares) + (self.guard is not None)

    @property
    def features(self) -> int:
        """The number of encoded columns."""
        return len(self.inputs.scale)

    @property
    def dtype(self) -> np.dtype:
        return self.shares.dtype

    def astype(self, dtype: str) -> "Network":
        """The same network with constants of this precision."""
        cast = lambda arrays: tuple(array.astype(dtype) for array in arrays)  # noqa: E731
        return replace(
            self,
            weights=cast(self.weights),
            before=cast(self.before),
            after=cast(self.after),
            shares=self.shares.astype(dtype),
            sds=self.sds.astype(dtype),
        )


def network_of(model: Any) -> Network:
    """The network of a fitted regressor or survival model; an error for what has none."""
    check_exportable(model)
    draws = jax.tree.map(lambda a: np.asarray(a, float), model.posterior_in_units().flat())
    paths = model.paths if draws.L else 1
    key, variance = model.prediction_key(), float(model.rows_.y.astype(float).var(axis=0)[0])
    with numerics():
        covs = np.asarray(jax.vmap(last_covariance)(draws))
    before, after = _noisy(key, draws, paths)
    return Network(
        inputs=model.units_.x,
        h=model.posterior_.plan.h,
        weights=tuple(beta.swapaxes(1, 2)[:, None] for beta in draws.beta),
        before=before,
        after=after,
        shares=np.repeat(model.draw_weights() / paths, paths),
        sds=np.repeat(np.sqrt(covs[:, 0, 0]), paths),
        guard=(float(model.guard), variance**0.5) if model.guard and variance > 0 else None,
        stretch=float(model.stretch_),
        scale=float(model.units_.y.scale[0]),
        shift=float(model.units_.y.mean[0]),
    )


def check_exportable(model: Any) -> None:
    """An error, in one line, for models whose densities are not those of one network of y."""
    name = type(model).__name__
    if not isinstance(model, BDeepNoiseRegressor):
        raise ValueError(
            f"model must be a BDeepNoiseRegressor or BDeepNoiseSurvival; got {name}, which the "
            f"MLflow flavour can hold"
        )
    check_is_fitted(model)
    outcomes, run = len(model.units_.y.scale), model.posterior_.run
    if outcomes > 1:
        raise ValueError(f"model has {outcomes} outcomes, an export one: fit a model for each")
    if not model.support_.is_real:
        raise ValueError(
            f"model has a support ({model.support_.kind}), which these files cannot apply: use the "
            f"MLflow flavour, or fit without support"
        )
    if not run.n_draws:
        raise ValueError("model has no draws yet: resume it first")
    size = _bytes(
        model.posterior_.plan.widths(model.rows_.x, model.rows_.y),
        len(model.draw_weights()),
        model.paths,
    )
    if size > MOST_BYTES:
        raise ValueError(
            f"model would take {size / 1e9:.1f} GB, more than {MOST_BYTES / 1e9:.1f}: thin it, "
            f"such as model.thinned(draws=25, paths=4)"
        )


def _bytes(widths: tuple[int, ...], draws: int, paths: int) -> int:
    """What the constants take in float64."""
    weights = sum(a * b for a, b in pairwise(widths))
    return 8 * draws * (weights + paths * 2 * sum(widths[1:-1]))


def _noisy(
    key: jax.Array, draws: Theta, paths: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Biases with the noise of v, and the noise of u, as predictions draw them."""
    widths = tuple(gamma.shape[1] for gamma in draws.gamma[:-1])
    with numerics():
        numbers = jnp.arange(len(draws.gamma[0]))
        noises = [np.asarray(pair) for pair in _noises(key, numbers, widths, paths)]
    wide = lambda a: a[:, None, None]  # noqa: E731
    before = [
        wide(draws.gamma[l]) + np.sqrt(wide(draws.tau2[l])) * e for l, (e, _) in enumerate(noises)
    ]
    after = [np.sqrt(wide(draws.sigma2[l])) * d for l, (_, d) in enumerate(noises[:-1])]
    return (*before, wide(draws.gamma[-1])), tuple(after)


@partial(jax.jit, static_argnums=(2, 3))
def _noises(key: jax.Array, numbers: jax.Array, widths: tuple[int, ...], paths: int) -> list:
    """(2, M, paths, 1, K) for each hidden layer: the numbers of ``marginal.path_tops``."""

    def one_draw(m):
        key_m = jax.random.fold_in(key, m)
        layers = [jax.random.fold_in(key_m, l) for l in range(len(widths))]
        return [
            path_noises(layer, paths, width, jnp.float64)
            for layer, width in zip(layers, widths, strict=True)
        ]

    return [pair.swapaxes(0, 1) for pair in jax.lax.map(one_draw, numbers)]
