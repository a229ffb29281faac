"""Densities of rows by cross-fitted chains that did not see them, and intervals from these.

A density of a training row is by the chains that left its fold out, which count equally: weights
that are learnt from held-out rows, and the stretch of recalibration, play no part in it.
"""

import warnings

import jax
import numpy as np
from numpy.typing import ArrayLike

from ..inference.stacking import stacked_weights
from ..model.outcome import Window
from ..prediction import conformal, metrics
from ..prediction.density.derived import guarded, interleaved
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.supported import Density
from ..prediction.predict import predictive
from .folds import Folds
from .outcomes import exact_rows, taken
from .predictive import PosteriorPredictive
from .settings import flag

Groups = str | int | tuple[ArrayLike, ArrayLike] | None


class ConformalWarning(UserWarning):
    """There are too few rows for an interval with this guarantee: it is infinite."""


def folds_of(model: PosteriorPredictive, what: str = "this") -> Folds:
    """The folds of a model; an error for what needs them where there are none."""
    if model.folds is None:
        raise ValueError(f"{what} needs cross-fitted chains; fit with cross_fit=2 or more")
    return model.folds


def held_out_density(model: PosteriorPredictive) -> Density:
    """Densities of y at the training rows, each by chains that did not see it."""
    folds = folds_of(model, "held_out_density")
    return model.as_outcomes(_held_out_latent(model), model.units.x.apply(folds.x))


def _held_out_latent(model: PosteriorPredictive) -> PredictiveMixture:
    """Densities of z at the training rows, exposures aside."""
    folds = folds_of(model)
    parts = [of_fold(model, f, folds.x[folds.held(f)]) for f in range(folds.count)]
    return interleaved(parts, folds.of)


def of_fold(model: PosteriorPredictive, fold: int, x: np.ndarray) -> PredictiveMixture:
    """Densities of z at encoded rows by the chains that left a fold out."""
    chains = slice(fold, None, folds_of(model).count)
    return of_chains(model, fold, chains, x, model.guard)


def of_chains(
    model: PosteriorPredictive, fold: int, chains: slice, x: np.ndarray, guard: float = 0.0
) -> PredictiveMixture:
    """Densities of z at encoded rows by some chains of a fold, made in the units of that fold."""
    folds = folds_of(model)
    draws = jax.tree.map(lambda a: a[chains].reshape(-1, *a.shape[2:]), model.posterior.draws)
    rows, h = folds.inputs(fold, x), model.posterior.plan.h
    density = predictive(model.prediction_key(), draws, rows, h, model.paths)
    variance = model.scale.guard_variance(folds.outcomes(fold))
    return folds.units[fold].y.restore(guarded(density, guard, variance))


def stacked_by_fold(model: PosteriorPredictive) -> np.ndarray:
    """Weights of all chains: those of a fold by their densities of its rows."""
    folds, chains = folds_of(model), model.posterior.plan.chains
    weights = np.empty(chains)
    for fold in range(folds.count):
        held, own = folds.held(fold), range(fold, chains, folds.count)
        x, z = folds.x[held], taken(folds.z, held)
        alone = (of_chains(model, fold, slice(c, c + 1), x) for c in own)
        logs = [metrics.log_scores(density, z) for density in alone]
        weights[list(own)] = stacked_weights(np.stack(logs)) / folds.count
    return weights


def conformal_intervals(
    model: PosteriorPredictive, x: np.ndarray, coverage: float, groups: Groups, guaranteed: bool
) -> np.ndarray:
    """CV+ intervals of y at encoded rows, (N, 2) or (N, 2, Q)."""
    folds = folds_of(model, "predict_conformal")
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1; got {coverage}")
    flag("guaranteed", guaranteed)
    hidden = int(np.sum(~exact_rows(folds.y)))
    if hidden:
        raise ValueError(
            f"predict_conformal needs exact outcomes in training; {hidden} are censored, "
            f"rounded or missing"
        )
    if np.isnan(x).any():
        raise ValueError("X: conformal intervals need rows without missing values")
    grouped = _numbered(model, groups, folds, x)
    warn_of_few(folds.of, grouped, coverage, guaranteed)
    levels = [(1 - coverage) / 2, (1 + coverage) / 2]
    held = _quantiles(_held_out_latent(model), levels)
    new = np.stack([_quantiles(of_fold(model, f, x), levels) for f in range(folds.count)])
    z = folds.z
    low, high = (z.lower, z.upper) if isinstance(z, Window) else (z, z)
    found = []
    for q in range(new.shape[-1]):
        scores = conformal.conformity(held[..., q], low[:, q], high[:, q])
        given = new[..., q], scores, folds.of, grouped
        found.append(conformal.grouped_intervals(*given, coverage, guaranteed))
    offset = model.exposure_offset(model.units.x.apply(x))
    return model.scale.intervals(np.stack(found, axis=-1), offset)


def _numbered(model: PosteriorPredictive, groups: Groups, folds: Folds, x: np.ndarray) -> tuple:
    """Groups of the training rows and of new rows, as whole numbers."""
    if groups is None:
        return np.zeros(len(folds.x), int), np.zeros(len(x), int)
    if isinstance(groups, tuple):
        known, new = (np.asarray(part) for part in groups)
        if known.shape != (len(folds.x),) or new.shape != (len(x),):
            raise ValueError(
                f"groups must be those of the {len(folds.x)} training rows and of the {len(x)} "
                f"rows of X; got {known.shape} and {new.shape}"
            )
    else:
        places = model.encoder.places(groups)
        known, new = folds.x[:, places], x[:, places]
    number = np.unique(np.concatenate([known, new]), axis=0, return_inverse=True)[1].ravel()
    return number[: len(known)], number[len(known) :]


def warn_of_few(folds: np.ndarray, groups: tuple, coverage: float, guaranteed: bool) -> None:
    """A warning if a group of new rows has too few training rows for a finite interval."""
    known, new = groups
    short = []
    for group in np.unique(new):
        own = folds[known == group]
        needed = conformal.rows_needed(coverage, max(len(np.unique(own)), 1), guaranteed)
        if len(own) < needed:
            short.append((len(own), needed, int(np.sum(new == group))))
    if short:
        fewest, needed, _ = min(short)
        warnings.warn(
            f"{sum(rows for *_, rows in short)} of {len(new)} intervals are infinite: a guarantee "
            f"of {coverage:g} needs {needed} training rows of a kind, and there are {fewest}; ask "
            f"for less coverage, larger groups, or guaranteed=False",
            ConformalWarning,
            stacklevel=4,
        )


def _quantiles(density: PredictiveMixture, levels: list[float]) -> np.ndarray:
    """(N, M, Q), also for one outcome."""
    found = density.quantile(levels)
    return found[..., None] if density.n_outcomes == 1 else found
