"""A fitted model as constants, and its densities, written once for numpy, JAX and the ONNX graph.

It is what an export needs to answer for new rows without deepnoise.  ``xp`` is ``numpy``,
``jax.numpy`` or :class:`deepnoise.exports.onnx_file.Ops`.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..estimators.bdeepnoise import BDeepNoiseRegressor
from ..estimators.survival import BDeepNoiseSurvival
from ..estimators.units import FAR, Inputs, Score
from ..model.activation import PiecewiseLinear
from ..prediction.predict import covariances, drawn_paths

# ONNX files end at 2 GB, and compilers of such constants need several times their size.
MOST_BYTES = 1 << 30
DTYPES = ("float64", "float32")
# An export is compared with its model on so many training rows.
ROWS = 4
TOLERANCE = 1e-9


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
    fitted = model.predictive_
    draws = jax.tree.map(lambda a: np.asarray(a, float), fitted.posterior_in_units.flat())
    paths = model.paths if draws.L else 1
    key, variance = fitted.prediction_key(), float(model.rows_.y.astype(float).var(axis=0)[0])
    covs = covariances(draws)
    before, after = (
        tuple(part[:, :, None] for part in noise) for noise in drawn_paths(key, draws, paths)
    )
    return Network(
        inputs=model.units_.x,
        h=model.posterior_.plan.h,
        weights=tuple(beta.swapaxes(1, 2)[:, None] for beta in draws.beta),
        before=before,
        after=after,
        shares=np.repeat(fitted.draw_weights() / paths, paths),
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
        len(model.chain_weights_) * run.n_draws,
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


class Mixture(NamedTuple):
    """Gaussian mixtures of N rows, in the user's unit, and their moments.

    Shapes: weights and sds (1, C), means (N, C), mean and sd (N,).
    """

    weights: Any
    means: Any
    sds: Any
    mean: Any
    sd: Any


def mixture(network: Network, x: Any, xp: Any) -> Mixture:
    """The mixture of encoded rows x (N, features) in the user's units."""
    means = path_means(network, network_inputs(network, x, xp), xp)
    shares, sds = network.shares[:, None], network.sds[None]
    centre = means @ shares
    means = centre + network.stretch * (means - centre)
    weights, sds = network.shares[None], network.stretch * sds
    if network.guard is not None:
        share, sd = (network.dtype.type(part) for part in network.guard)
        means = xp.concatenate([means, centre], axis=1)
        weights = _appended((1 - share) * weights, share)
        sds = _appended(sds, network.stretch * sd)
    apart = means - centre
    variance = apart * apart @ weights.T + (sds * sds) @ weights.T
    scale, shift = network.scale, network.shift
    return Mixture(
        weights,
        scale * means + shift,
        scale * sds,
        xp.reshape(scale * centre + shift, (-1,)),
        xp.reshape(scale * xp.sqrt(variance), (-1,)),
    )


def network_inputs(network: Network, x: Any, xp: Any) -> Any:
    """Standardised features and the scores of some, (N, P)."""
    dtype, units = network.dtype, network.inputs
    row = lambda values: np.array(values, dtype)[None]  # noqa: E731
    z = xp.clip((x - row(units.mean)) / row(units.scale), -FAR, FAR)
    columns = [z[:, s.column : s.column + 1] for s in units.scores]
    scores = [score_of(s, column, xp) for s, column in zip(units.scores, columns, strict=True)]
    return xp.concatenate([z, *scores], axis=1) if scores else z


def score_of(score: Score, t: Any, xp: Any) -> Any:
    """``Score.apply`` as a cubic for each stretch between knots."""
    starts, cubics = score.cubics()
    t = xp.clip(t, score.knots[0], score.knots[-1])
    value = _polynomial(cubics[0], t - starts[0])
    for start, cubic in zip(starts[1:], cubics[1:], strict=True):
        value = xp.where(t >= start, _polynomial(cubic, t - start), value)
    return value


