"""What cross-fitted chains give: densities of rows by chains that did not see them, and their use.

A density of a training row is by the chains that left its fold out, which count equally: weights
that are learnt from held-out rows, and ``stretch_``, play no part in it.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..inference.posterior import Plan, Posterior
from ..inference.stacking import stacked_weights
from ..model.outcome import Window
from ..prediction import conformal, metrics
from ..prediction.density.derived import guarded, interleaved
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.support import Support
from ..prediction.density.supported import Density
from ..prediction.predict import predictive
from .encode import TableEncoder
from .folds import Folds, given_rows
from .outcomes import exact_rows, taken
from .settings import flag
from .units import Units

Groups = str | int | tuple[ArrayLike, ArrayLike] | None


class ConformalWarning(UserWarning):
    """There are too few rows for an interval with this guarantee: it is infinite."""


class CrossFitted:
    """Methods for a density regressor with chains that may leave rows out."""

    cross_fit: int | None
    guard: float
    paths: int
    standardize: Any
    encoder_: TableEncoder
    support_: Support
    units_: Units
    posterior_: Posterior
    folds_: Folds | None
    _given: tuple[np.ndarray, Any]
    _features: Callable[[Any], np.ndarray]
    _guard_variance: Callable[[np.ndarray], np.ndarray]
    _latent: Callable[[np.ndarray, Any], Any]
    _learnt_units: Callable[..., Units]
    exposure_offset: Callable[[np.ndarray], np.ndarray | None]
    network_rows: Callable[[np.ndarray], np.ndarray]
    prediction_key: Callable[[], jax.Array]
    as_outcomes: Callable[[PredictiveMixture, np.ndarray], Density]
    _scores: Callable[[Density, Any], dict[str, float]]

    def held_out_density(self) -> Density:
        """Return the density of each training row by chains that did not see it.

        It needs a fit with ``cross_fit``.  Chains count equally in it, whatever ``combine`` is, and
        :meth:`recalibrate` does not change it.

        Returns
        -------
        PredictiveMixture or SupportedDensity
            Of the training rows, in their order.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, cross_fit=2, warmup=50, draws=20, random_state=0
        ... )
        >>> len(model.fit(X, X[:, 0] ** 2).held_out_density())
        40
        """
        folds = self._cross_fitted("held_out_density")
        rows = self.units_.x.apply(folds.x)
        return self.as_outcomes(self._held_out_latent(folds), rows)

    def held_out_report(self) -> dict[str, float]:
        """Judge the predictive densities on the training rows, each by chains that did not see it.

        It needs a fit with ``cross_fit``.  Each chain saw a share of 1 - 1/K of the rows, so a fit
        of all of them would do slightly better.

        Returns
        -------
        dict of str to float
            As of :meth:`score_report`.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, cross_fit=2, warmup=50, draws=20, random_state=0
        ... )
        >>> list(model.fit(X, X[:, 0] ** 2).held_out_report())[:3]
        ['rmse', 'nll', 'crps']
        """
        return self._scores(self.held_out_density(), self._cross_fitted("held_out_report").y)

    def recalibrate(self, X: Any = None, y: ArrayLike | None = None) -> Any:
        """Stretch all predictive densities about their means by one factor.

        The factor, ``stretch_``, is the one with the least negative log likelihood on these rows.
        Credible bands, decompositions and diagnostics do not change.  :meth:`fit` resets it to 1.

        Parameters
        ----------
        X : table (N, P), optional
            Rows that were not used to fit.  After a fit with ``cross_fit`` none are needed: then
            each training row is predicted by chains that did not see it.
        y : array (N,) or (N, Q), optional
            Their outcomes.

        Returns
        -------
        self
        """
        if (X is None) != (y is None):
            raise ValueError("recalibrate needs both X and y, or, after a cross_fit, neither")
        if X is not None:
            # The mixin stands left of the estimator that has the method.
            return super().recalibrate(X, y)  # type: ignore[misc]
        folds = self._cross_fitted("recalibrate without X and y")
        self._stretch_by(self.held_out_density(), folds.y)  # type: ignore[attr-defined]
        return self

    def predict_conformal(
        self, X: Any, coverage: float = 0.9, groups: Groups = None, guaranteed: bool = True
    ) -> np.ndarray:
        """Return prediction intervals that hold what they promise, however wrong the model is.

        They are CV+ intervals of a fit with ``cross_fit``: the model's own intervals, made wider or
        narrower by how far the training rows lay outside those of chains that did not see them.
        If new rows are exchangeable with the training rows, the interval of a new row holds its
        outcome with probability ``coverage`` or more.  That is an average over training sets and
        new rows, of all kinds together: with ``groups``, of each group by itself.

        Parameters
        ----------
        X : table (N, P)
            Rows without missing values.
        coverage : float
            Probability of the interval.
        groups : str, int, or pair of arrays, optional
            A column of X, by name or number, each of whose values is a group; or the groups of the
            training rows and those of the rows of X.
        guaranteed : bool
            False gives shorter intervals, which cover about ``coverage`` in practice; what is
            certain of them is 2 coverage - 1.

        Returns
        -------
        array (N, 2), or (N, 2, Q) for several outcomes
            Lower and upper end; infinite, with a ``ConformalWarning``, where a group is too small.
            Several outcomes have an interval each, with its own guarantee.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 60)[:, None]
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, cross_fit=2, warmup=50, draws=20, random_state=0
        ... )
        >>> model.fit(X, X[:, 0] ** 2).predict_conformal([[0.5]], 0.9).shape
        (1, 2)
        """
        folds = self._cross_fitted("predict_conformal")
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1; got {coverage}")
        flag("guaranteed", guaranteed)
        hidden = int(np.sum(~exact_rows(folds.y)))
        if hidden:
            raise ValueError(
                f"predict_conformal needs exact outcomes in training; {hidden} are censored, "
                f"rounded or missing"
            )
        x = self._features(X)
        if np.isnan(x).any():
            raise ValueError("X: conformal intervals need rows without missing values")
        grouped = self._groups(groups, folds, x)
        warn_of_few(folds.of, grouped, coverage, guaranteed)
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        held = _quantiles(self._held_out_latent(folds), levels)
        new = np.stack([_quantiles(self._of_fold(f, x), levels) for f in range(folds.count)])
        z = folds.z
        low, high = (z.lower, z.upper) if isinstance(z, Window) else (z, z)
        found = []
        for q in range(new.shape[-1]):
            scores = conformal.conformity(held[..., q], low[:, q], high[:, q])
            given = new[..., q], scores, folds.of, grouped
            found.append(conformal.grouped_intervals(*given, coverage, guaranteed))
        return self._as_intervals(np.stack(found, axis=-1), x)

    def _as_intervals(self, z: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Intervals (N, 2, Q) on the network's scale, in the user's units."""
        offset = self.exposure_offset(self.units_.x.apply(x))
        moved = z if offset is None else z + offset[:, None, None]
        ends = moved if self.support_.is_real else self.support_.value(moved)
        if self.support_.discrete:
            # Of a count the scores judge all of [log y, log(y + 1)): one that touches is inside.
            ends[:, 0] = np.maximum(np.ceil(np.exp(moved[:, 0]) * (1 - 1e-12)) - 1, 0.0)
        return ends[..., 0] if ends.shape[-1] == 1 else ends

    def _groups(self, groups: Groups, folds: Folds, x: np.ndarray) -> tuple:
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
            places = self.encoder_.places(groups)
            known, new = folds.x[:, places], x[:, places]
        number = np.unique(np.concatenate([known, new]), axis=0, return_inverse=True)[1].ravel()
        return number[: len(known)], number[len(known) :]

    def _cross_fitted(self, what: str) -> Folds:
        check_is_fitted(self)  # type: ignore[arg-type]
        if self.folds_ is None:
            raise ValueError(f"{what} needs cross-fitted chains; fit with cross_fit=2 or more")
        return self.folds_

    def _own_folds(self) -> Folds:
        """The folds, also of chains that still run."""
        assert self.folds_ is not None
        return self.folds_

    def _held_out_latent(self, folds: Folds) -> PredictiveMixture:
        """Densities of the training rows on the network's scale, exposures aside."""
        parts = [self._of_fold(f, folds.x[folds.held(f)]) for f in range(folds.count)]
        return interleaved(parts, folds.of)

    def _of_fold(self, fold: int, x: np.ndarray, guard: bool = True) -> PredictiveMixture:
        """Densities of encoded rows by the chains that left a fold out, on the network's scale."""
        return self._of_chains(slice(fold, None, self.posterior_.plan.folds), fold, x, guard)

    def _of_chains(self, chains: slice, fold: int, x: np.ndarray, guard: bool) -> PredictiveMixture:
        """Densities of encoded rows by some chains of a fold, in its units and then out of them."""
        folds, posterior = self._own_folds(), self.posterior_
        units = folds.units[fold]
        draws = jax.tree.map(lambda a: a[chains].reshape(-1, *a.shape[2:]), posterior.draws)
        rows = self.network_rows(units.x.apply(x))
        density = predictive(self.prediction_key(), draws, rows, posterior.plan.h, self.paths)
        share = self.guard if guard else 0.0
        return units.y.restore(guarded(density, share, self._guard_variance(folds.outcomes(fold))))

    def _stacked_by_fold(self) -> np.ndarray:
        """Weights of all chains: those of a fold by their densities of its rows."""
        folds, chains = self._own_folds(), self.posterior_.plan.chains
        weights = np.empty(chains)
        for fold in range(folds.count):
            held, own = folds.held(fold), range(fold, chains, folds.count)
            x, z = folds.x[held], taken(folds.z, held)
            logs = [
                metrics.log_scores(self._of_chains(slice(c, c + 1), fold, x, False), z) for c in own
            ]
            weights[list(own)] = stacked_weights(np.stack(logs)) / folds.count
        return weights

    def _make_folds(self, plan: Plan) -> None:
        """Folds of the rows that were given, if the plan has any."""
        self.folds_ = None
        if plan.folds:
            x, y = self._given
            z = self._latent(x, y)
            learn = partial(self._learnt_units, units=self.standardize)
            self.folds_ = Folds.drawn(x, y, z, plan, learn)

    def _recall(self, rows: dict[str, np.ndarray]) -> None:
        """Folds of a model that was loaded."""
        if self.posterior_.plan.folds:
            self._given = given_rows(rows)
            self._make_folds(self.posterior_.plan)


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
            stacklevel=3,
        )


def _quantiles(density: PredictiveMixture, levels: list[float]) -> np.ndarray:
    """(N, M, Q), also for one outcome."""
    found = density.quantile(levels)
    return found[..., None] if density.n_outcomes == 1 else found
