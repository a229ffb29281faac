"""What exported files say of themselves, and how they are written."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import __version__
from ..estimators.survival import BDeepNoiseSurvival
from .forward import Mixture
from .network import Network

DTYPES = ("float64", "float32")


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
