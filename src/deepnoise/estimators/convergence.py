"""What chains say of themselves, whatever they predict: do they agree, and leave-one-out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import arviz, notebook
from ..inference.diagnostics import Diagnostics, diagnose
from ..inference.posterior import Posterior
from .encode import TableEncoder
from .folds import TrainingRows
from .units import Units

DIAGNOSED_ROWS = 50


class ChainInsights:
    """Methods for an estimator with chains; it has what is named here and writes the first four."""

    encoder_: TableEncoder
    units_: Units
    posterior_: Posterior
    chain_weights_: np.ndarray
    rows_: TrainingRows
    posterior_in_units: Callable[[], Posterior]
    _diagnostics: Diagnostics | None

    def _functionals(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Scalars of the predictive law at training rows; name -> (chain, draw)."""
        raise NotImplementedError

    def _log_likelihood(self) -> np.ndarray:
        """log p(y | x, Θ) of the training rows; (chain, draw, N)."""
        raise NotImplementedError

    def _observed(self) -> Any:
        """What was seen of y in the training rows, (N,), (N, Q), or several such by name."""
        raise NotImplementedError

    def _named(self) -> dict[str, Sequence[str]]:
        """Names of "inputs" and, if there are any, of "outcomes"."""
        return {"inputs": self.units_.x.names(self.encoder_.feature_names)}

    def _beside(self) -> Mapping[str, np.ndarray]:
        """Draws of what is no weight, for ArviZ; name -> (chain, draw, ...)."""
        return {}

    def predictive_functionals(self, rows: Sequence[int] | None = None) -> dict[str, np.ndarray]:
        """Return what each posterior draw predicts at training rows, as scalars.

        Parameters
        ----------
        rows : list of int, optional
            Numbers of training rows, from 0; by default 50 of them, evenly spaced.

        Returns
        -------
        dict of str to array (chain, draw)
            A regressor has "mean[n]", "sd[n]" and "log_density[n]" of training row n.  A
            classifier has "probability[n,c]" of class c, and "log_probability[n]" of the class
            that was observed.
        """
        check_is_fitted(self)
        return self._functionals(self._spread_rows() if rows is None else np.asarray(rows))

    def _spread_rows(self) -> np.ndarray:
        total = len(self.rows_)
        return np.unique(np.linspace(0, total - 1, min(total, DIAGNOSED_ROWS)).astype(int))

    @property
    def diagnostics_(self) -> Diagnostics:
        """Have R-hat, effective sample sizes and a verdict on the predictions at training rows."""
        check_is_fitted(self)
        return self._judged()

    def _judged(self) -> Diagnostics:
        """The diagnostics, of chains that may still run."""
        if self._diagnostics is None:
            functionals = self._functionals(self._spread_rows())
            self._diagnostics = diagnose(functionals, self.posterior_.plan.folds)
        return self._diagnostics

    def loo(self) -> arviz.Loo:
        """Estimate the leave-one-out log predictive density of the training rows; needs ArviZ.

        Pareto-smoothed importance sampling (PSIS) is used, and chains count equally.  Where many
        rows are too influential for it, the verdict tells how to cross-validate instead.

        Returns
        -------
        Loo
        """
        check_is_fitted(self)
        if self.posterior_.plan.folds:
            raise ValueError(
                "loo needs chains that saw all rows; with cross_fit, held_out_report has the score "
                "of rows by chains that did not see them"
            )
        return arviz.loo(self._log_likelihood())

    def to_arviz(self) -> Any:
        """Return draws, log likelihood and observed y as ArviZ's own type; needs ArviZ."""
        check_is_fitted(self)
        said = self._log_likelihood(), self._observed(), self._named(), self._beside()
        return arviz.to_arviz(self.posterior_in_units(), *said)

    def _html_repr(self) -> str:
        """scikit-learn's own picture of an estimator, and below it what was fitted."""
        # A mixin left of scikit-learn's base, which has the method.
        theirs: str = super()._html_repr()  # type: ignore[misc]
        if not hasattr(self, "seed_"):
            return theirs
        found = self._diagnostics
        draws = self.posterior_.run.n_draws
        pairs = {
            "fitted on": f"{len(self.rows_):,} rows, {len(self.encoder_.columns)} columns",
            "posterior": f"{len(self.chain_weights_)} chains, {draws} draws each",
            "seed": self.posterior_.plan.seed,
            "chains": "not judged yet; see .diagnostics_" if found is None else found.verdict,
        }
        return theirs + notebook.facts("Fitted", pairs.items())
