"""What a report is about: a fitted model, and the rows on which it is judged."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..estimators.table import take, whole_rows
from ..prediction.mixture import GaussianMixture

# A page is read by people: more rows would cost minutes and change no sentence.
ROWS = 500
# Gradients and variance parts cost far more a row than densities.
DETAIL_ROWS = 50
SHOWN = 6
SEED = 0


@dataclass(frozen=True, eq=False)
class Case:
    """``X``, ``y`` and ``density`` are of the rows that are judged, numbered in ``rows``.

    ``rows`` count from 1, as in the file; there are ``total``.  ``y`` is None if it is not known.
    ``shown`` are places, in these arrays, of the rows whose densities are drawn.
    """

    model: Any
    X: Any
    y: np.ndarray | None
    density: GaussianMixture
    rows: np.ndarray
    total: int
    shown: np.ndarray
    target: str
    source: str

    @property
    def sampled(self) -> bool:
        return len(self.rows) < self.total

    @property
    def observed(self) -> np.ndarray:
        """y, where it is known."""
        if self.y is None:
            raise ValueError("y is not known")
        return self.y

    @property
    def bayesian(self) -> bool:
        """Whether the model has draws of which more can be said."""
        return hasattr(self.model, "posterior_")

    def details(self) -> np.ndarray:
        """Places of rows without gaps for what is expensive, evenly spaced."""
        whole = whole_rows(self.model, self.X)
        places = np.linspace(0, len(whole) - 1, min(len(whole), DETAIL_ROWS)).round().astype(int)
        return whole[places]


def make_case(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    rows: int = ROWS,
    show: tuple[int, ...] = (),
    target: str = "y",
    source: str = "the table",
) -> Case:
    """Rows are drawn at random, always the same, if there are more than ``rows``.

    ``show`` are numbers, from 1, of rows to be drawn; by default six, spread over the predictions.
    """
    total = len(X)
    outside = [n for n in show if not 1 <= n <= total]
    if outside:
        raise ValueError(f"show must be rows from 1 to {total}; got {outside[0]}")
    chosen = judged_rows(total, rows, show)
    few = take(X, chosen)
    observed = None if y is None else outcomes(y, total)[chosen]
    lazy = model.predict_density(few)
    if lazy.n_outcomes > 1:
        raise ValueError(f"a report is of one outcome; the model has {lazy.n_outcomes}")
    # Every section reads the components: they are computed once.
    weights, means, covs = lazy.components()
    density = GaussianMixture.of(means, covs, weights)
    shown = np.searchsorted(chosen, np.array(show, int) - 1) if show else spread(density)
    return Case(model, few, observed, density, chosen + 1, total, shown, target, source)


def judged_rows(total: int, most: int, show: tuple[int, ...]) -> np.ndarray:
    """Places of the rows that are judged, in order: all, or a sample and those to be shown."""
    if total <= most:
        return np.arange(total)
    drawn = np.random.default_rng(SEED).choice(total, most, replace=False)
    return np.union1d(drawn, np.array(show, int) - 1)


def outcomes(y: ArrayLike, total: int) -> np.ndarray:
    values = np.asarray(y, dtype=float)
    if values.size != total:
        raise ValueError(f"y must have one value for each of {total} rows; got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("y must be finite")
    return values.reshape(total)


def spread(density: GaussianMixture) -> np.ndarray:
    """A few rows, evenly spaced in the order of their medians."""
    order = np.argsort(density.quantile(0.5), kind="stable")
    return order[np.linspace(0, len(order) - 1, min(len(order), SHOWN)).round().astype(int)]