def path_means(network: Network, u: Any, xp: Any) -> Any:
    """β_L h(v_{L-1}) + γ_L of every row, draw and path, (N, M R), in standard units.

    The pass of ``model.network.forward``, in operations that an ONNX graph has too.
    """
    hidden = len(network.weights) - 1
    for l in range(hidden):
        u = activated(network.h, u @ network.weights[l] + network.before[l], xp)
        if l < hidden - 1:
            u = u + network.after[l]
    means = u @ network.weights[-1] + network.before[-1]
    return xp.reshape(xp.transpose(means, (2, 0, 1, 3)), (-1, len(network.shares)))


def activated(h: PiecewiseLinear, t: Any, xp: Any) -> Any:
    """h(t), the pieces from the left."""
    value = h.b[0] * t + h.b_prime[0]
    for b, b_prime, c in zip(h.b[1:], h.b_prime[1:], h.c, strict=True):
        value = xp.where(t >= c, b * t + b_prime, value)
    return value


def _polynomial(coefficients: tuple[float, ...], t: Any) -> Any:
    """Horner's rule, the highest power first."""
    value = coefficients[0] * t
    for coefficient in coefficients[1:-1]:
        value = (value + coefficient) * t
    return value + coefficients[-1]


def _appended(row: np.ndarray, value: float) -> np.ndarray:
    return np.append(row, [[value]], axis=1).astype(row.dtype)


def header(
    model: Any, network: Network, outputs: Mapping[str, Sequence[Any]], **more: Any
) -> dict[str, Any]:
    """Columns, shapes and versions, for JSON."""
    encoder, run = model.encoder_, model.posterior_.run
    return {
        "format": "deepnoise export",
        "version": 1,
        "deepnoise": __version__,
        "estimator": type(model).__name__,
        "outcome": "log time" if isinstance(model, BDeepNoiseSurvival) else "y",
        "columns": encoder.to_dict()["columns"],
        "features": list(encoder.feature_names),
        "dtype": str(network.dtype),
        "outputs": {name: list(shape) for name, shape in outputs.items()},
        "components": network.components,
        "chains": len(model.chain_weights_),
        "draws": int(run.n_draws),
        "paths": int(model.paths),
        **more,
    }


def output_shapes(components: int) -> dict[str, tuple]:
    """Shapes of the outputs, in the order of :class:`Mixture`."""
    shapes = (1, components), ("rows", components), (1, components), ("rows",), ("rows",)
    return dict(zip(Mixture._fields, shapes, strict=True))


def write_whole(files: Mapping[Path, bytes]) -> None:
    """Write files whole or not at all: each beside its place first, then moved there."""
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in files}
    try:
        for path, content in files.items():
            parts[path].write_bytes(content)
        for path, part in parts.items():
            part.replace(path)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)


def check_agreement(model: Any, network: Network) -> None:
    """An error unless the network has the components that the model has, on a few rows.

    Rows are the means of the features, and the first training rows without gaps.
    """
    units = model.units_.x
    seen = np.asarray(model.rows_.x[:, : network.features], float)
    whole = seen[~np.isnan(seen).any(axis=1)][:ROWS]
    standard = np.concatenate([np.zeros((1, network.features)), whole])
    x = standard * np.array(units.scale) + np.array(units.mean)
    rows = units.apply(x)
    expected = model.predictive_.density(rows).components()
    found = mixture(network, x, np)
    sds = np.sqrt(expected.covs[..., 0, 0])
    apart = max(
        float(np.max(np.abs(found.means - expected.means[..., 0]) / np.max(sds))),
        float(np.max(np.abs(found.sds / sds - 1))),
        float(np.max(np.abs(found.weights - expected.weights))),
    )
    if not apart < TOLERANCE:
        raise ValueError(
            f"model: its export would differ from it by {apart:.1g} standard deviations, so it "
            f"was not written; this model uses something that exports do not know yet"
        )
