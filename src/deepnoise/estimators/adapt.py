"""A fitted model made to fit a site that came later, from some of its rows."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_consistent_length

from ..inference.new_site import draw_weights, site_law
from ..inference.posterior import Posterior
from ..inference.runtime import numerics
from ..inference.streams import ADAPTATION
from .encode import NEW, Column, TableEncoder, site_names
from .outcomes import exact_rows, representative
from .predictive import PosteriorPredictive


def adapted(
    model: PosteriorPredictive, X: Any, rows: np.ndarray, y: Any, sweeps: int
) -> PosteriorPredictive:
    """The model with the weights of the one new site of a table X drawn given it.

    ``rows`` are its standardised rows and y its outcomes, as the model takes them.
    """
    encoder, (column, sites) = model.encoder, site_places(model.encoder)
    name = _one_new_site(encoder, X, rows[:, column])
    if np.isnan(rows).any():
        raise ValueError("X: adapt needs rows without missing values")
    check_consistent_length(rows, representative(y))
    z = model.scale.at(rows, y, model.units.x)
    if not exact_rows(z).all():
        raise ValueError(
            "y: adapt needs exact outcomes, neither windows, counts nor values of point_mass"
        )
    given = model.network_rows(rows), model.units.y.apply(representative(z))
    posterior = _adapted(model.posterior, *given, sites, column, sweeps)
    named = TableEncoder(tuple(_named(c, name) for c in encoder.columns), encoder.named)
    return replace(model, encoder=named, posterior=posterior)


def site_places(encoder: TableEncoder) -> tuple[int, tuple[int, int]]:
    """Where the input of a new site is, and those of all sites; an error if there are none."""
    if encoder.new_site is None or encoder.sites is None:
        raise ValueError("adapt needs a model that was fitted with sites=, and not adapted since")
    return encoder.new_site, encoder.sites


def _one_new_site(encoder: TableEncoder, X: Any, new: np.ndarray) -> str:
    names = site_names(encoder, X)
    if not len(names) or not (new == 1).all():
        known = [name for name, yes in zip(names, new == 1, strict=True) if not yes]
        what = f"{known[0]!r} was there when fitting" if known else "there are no rows"
        raise ValueError(f"X: adapt needs rows of a new site; {what}")
    if len(set(names)) > 1:
        raise ValueError(f"X: adapt needs rows of one site; got {', '.join(sorted(set(names)))}")
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
