"""``SampledEstimator``: what every estimator with chains can be asked; each method hands on."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import arviz, notebook
from ..inference.diagnostics import Diagnostics
from ..inference.posterior import Posterior
from ..prediction.per_draw import spaced
from ..prediction.uncertainty import Familiarity
from . import chains, files, insight, settings
from .files import estimator_header
from .folds import Folds, TrainingRows
from .predictive import PosteriorPredictive
from .table import TableInputs

Model = TypeVar("Model", bound=PosteriorPredictive)


class SampledEstimator(TableInputs, ABC, Generic[Model]):
    """Methods for an estimator whose ``fit`` runs chains and keeps what they found."""

    checkpoint: Any
    paths: int
    posterior_: Posterior
    chain_weights_: np.ndarray
    rows_: TrainingRows
    folds_: Folds | None = None
    _missing: Literal["error", "nan"] = "nan"
    _predictive: Model | None = None

    @abstractmethod
    def predictive_of(self, posterior: Posterior) -> Model:
        """What predictions would be made from other draws; also of chains that still run."""

    @property
    def predictive_(self) -> Model:
        """What predictions are made from: all that was learnt, ``paths`` and ``guard``."""
        check_is_fitted(self)
        known, made = self._predictive, self.predictive_of(self.posterior_)
        if known is None or not made.same_as(known):
            self._predictive = known = made
        return known

    def _keep(self, found: Model) -> None:
        self.posterior_, self.chain_weights_ = found.posterior, found.chain_weights
        self._predictive = found

    def resume(self, draws: int) -> Self:
        """Continue the chains until each has this many draws, as if they had never stopped.

        Parameters
        ----------
        draws : int
            Draws per chain in all, including those that it has.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> model.fit(X, X[:, 0] ** 2).resume(30).posterior_.run.n_draws
        30
        """
        check_is_fitted(self)
        if self.posterior_.plan.sites is not None and self.encoder_.new_site is None:
            raise ValueError("a model that was adapted cannot be resumed; resume the one before")
        plan = replace(self.posterior_.plan, draws=settings.count("draws", draws, 1))
        if draws > self.posterior_.run.n_draws:
            given = self.get_params(deep=False), self.rows_, self.folds_
            header, earlier = estimator_header(self, plan.seed), replace(self.posterior_, plan=plan)
            self._keep(chains.run(plan, *given, header, self.predictive_of, earlier))
        return self

    def thinned(self, draws: int | None = None, paths: int | None = None) -> Self:
        """Return a copy of this model with fewer draws or noise paths, for fast predictions.

        Its densities have ``draws`` × ``paths`` components of each chain, and the time of a
        prediction is in proportion.  They are estimates of the same densities from fewer
        simulations: ``cdf_distance`` of a :class:`PredictiveMixture` bounds what that costs at rows
        of yours.  The copy is saved and loaded like any other model; its ``diagnostics_`` judge
        the draws that are left.  This model does not change.

        Parameters
        ----------
        draws : int, optional
            Draws to keep of each chain, evenly spaced; by default all.
        paths : int, optional
            Noise paths to simulate for each draw; by default as many as now.

        Returns
        -------
        estimator
            Of the same class, fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> small = model.fit(X, X[:, 0] ** 2).thinned(10, paths=2)
        >>> small.predict_density(X).n_components, model.predict_density(X).n_components
        (41, 401)
        """
        check_is_fitted(self)
        held = self.posterior_.run.n_draws
        draws = held if draws is None else settings.count("draws", draws, 1)
        if draws > held:
            raise ValueError(f"draws must be at most {held}, what each chain has; got {draws}")
        fewer = self.posterior_.only(spaced(held, draws))
        fewer = replace(fewer, plan=replace(fewer.plan, draws=draws))
        paths = self.paths if paths is None else settings.count("paths", paths, 1)
        return self._changed(posterior_=fewer, paths=paths)

    def _changed(self, **attributes: Any) -> Self:
        """A copy with other draws: it has no checkpoint, and forgets what the old ones gave."""
        made = copy.copy(self)
        for name, value in (attributes | {"checkpoint": None, "_predictive": None}).items():
            setattr(made, name, value)
        return made

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, for :func:`deepnoise.load`.

        A model that the folder already holds is replaced.

        Parameters
        ----------
        path : path
            The folder.

        Examples
        --------
        >>> import deepnoise
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> model.fit(X, X[:, 0] ** 2).save("model")
        >>> bool(np.all(deepnoise.load("model").predict(X) == model.predict(X)))
        True
        """
        files.save(self, path)

    def familiarity(self, X: Any) -> Familiarity:
        """Measure how much each row resembles the training rows.

        The inputs are judged under a normal law of the standardised features.  Missing values are
        left out, and so is a site that was not there when fitting.

        Parameters
        ----------
        X : table (N, P)

        Returns
        -------
        Familiarity
            Log density of the inputs, and the probability of inputs that lie further out.
        """
        rows = self.encoded_rows(X)
        return insight.familiarity(self.predictive_, rows)

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
        model = self.predictive_
        return model.functionals(model.diagnosed_rows() if rows is None else np.asarray(rows))

    @property
    def diagnostics_(self) -> Diagnostics:
        """Have R-hat, effective sample sizes and a verdict on the predictions at training rows."""
        return self.predictive_.diagnostics

    def loo(self) -> arviz.Loo:
        """Estimate the leave-one-out log predictive density of the training rows; needs ArviZ.

        Pareto-smoothed importance sampling (PSIS) is used, and chains count equally.  Where many
        rows are too influential for it, the verdict tells how to cross-validate instead.

        Returns
        -------
        Loo
        """
        model = self.predictive_
        if model.folds is not None:
            raise ValueError(
                "loo needs chains that saw all rows; with cross_fit, held_out_report has the score "
                "of rows by chains that did not see them"
            )
        return arviz.loo(model.log_likelihood())

    def to_arviz(self) -> Any:
        """Return draws, log likelihood and observed y as ArviZ's own type; needs ArviZ."""
        model = self.predictive_
        said = model.log_likelihood(), model.observed(), model.names(), model.beside()
        return arviz.to_arviz(model.posterior_in_units, *said)

    def _html_repr(self) -> str:
        """scikit-learn's own picture of an estimator, and below it what was fitted."""
        theirs: str = super()._html_repr()
        if not hasattr(self, "seed_"):
            return theirs
        model, run = self.predictive_, self.posterior_.run
        pairs = {
            "fitted on": f"{len(model.rows):,} rows, {len(model.encoder.columns)} columns",
            "posterior": f"{len(model.chain_weights)} chains, {run.n_draws} draws each",
            "seed": model.posterior.plan.seed,
            "chains": model.verdict or "not judged yet; see .diagnostics_",
        }
        return theirs + notebook.facts("Fitted", pairs.items())
