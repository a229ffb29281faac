"""Influence painted on the brain: glass brain, slices, and a page that turns it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..datasets.neuro_atlas import Atlas, imaging

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = "inferno"


def painted(regions: pd.DataFrame, atlas: Atlas, part: str) -> Any:
    """A NIfTI image with each region's influence on the ``part``: "mean" or "spread"."""
    values = regions.set_index("region")[part]
    return atlas.painted(values.loc[list(atlas.names)].to_numpy())
