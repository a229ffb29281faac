"""``PosteriorPredictive``: what predictions are made from after a fit, in one frozen value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..inference.diagnostics import Diagnostics, diagnose
from ..inference.posterior import Posterior
from ..inference.runtime import numerics
from ..inference.streams import INPUT_LAWS, PREDICTION
from ..model.covariates import InputLaw, input_prior, inputs_given
from ..model.outcome import Window
from ..prediction.density.derived import guarded, stretched
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.supported import Density
from ..prediction.per_draw import (
    DrawDensities,
    chain_likelihoods,
    predictive_functionals,
    spaced,
)
from ..prediction.predict import predictive
from .encode import TableEncoder, without_later
from .folds import Folds, TrainingRows
from .outcomes import taken
from .scale import NetworkScale
from .units import Units

# Credible intervals need the law of each single draw, hence more paths than the predictive does.
PATHS_A_DRAW = 64
DIAGNOSED_ROWS = 50


class Predictive(Protocol):
    """What every fitted regressor predicts by."""

    def density(self, rows: np.ndarray) -> Density:
        """Densities of y at standardised rows."""

    def as_outcomes(self, density: PredictiveMixture, rows: np.ndarray) -> Density:
        """Densities of what a model is fitted to, at standardised rows, as those of y."""


@dataclass(frozen=True, eq=False)
class PosteriorPredictive:
    """A posterior and all that makes densities of it.

    An estimator with chains has it as ``predictive_``.  Its rows are standardised ones: for a table
    X, those of ``model.encoded_rows(X)``.  z is what the network predicts, which is y itself
    unless the model has a support.

    Attributes
    ----------
    encoder : TableEncoder
        How X becomes numbers.
    units : Units
        The units of X and z.
    posterior : Posterior
        The draws; with cross-fitting, in the units of the rows that a chain saw.
    chain_weights : array (chains,)
        Weight of each chain.
    rows : TrainingRows
        The rows of the fit, in standardised units.
    scale : NetworkScale
        Support and exposure: the way from y to z.
    paths : int
        Noise paths of each draw.
    folds : Folds or None
        The folds of cross-fitted chains.
    guard : float
        Weight of the wide normal.
    stretch : float
        The factor by which densities of z are stretched about their means.
    """

    encoder: TableEncoder
    units: Units
    posterior: Posterior
    chain_weights: np.ndarray
    rows: TrainingRows
    scale: NetworkScale
    paths: int
    folds: Folds | None = None
    guard: float = 0.0
    stretch: float = 1.0

    def same_as(self, other: "PosteriorPredictive") -> bool:
        """Whether another one has the very same parts; plain values may be equal."""
        plain = int | float | str | NetworkScale
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(a is b or (isinstance(a, plain) and a == b) for a, b in pairs)

    def network_rows(self, rows: np.ndarray) -> np.ndarray:
        """Inputs of the network: exposures count nothing."""
        return self.scale.inputs(rows, self.units.x)

    def exposure_offset(self, rows: np.ndarray) -> np.ndarray | None:
        """What is added to z at rows; None without exposures."""
        return self.scale.offset(rows, self.units.x)

    def as_outcomes(self, density: PredictiveMixture, rows: np.ndarray) -> Density:
        """Densities of z at rows, as those of y."""
        return self.scale.outcomes(density, self.exposure_offset(rows))

    @property
    def posterior_in_units(self) -> Posterior:
        """The posterior with the draws of all chains in the units of the model."""
        if self.folds is None:
            return self.posterior
        common = self.folds.common(self.posterior.draws, self.units)
        return replace(self.posterior, run=replace(self.posterior.run, draws=common))

    def draw_weights(self) -> np.ndarray:
        """Probabilities of the draws of all chains, one chain after the other."""
        return np.repeat(self.chain_weights, draws := self.posterior.run.n_draws) / draws

    def prediction_key(self) -> jax.Array:
        """The key of the noise paths of every prediction."""
        return self._key(PREDICTION)

    def _key(self, number: int) -> jax.Array:
        with numerics():
            return jax.random.fold_in(jax.random.key(self.posterior.plan.seed), number)

    @cached_property
    def input_laws(self) -> InputLaw:
        """The law of the inputs, one for each draw of Theta.

        If the training rows had no gaps, they are independent draws given those rows.
        """
        laws, later = self._drawn_input_laws(), self.encoder.later_site
        return laws if later is None else without_later(laws, later)

    def _drawn_input_laws(self) -> InputLaw:
        kept = self.posterior.run.beside.inputs
        if kept is not None:
            return jax.tree.map(lambda a: np.asarray(a).reshape(-1, *a.shape[2:]), kept)
        x = self.rows.x
        with numerics():
            keys = jax.random.split(self._key(INPUT_LAWS), len(self.draw_weights()))
            law = inputs_given(jnp.asarray(x), input_prior(x.shape[1]))
            return jax.tree.map(np.asarray, jax.lax.map(law.sample, keys))

    def _laws_of_gaps(self, x: np.ndarray) -> InputLaw | None:
        return self.input_laws if np.isnan(x).any() else None

    def density(self, rows: np.ndarray) -> Density:
        """The predictive density of y at rows."""
        return self.as_outcomes(self.network_density(rows), rows)

    def network_density(self, rows: np.ndarray) -> PredictiveMixture:
        """The same of z."""
        variance = self.scale.guard_variance(self.rows.y.astype(float))
        found = guarded(self.posterior_density(rows), self.guard, variance)
        found = self.units.y.restore(found)
        return found if self.stretch == 1 else stretched(found, self.stretch)

    def unguarded(self, rows: np.ndarray) -> Density:
        """The posterior predictive alone, neither guarded nor stretched, of y."""
        return self.as_outcomes(self.units.y.restore(self.posterior_density(rows)), rows)

    def posterior_density(self, rows: np.ndarray) -> PredictiveMixture:
        """The posterior predictive alone, in standardised units of z."""
        x, flat = self.network_rows(rows), self.posterior_in_units.flat()
        given = self.prediction_key(), flat, x, self.posterior.plan.h, self.paths
        return predictive(*given, self.draw_weights(), self._laws_of_gaps(x))

    def draw_densities(self, rows: np.ndarray) -> DrawDensities:
        """The law of z of every draw at rows, exposures included."""
        found, offset = self.draw_densities_at(self.network_rows(rows)), self.exposure_offset(rows)
        return found if offset is None else replace(found, shift=found.shift + offset[:, None])

    def draw_densities_at(self, x: np.ndarray) -> DrawDensities:
        """The same at rows of the network's inputs, exposures aside."""
        return DrawDensities(
            key=self.prediction_key(),
            draws=self.posterior_in_units.flat(),
            weights=self.draw_weights(),
            x=x,
            h=self.posterior.plan.h,
            paths=max(self.paths, PATHS_A_DRAW),
            scale=np.array(self.units.y.scale),
            shift=np.array(self.units.y.mean),
            inputs=self._laws_of_gaps(x),
        )

    def training_densities(self, rows: Any = slice(None)) -> tuple[DrawDensities, Any]:
        """The law of z of every draw at training rows, and what was seen of z there."""
        seen = jax.tree.map(self.units.y.undo, taken(self.rows.seen, rows))
        return self.draw_densities_at(self.rows.x[rows]), seen

    def functionals(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Scalars of the predictive law at training rows; name -> (chain, draw)."""
        densities, y = self.training_densities(rows)
        return predictive_functionals(densities, y, len(self.chain_weights), rows.tolist())

    def log_likelihood(self) -> np.ndarray:
        """log p(z | x, Θ) of the training rows; (chain, draw, N)."""
        return chain_likelihoods(*self.training_densities(), len(self.chain_weights))

    def observed(self) -> Any:
        """What was seen in the training rows, (N,), (N, Q), or several such by name."""
        _, y = self.training_densities()
        if not isinstance(y, Window):
            return y
        return {"y_lower": y.lower[:, 0], "y_upper": y.upper[:, 0]}

    def names(self) -> dict[str, Sequence[str]]:
        """Names of "inputs" and, if there are any, of "outcomes"."""
        return {"inputs": self.units.x.names(self.encoder.feature_names)}

    def beside(self) -> Mapping[str, np.ndarray]:
        """Draws of what is no weight; name -> (chain, draw, ...)."""
        return {}

    def diagnosed_rows(self) -> np.ndarray:
        """Numbers of the training rows whose predictions judge the chains."""
        return spaced(len(self.rows), DIAGNOSED_ROWS)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """R-hat, effective sample sizes and a verdict on predictions at training rows."""
        return diagnose(self.functionals(self.diagnosed_rows()), self.posterior.plan.folds)

    @property
    def verdict(self) -> str:
        """What the diagnostics say, if they have been asked for."""
        return self.diagnostics.verdict if "diagnostics" in vars(self) else ""
