"""What the chains of a classifier say of themselves: class probabilities, draw by draw."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import jax
import numpy as np

from ..prediction.classes import class_functionals, class_probabilities, log_seen
from ..prediction.per_draw import DrawDensities
from .convergence import ChainInsights
from .rows import TrainingRows


class ClassInsights(ChainInsights):
    """Methods for a classifier that has draws; it has what is named here."""

    classes_: np.ndarray
    link: str
    rows_: TrainingRows
    draw_densities_at: Callable[[np.ndarray], DrawDensities]

    def _functionals(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        densities = self.draw_densities_at(self.rows_.x[rows])
        found = np.concatenate([p for _, p in self._probabilities(densities)])
        names, chains = [str(name) for name in self.classes_], len(self.chain_weights_)
        return class_functionals(found, self._labels()[rows], names, chains, rows.tolist())

    def _log_likelihood(self) -> np.ndarray:
        labels, densities = self._labels(), self.draw_densities_at(self.rows_.x)
        blocks = self._probabilities(densities)
        found = np.concatenate([log_seen(p, labels[rows]) for rows, p in blocks])
        return found.T.reshape(len(self.chain_weights_), -1, len(labels))

    def _observed(self) -> np.ndarray:
        return self.classes_[self._labels()].astype(str)

    def _named(self) -> dict[str, Sequence[str]]:
        choices = self.posterior_.plan.outcome == "choice"
        names = {"outcomes": [str(name) for name in self.classes_]} if choices else {}
        return super()._named() | names

    def _beside(self) -> Mapping[str, np.ndarray]:
        cuts = self.posterior_.run.beside.cuts
        return {} if cuts is None else {"cuts": cuts}

    def _labels(self) -> np.ndarray:
        """Classes of the training rows as numbers; (N,)."""
        return np.ravel(jax.tree.leaves(self.rows_.seen)[0])

    def _cuts(self) -> np.ndarray | None:
        cuts = self.posterior_.run.beside.cuts
        return None if cuts is None else np.asarray(cuts, float).reshape(-1, cuts.shape[-1])

    def _probabilities(self, densities: DrawDensities) -> Iterator[tuple[slice, np.ndarray]]:
        """P(class | x, Θ) for blocks of rows, (B, M, C)."""
        return class_probabilities(densities, self._cuts(), self.link)
