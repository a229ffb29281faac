"""An export is compared with its model before it is written."""

from typing import Any

import numpy as np

from .forward import mixture
from .network import Network

ROWS = 4
TOLERANCE = 1e-9


def check_agreement(model: Any, network: Network) -> None:
    """An error unless the network has the components that the model has, on a few rows.

    Rows are the means of the features, and the first training rows without gaps.
    """
    units = model.units_.x
    seen = np.asarray(model.rows_.x[:, : network.features], float)
    whole = seen[~np.isnan(seen).any(axis=1)][:ROWS]
    standard = np.concatenate([np.zeros((1, network.features)), whole])
    x = standard * np.array(units.scale) + np.array(units.mean)
    rows = units.apply(x)
    expected = model.as_outcomes(model.network_density(rows), rows).components()
    found = mixture(network, x, np)
    sds = np.sqrt(expected.covs[..., 0, 0])
    apart = max(
        float(np.max(np.abs(found.means - expected.means[..., 0]) / np.max(sds))),
        float(np.max(np.abs(found.sds / sds - 1))),
        float(np.max(np.abs(found.weights - expected.weights))),
    )
    if not apart < TOLERANCE:
        raise ValueError(
            f"model: its export would differ from it by {apart:.1g} standard deviations, so it "
            f"was not written; this model uses something that exports do not know yet"
        )
