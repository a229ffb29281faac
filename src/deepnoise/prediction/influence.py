"""How strongly each feature moves the predictive mean and spread, and which way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..inference import notebook
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear
from ..model.marginal import last_covariance, path_means
from ..model.network import Theta
from .credible import Band, band, check_level
from .density.sums import padded
from .per_draw import DrawDensities, moments, row_blocks, spaced, weighted_quantiles

# Products of two columns are looked for in tables of at most so many.
PAIRED = 32
# Of a table in a notebook.
SHOWN_COLUMNS = 20
# Averages over rows at each level: more of them would change no digit that is shown.
ROWS, VALUES = 200, 1 << 24


@dataclass(frozen=True, eq=False)
class Category:
    """A column of text: its inputs ``places``, what these are at each level, and their shares.

    Shapes: ``places`` (K,), ``inputs`` (K, K) a row a level, ``shares`` (K,) of the training rows.
    """

    name: str
    levels: tuple[str, ...]
    places: np.ndarray
    inputs: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True, eq=False)
class LevelEffects:
    """E[y] and sd[y] at each level less their mean over all levels; Bands (K,), or (K, Q)."""

    names: tuple[str, ...]
    mean: Band
    sd: Band


def contrasts(densities: DrawDensities, category: Category) -> np.ndarray:
    """E and sd of y at every level less their mean over levels as frequent as in training.

    Of at most 200 rows, evenly spaced; (mean or sd, row, draw, outcome, level).
    """
    a_row = len(densities.weights) * densities.n_outcomes * len(category.levels)
    x = densities.x[spaced(len(densities.x), int(np.clip(VALUES // a_row, 10, ROWS)))]
    found = []
    for inputs in category.inputs:
        there = x.copy()
        there[:, category.places] = inputs
        found.append(np.stack(moments(replace(densities, x=there))))
    values = np.stack(found, axis=-1)
    return values - (values @ category.shares)[..., None]


@dataclass(frozen=True, eq=False)
class Effects:
    """Of every column on the mean, or on the sd, of y: units of y per sd of the column; (C,).

    ``size`` is the mean over rows of the |slope| of the prediction; ``floor`` is how large that
    would have to be, the effect having the shape it has, to be told from noise; ``signed`` is the
    posterior of the mean slope, whose interval may hold zero.  The size of a category is the sd of
    the prediction over its levels, and it has no sign (NaN).  With Q > 1 outcomes all are (C, Q).
    """

    size: np.ndarray
    floor: np.ndarray
    signed: Band

    @property
    def clear(self) -> np.ndarray:
        """Whether a column can be told from noise."""
        return self.size > self.floor

    @property
    def sign(self) -> np.ndarray:
        """1 or -1 where a column is clear and its interval is on one side of zero, else 0."""
        side = (self.signed.lower > 0).astype(int) - (self.signed.upper < 0)
        return np.where(self.clear, side, 0)


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of encoded features, as the paper measures it, and of whole columns.

    ``predictive`` is the mean over rows of |∂E[y|x]/∂x_j| in units of y per unit of the feature,
    (P,) or (P, Q).  ``mean`` and ``sd`` are the posteriors of the mean over rows of
    |∂E[y|x,Θ]/∂x_j| and |∂sd[y|x,Θ]/∂x_j|: never zero, even of pure noise.  For what can be told
    from noise see ``on_mean`` and ``on_sd``, of ``columns``, and ``levels`` of the categories.
    """

    names: tuple[str, ...]
    predictive: np.ndarray
    mean: Band
    sd: Band
    columns: tuple[str, ...]
    on_mean: Effects
    on_sd: Effects
    levels: Mapping[str, LevelEffects]
    level: float

    def __repr__(self) -> str:
        return notebook.lines(*influence_table(self))

    def _repr_html_(self) -> str:
        return notebook.table(*influence_table(self))


@dataclass(frozen=True, eq=False)
class Slopes:
    """Of C features or columns, summed up over rows, for the mean and the sd of y (first axis 2).

    Three measures see effects of different shapes (the axis S): the mean |slope| any; the |mean
    slope| those of a straight line; the largest |mean slope times a column| those of a parabola
    or a product of two.  The last two average more, and so see weaker effects.  ``predicted``
    (2, S, Q, C) is of the slopes of the prediction, ``apart`` (2, M, S, Q, C) of what those of a
    draw differ by from them, and ``signed`` (2, M, Q, C) are the mean slopes of the draws.
    """

    predicted: np.ndarray
    apart: np.ndarray
    signed: np.ndarray


