"""``ClassPredictive``: what the probabilities of classes are made from after a fit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from ..prediction.classes import (
    ClassUncertainty,
    class_functionals,
    class_probabilities,
    log_seen,
    uncertainty,
)
from ..prediction.credible import Band, band, check_level, joined
from ..prediction.per_draw import DrawDensities
from .predictive import PosteriorPredictive


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassPredictive(PosteriorPredictive):
    """A posterior of utilities and what makes class probabilities of them.

    Attributes
    ----------
    classes : array (C,)
        The classes.
    link : {"probit", "logit"}
        Noise between utility and class.
    """

    classes: np.ndarray
    link: str

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """P(class | x) at rows, (N, C)."""
        densities = self.draw_densities_at(rows)
        found = [densities.average(p) for _, p in self._blocks(densities)]
        return np.clip(np.concatenate(found), 0.0, 1.0)

    def bands(self, rows: np.ndarray, level: float) -> Band:
        """The same with credible intervals."""
        check_level(level)
        densities = self.draw_densities_at(rows)
        return joined([band(densities, p, level) for _, p in self._blocks(densities)], outcomes=2)

    def uncertainty(self, rows: np.ndarray) -> ClassUncertainty:
        """The entropy of the predicted class, split."""
        densities = self.draw_densities_at(rows)
        return uncertainty(densities, (p for _, p in self._blocks(densities)))

    def functionals(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Probabilities at training rows; name -> (chain, draw)."""
        densities = self.draw_densities_at(self.rows.x[rows])
        found = np.concatenate([p for _, p in self._blocks(densities)])
        names, chains = [str(name) for name in self.classes], len(self.chain_weights)
        return class_functionals(found, self._labels()[rows], names, chains, rows.tolist())

    def log_likelihood(self) -> np.ndarray:
        """log P(class | x, Θ) of the training rows; (chain, draw, N)."""
        labels, blocks = self._labels(), self._blocks(self.draw_densities_at(self.rows.x))
        found = np.concatenate([log_seen(p, labels[rows]) for rows, p in blocks])
        return found.T.reshape(len(self.chain_weights), -1, len(labels))

    def observed(self) -> np.ndarray:
        """Classes of the training rows, as text."""
        return self.classes[self._labels()].astype(str)

    def names(self) -> dict[str, Sequence[str]]:
        """Names of "inputs" and, of classes without an order, of "outcomes"."""
        choices = self.posterior.plan.outcome == "choice"
        return super().names() | ({"outcomes": [str(c) for c in self.classes]} if choices else {})

    def beside(self) -> Mapping[str, np.ndarray]:
        """Draws of the cut points, of classes with an order."""
        cuts = self.posterior.run.beside.cuts
        return {} if cuts is None else {"cuts": cuts}

    def _labels(self) -> np.ndarray:
        """Classes of the training rows as numbers; (N,)."""
        return np.ravel(jax.tree.leaves(self.rows.seen)[0])

    def _blocks(self, densities: DrawDensities) -> Iterator[tuple[slice, np.ndarray]]:
        """P(class | x, Θ) for blocks of rows, (B, M, C)."""
        cuts = self.posterior.run.beside.cuts
        if cuts is not None:
            cuts = np.asarray(cuts, float).reshape(-1, cuts.shape[-1])
        return class_probabilities(densities, cuts, self.link)
