"""What pictures and influence need to know of a fitted model."""

from copy import copy
from typing import Any

import numpy as np

from ..prediction.influence import Category

# A mixture of so many components, smoothed within the tolerance of ``density.derived``, has no
# wiggle that can be seen.
COMPONENTS = 8000


def to_draw(model: Any) -> Any:
    """The same fit with as many noise paths as pictures of its densities need."""
    if not hasattr(model, "posterior_"):
        return model
    drawn = len(model.chain_weights_) * model.posterior_.run.n_draws
    many = copy(model)
    many.paths = max(model.paths, -(-COMPONENTS // drawn))
    return many


def categories(model: Any) -> list[Category]:
    """The columns of text: where their inputs are, what these are, and how frequent."""
    found, first = [], 0
    mean, scale = np.array(model.units_.x.mean), np.array(model.units_.x.scale)
    for column in model.encoder_.columns:
        places = np.arange(first, first := first + len(column.encoded_names))
        if column.levels is not None:
            inputs = (np.eye(len(places)) - mean[places]) / scale[places]
            seen = np.nanmean(np.asarray(model.rows_.x[:, places], float), axis=0)
            shares = seen * scale[places] + mean[places]
            shares /= shares.sum()
            found.append(Category(column.name, column.levels, places, inputs, shares))
    return found