def influence(
    densities: DrawDensities,
    names: tuple[str, ...],
    input_slopes: np.ndarray,
    scored: Sequence[int],
    level: float,
    scale: np.ndarray,
    categories: Sequence[Category] = (),
) -> Influence:
    """Gradients along the noise paths, averaged; of categories differences between levels.

    ``input_slopes`` (N, inputs) are the derivatives of the network's inputs by the features that
    they are of: the first P inputs of the P features, the others of the features ``scored``.
    ``scale`` (P,) are the features' standard deviations.
    """
    check_level(level)
    densities.refuse_gaps("influence")
    if not np.isfinite(densities.h.lipschitz):
        raise ValueError("influence needs a continuous activation; this one has jumps")
    Q = densities.n_outcomes
    found, absolute = _slopes(densities, len(names), input_slopes, scored)
    mean, sd = (_band(densities, part, level) for part in absolute)
    between = {c.name: contrasts(densities, c) for c in categories}
    columns, whole = _by_column(densities, names, found, scale, categories, between)
    on_mean, on_sd = (_effects(densities, whole, part, level) for part in (0, 1))
    levels = {
        c.name: LevelEffects(
            c.levels, *(_band(densities, part, level) for part in between[c.name].mean(axis=1))
        )
        for c in categories
    }
    predictive = _squeezed(found.predicted[0, 0], Q)
    return Influence(names, predictive, mean, sd, columns, on_mean, on_sd, levels, level)


