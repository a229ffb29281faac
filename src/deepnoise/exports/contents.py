"""What exported files share: they say what they hold, and agree with their model."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..estimators.survival import BDeepNoiseSurvival
from .forward import Mixture, mixture
from .network import Network

DTYPES = ("float64", "float32")
# An export is compared with its model on so many training rows.
ROWS = 4
TOLERANCE = 1e-9


def header(
    model: Any, network: Network, outputs: Mapping[str, Sequence[Any]], **more: Any
) -> dict[str, Any]:
    """Columns, shapes and versions, for JSON."""
    encoder, run = model.encoder_, model.posterior_.run
    return {
        "format": "deepnoise export",
        "version": 1,
        "deepnoise": __version__,
        "estimator": type(model).__name__,
        "outcome": "log time" if isinstance(model, BDeepNoiseSurvival) else "y",
        "columns": encoder.to_dict()["columns"],
        "features": list(encoder.feature_names),
        "dtype": str(network.dtype),
        "outputs": {name: list(shape) for name, shape in outputs.items()},
        "components": network.components,
        "chains": len(model.chain_weights_),
        "draws": int(run.n_draws),
        "paths": int(model.paths),
        **more,
    }


def output_shapes(components: int) -> dict[str, tuple]:
    """Shapes of the outputs, in the order of :class:`Mixture`."""
    shapes = (1, components), ("rows", components), (1, components), ("rows",), ("rows",)
    return dict(zip(Mixture._fields, shapes, strict=True))


def write_whole(files: Mapping[Path, bytes]) -> None:
    """Write files whole or not at all: each beside its place first, then moved there."""
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in files}
    try:
        for path, content in files.items():
            parts[path].write_bytes(content)
        for path, part in parts.items():
            part.replace(path)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)


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
