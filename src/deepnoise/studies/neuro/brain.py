"""Influence painted on the brain: glass brain, a mosaic of slices, a page to move through it."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...datasets.neuro.atlas import Atlas, imaging
from ...plots.style import DPI, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = "YlOrRd"
# Just above 0, the value outside the regions.
THRESHOLD = 1e-9
SLICES = 7


def painted(regions: pd.DataFrame, atlas: Atlas, part: str, floor: float = 0.0) -> Any:
    """A NIfTI image with each region's influence on the ``part``: "mean" or "spread".

    Regions at the floor or below are 0, as is what lies outside all regions.
    """
    values = regions.set_index("region")[part].loc[list(atlas.names)]
    return atlas.painted(values.where(values > floor, 0.0).to_numpy())


def _shades(image: Any) -> dict[str, Any]:
    return {"cmap": COLOURS, "vmin": 0, "vmax": np.max(image.dataobj), "threshold": THRESHOLD}


@paper_style
def glass_brain(image: Any) -> "Figure":
    """The strongest influence along every line of sight, from both sides, behind and above."""
    figure = _empty((9, 2.5))
    imaging("nilearn.plotting").plot_glass_brain(
        image,
        display_mode="lyrz",
        figure=figure,
        axes=(0.01, 0.02, 0.89, 0.96),
        colorbar=False,
        plot_abs=False,
        **_shades(image),
    )
    _colour_bar(figure, image)
    return figure


@paper_style
def mosaic(image: Any, atlas: Atlas) -> "Figure":
    """Slices along the three axes over nilearn's MNI152 template."""
    figure = _empty((9, 4.2))
    cuts = _cuts(atlas)
    for row, mode in enumerate("zyx"):
        slices = imaging("nilearn.plotting").plot_stat_map(
            image,
            display_mode=mode,
            cut_coords=cuts[mode],
            figure=figure,
            axes=(0.01, 0.67 - 0.33 * row, 0.89, 0.32),
            colorbar=False,
            black_bg=False,
            draw_cross=False,
            annotate=False,
            symmetric_cbar=False,
            **_shades(image),
        )
        slices.annotate(size=7)
    _colour_bar(figure, image)
    return figure


def _cuts(atlas: Atlas) -> dict[str, np.ndarray]:
    """Evenly spaced places (mm) within the regions, along each axis."""
    inside = np.argwhere(atlas.region >= 0)
    world = inside @ atlas.affine[:3, :3].T + atlas.affine[:3, 3]
    ends = zip(world.min(axis=0), world.max(axis=0))
    places = [np.linspace(low, high, SLICES + 2)[1:-1].round() for low, high in ends]
    return dict(zip("xyz", places))


def interactive(image: Any, title: str) -> str:
    """A whole HTML page, with all it needs inside, to click through the slices."""
    view = imaging("nilearn.plotting").view_img(
        image, symmetric_cmap=False, black_bg=False, title=title, **_shades(image)
    )
    # nilearn's icon would be fetched from the network; nothing here is.
    return re.sub(r"<link[^>]*icon[^>]*>", "", view.get_standalone())


def _empty(size: tuple[float, float]) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=DPI)


def _colour_bar(figure: "Figure", image: Any) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shades = _shades(image)
    place = figure.add_axes((0.925, 0.15, 0.012, 0.7))
    bar = ScalarMappable(Normalize(shades["vmin"], shades["vmax"]), COLOURS)
    figure.colorbar(bar, cax=place).ax.tick_params(labelsize=8)