def noise_floor(apart: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """Sizes that all of S effects of noise stay below with probability ``level``; (S,).

    ``apart`` (M, S) are sizes of what each posterior draw, of probability ``weights`` (M,), differs
    by from the prediction.  Were a column noise, its true slopes would be zero, and the slopes of
    the prediction nothing but error.  The posterior says how large errors are: a draw stands to
    the prediction as the truth does.  So sizes ``apart`` are what the prediction's would be
    without any effect; with a prior that shrinks, rather more than that.  All S share a factor,
    so that it is ``level`` of the draws that are below in every one: however many columns of noise
    there are, a fit in which one of them passes is rare.

    Why neither a permutation nor the prior: slopes do not change when a column is permuted unless
    the chains are run again, once a column; and slopes of the prior are those of a column that
    matters as much as any, far above noise.  This costs nothing.  It is as good as the chains:
    where they disagree, floors are high; a single draw says nothing of errors.
    """
    if len(apart) == 1:
        return np.full(apart.shape[1], np.inf)
    each = weighted_quantiles(apart, weights, [level], axis=0)[0]
    ratio = np.divide(apart, each, out=np.zeros_like(apart), where=each > 0)
    return weighted_quantiles(ratio.max(axis=1), weights, [level], axis=0)[0] * each


@partial(jax.jit, static_argnums=(3, 4))
def gradients(key, draws: Theta, x, h: PiecewiseLinear, paths: int):
    """∂E[y|x,Θ]/∂x and ∂sd[y|x,Θ]/∂x for every draw and row: (M, B, Q, P) each."""

    def moments(row, theta):
        means = path_means(key, theta, row[None], h, paths)[:, 0]
        variance = jnp.diagonal(last_covariance(theta)) + jnp.var(means, axis=0)
        return jnp.mean(means, axis=0), jnp.sqrt(variance)

    def one_draw(theta):
        return jax.vmap(lambda row: jax.jacrev(moments)(row, theta))(x)

    return jax.lax.map(one_draw, draws)


def _slopes(
    densities: DrawDensities, P: int, input_slopes: np.ndarray, scored: Sequence[int]
) -> tuple[Slopes, np.ndarray]:
    """Of the P features, per unit of each; and the draws' mean |slopes| (2, M, Q, P)."""
    N, M, Q = len(densities.x), len(densities.weights), densities.n_outcomes
    size, (apart, signed, absolute) = np.zeros((2, Q, P)), np.zeros((3, 2, M, Q, P))
    z = _standardised(densities.x[:, :P])
    tilted = np.zeros((2, M, Q, P, P if P <= PAIRED else 1))
    draws, _, paths = densities.simulated()
    with numerics():
        for rows in row_blocks(N, 2 * M * Q * input_slopes.shape[1]):
            x = np.asarray(densities.x[rows], float)
            found = gradients(densities.key, draws, padded(x), densities.h, paths)
            # (mean or sd, draw, row, outcome, feature)
            slopes = np.stack([np.asarray(part)[:, : len(x)] for part in found])
            slopes *= densities.scale[:, None] * input_slopes[rows, None]
            slopes[..., scored] += slopes[..., P:]
            slopes = slopes[..., :P]
            predicted = _predicted(densities, slopes)
            size += np.abs(predicted).sum(axis=1) / N
            apart += np.abs(slopes - predicted[:, None]).sum(axis=2) / N
            signed += slopes.sum(axis=2) / N
            tilted += _tilts(slopes, z[rows]) / N
            absolute += np.abs(slopes).sum(axis=2) / N
    straight, bent = (_predicted(densities, part) for part in (signed, tilted))
    sizes = np.stack([size, np.abs(straight), np.abs(bent).max(axis=-1)], axis=1)
    moved = np.abs(signed - straight[:, None]), np.abs(tilted - bent[:, None]).max(axis=-1)
    return Slopes(sizes, np.stack([apart, *moved], axis=2), signed), absolute


def _tilts(slopes: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Sums over rows of slope times column, (2, M, Q, P, K); only its own where there are many."""
    if z.shape[1] > PAIRED:
        return np.einsum("imnqp,np->imqp", slopes, z)[..., None]
    return np.einsum("imnqp,nk->imqpk", slopes, z, optimize=True)


def _standardised(x: np.ndarray) -> np.ndarray:
    away = np.asarray(x, float) - np.mean(x, axis=0)
    return away / np.maximum(away.std(axis=0), np.finfo(float).tiny)


def _predicted(densities: DrawDensities, values: np.ndarray) -> np.ndarray:
    """The average over draws, which are on axis 1."""
    return np.einsum("im...,m->i...", values, densities.weights)


def _by_column(
    densities: DrawDensities, names, found: Slopes, scale, categories, between
) -> tuple[tuple[str, ...], Slopes]:
    """Columns in the order of the table; the features of a category are one, without a sign."""
    whole = Slopes(found.predicted * scale, found.apart * scale, found.signed * scale)
    columns, dropped = list(names), []
    for category in categories:
        first, *others = category.places
        predicted, apart = _sizes(densities, category, between[category.name])
        whole.predicted[..., first], whole.apart[..., first] = predicted, apart
        whole.signed[..., first] = np.nan
        columns[first] = category.name
        dropped += others
    kept = np.delete(np.arange(len(names)), np.array(dropped, int))
    parts = (part[..., kept] for part in (whole.predicted, whole.apart, whole.signed))
    return tuple(columns[j] for j in kept), Slopes(*parts)


def _sizes(densities: DrawDensities, category: Category, between: np.ndarray) -> tuple:
    """``predicted`` and ``apart`` of a category, of contrasts (2, row, draw, outcome, level).

    What stands for a straight line and for a parabola is the effect of levels averaged over rows.
    """
    values = np.moveaxis(between, 2, 1)
    predicted = _predicted(densities, values)
    apart = values - predicted[:, None]

    def spread(contrast):
        return np.sqrt(contrast**2 @ category.shares)

    same = spread(predicted.mean(axis=1)), spread(apart.mean(axis=2))
    any_row = spread(predicted).mean(axis=1), spread(apart).mean(axis=2)
    return tuple(np.stack([a, b, b], axis=-2) for a, b in zip(any_row, same, strict=True))


def _effects(densities: DrawDensities, whole: Slopes, part: int, level: float) -> Effects:
    predicted, apart = whole.predicted[part], whole.apart[part]
    size, Q = predicted[0], densities.n_outcomes
    floor = np.empty_like(size)
    for q in range(Q):
        flat = apart[:, :, q].reshape(len(apart), -1)
        floors = noise_floor(flat, densities.weights, level).reshape(predicted[:, q].shape)
        beyond = np.divide(predicted[:, q], floors, out=np.zeros_like(floors), where=floors > 0)
        strength = beyond.max(axis=0)
        floor[q] = np.divide(size[q], strength, out=floors[0], where=strength > 0)
    signed = _band(densities, whole.signed[part], level)
    return Effects(_squeezed(size, Q), _squeezed(floor, Q), signed)


def _band(densities: DrawDensities, values: np.ndarray, level: float) -> Band:
    """Of values (M, Q, C): Bands (C,), or (C, Q)."""
    found, Q = band(densities, values, level, axis=0), densities.n_outcomes
    return Band(*(_squeezed(v, Q) for v in (found.mean, found.lower, found.upper)))


def _squeezed(values: np.ndarray, outcomes: int) -> np.ndarray:
    """(C,) from (1, C), (C, Q) from (Q, C)."""
    return values[0] if outcomes == 1 else values.T


def influence_table(found: Influence) -> tuple[str, list[str], list[list[str]]]:
    """The strongest columns first; of several outcomes, a line a column and outcome."""
    effects, spread = found.on_mean, found.on_sd
    columns = len(found.columns)
    size, floor, mean, low, high, on_sd = (
        part.reshape(columns, -1)
        for part in (
            effects.size,
            effects.floor,
            effects.signed.mean,
            effects.signed.lower,
            effects.signed.upper,
            spread.size,
        )
    )
    outcomes = size.shape[1]
    order = np.argsort(-size.max(axis=1), kind="stable")[:SHOWN_COLUMNS]
    rows = [
        [
            found.columns[j],
            *([str(q + 1)] if outcomes > 1 else []),
            f"{size[j, q]:.4g}",
            f"{floor[j, q]:.4g}",
            f"{mean[j, q]:+.4g} ({low[j, q]:.4g} to {high[j, q]:.4g})",
            f"{on_sd[j, q]:.4g}",
        ]
        for j in order
        for q in range(outcomes)
    ]
    outcome = ["outcome"] if outcomes > 1 else []
    more = f", the {SHOWN_COLUMNS} strongest of {columns:,}" if columns > SHOWN_COLUMNS else ""
    return (
        f"Influence: change of y per sd of a column{more}",
        ["column", *outcome, "size", "noise reaches", "direction", "size, on the sd of y"],
        rows,
    )
