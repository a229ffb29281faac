"""The densities of a network, written once for numpy, JAX and the ONNX graph.

``xp`` is ``numpy``, ``jax.numpy`` or :class:`deepnoise.exports.onnx_file.Ops`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..estimators.units import FAR, Score
from ..model.activation import PiecewiseLinear
from .network import Network


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
    """β_L h(v_{L-1}) + γ_L of every row, draw and path, (N, M R), in standard units."""
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
