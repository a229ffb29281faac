"""``adapt``: a fitted model made to fit a site that came later, from some of its rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..inference.new_site import draw_weights, site_law
from ..inference.posterior import Posterior
from ..inference.runtime import numerics
from . import settings
from .encode import NEW, Column, TableEncoder, site_names
from .outcomes import exact_rows, representative

# fold_in(key(seed), ADAPTATION) serves the weights of a site that came later.
ADAPTATION = 2**32 - 4


class AdaptsSites:
    """Methods of a density regressor whose parameter ``sites`` names a column."""

    encoder_: TableEncoder
    posterior_: Posterior
    encoded_rows: Any
    check_outcomes: Any
    network_rows: Any
    _on_fitted_scale: Any
    units_: Any
    with_posterior: Callable[[Posterior], Self]

    def adapt(self, X: Any, y: Any, sweeps: int = 200) -> Self:
        """Return a copy of this model for a site that came later, from some of its rows.

        For each posterior draw, the weights of the new site are drawn given these rows; all other
        parameters stay as they are.  That is a cut posterior: what the rows say of anything but
        their site is not used, as it would be by a new fit.  The copy predicts the sites of the
        fit and this one.  This model does not change.

        Parameters
        ----------
        X : table (N, P)
            Rows without missing values, all of one site that was not there when fitting.
        y : array (N,) or (N, Q)
            Their outcomes, exact.
        sweeps : int
            Sweeps over these rows for each draw.

        Returns
        -------
        estimator
            Of the same class, fitted; it cannot be resumed or adapted again.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = pd.DataFrame({"age": np.linspace(-1, 1, 60), "site": ["a", "b", "c"] * 20})
        >>> y = X["age"] + X["site"].map({"a": 0.0, "b": 1.0, "c": 2.0})
        >>> model = BDeepNoiseRegressor(
        ...     hidden=(3,), chains=2, warmup=50, draws=20, sites="site", random_state=0
        ... )
        >>> rows = pd.DataFrame({"age": [0.0, 0.5], "site": ["d", "d"]})
        >>> model.fit(X, y).adapt(rows, [0.5, 1.0]).encoder_.columns[1].levels
        ('a', 'b', 'c', 'd')
        """
        check_is_fitted(self)
        sweeps = settings.count("sweeps", sweeps, 1)
        encoder, column = self.encoder_, self.encoder_.new_site
        if column is None or encoder.sites is None:
            raise ValueError(
                "adapt needs a model that was fitted with sites=, and not adapted since"
            )
        rows = self.encoded_rows(X)
        name = self._one_new_site(X, rows[:, column])
        if np.isnan(rows).any():
            raise ValueError("X: adapt needs rows without missing values")
        outcomes = self.check_outcomes(y)
        check_consistent_length(rows, representative(outcomes))
        z = self._on_fitted_scale(rows, outcomes)
        if not exact_rows(z).all():
            raise ValueError(
                "y: adapt needs exact outcomes, neither windows, counts nor values of point_mass"
            )
        x, y = self.network_rows(rows), self.units_.y.apply(representative(z))
        adapted = _adapted(self.posterior_, x, y, encoder.sites, column, sweeps)
        made = self.with_posterior(adapted)
        made.encoder_ = TableEncoder(tuple(_named(c, name) for c in encoder.columns), encoder.named)
        made.checkpoint = None  # type: ignore[attr-defined]
        return made

    def _one_new_site(self, X: Any, new: np.ndarray) -> str:
        names = site_names(self.encoder_, X)
        if not len(names) or not (new == 1).all():
            known = [name for name, yes in zip(names, new == 1, strict=True) if not yes]
            what = f"{known[0]!r} was there when fitting" if known else "there are no rows"
            raise ValueError(f"X: adapt needs rows of a new site; {what}")
        if len(set(names)) > 1:
            raise ValueError(
                f"X: adapt needs rows of one site; got {', '.join(sorted(set(names)))}"
            )
        return names[0]


def _named(column: Column, name: str) -> Column:
    """The column, with a name for what was ``NEW``."""
    if not column.site:
        return column
    return replace(column, levels=tuple(name if v == NEW else v for v in column.levels or ()))


def _adapted(posterior: Posterior, x, y, sites, column: int, sweeps: int) -> Posterior:
    """The posterior with the weights of ``column`` drawn given the rows x, y."""
    plan, kept = posterior.plan, posterior.draws
    with numerics():
        draws = jax.tree.map(lambda a: jnp.asarray(a, float), posterior.flat())
        key = jax.random.fold_in(jax.random.key(plan.seed), ADAPTATION)
        keys = jax.random.split(key, len(draws.gamma[0]))
        law = site_law(plan.widths(x, y), sites)
        given = keys, draws, jnp.asarray(x), jnp.asarray(y), law, jnp.arange(*sites)
        weights = np.asarray(draw_weights(*given, column, sweeps, plan.h))
    beta: Any = np.array(kept.beta[0])
    beta[..., column] = weights.reshape(beta.shape[:-1])
    theta = replace(kept, beta=(beta, *kept.beta[1:]))
    return replace(posterior, run=replace(posterior.run, draws=theta))
