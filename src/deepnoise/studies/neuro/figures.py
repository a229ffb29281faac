"""Pictures of the neuroimaging study: violins, widths, scores of features, referral, the brain.

Influence is painted on a glass brain, a mosaic of slices, and a page to move through it.
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...datasets.neuro.atlas import Atlas, imaging
from ...plots.style import BLUE, DPI, GREEN, GREY, INK, ORANGE, RED, new_figure, paper_style
from ...prediction.density.supported import Density
from .fit import WITH, WITHOUT, Floor, SplitFit
from .scores import interval_rows
from .tables import chosen_subjects

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {WITH: BLUE, WITHOUT: ORANGE, "deep ensemble": GREEN}
MOST_BARS = 20
SHADES = "YlOrRd"
# Just above 0, the value outside the regions.
THRESHOLD = 1e-9
SLICES = 7


@paper_style
def violins(fit: SplitFit, level: float, outcome: str) -> "Figure":
    """Predictive densities of up to 19 test subjects, with and without images.

    Subjects stand at the 5, 10, ..., 95 % quantiles of the observed outcome; a cross is what was
    observed, a bar the central interval.  Equal areas: a wide body is a narrow, certain density.
    """
    chosen = chosen_subjects(fit.y)
    rows = list(chosen.values())
    few = {name: fit.densities[name][rows] for name in (WITH, WITHOUT)}
    grid = _grid(few, fit.y[rows])
    heights = {name: density.pdf_grid(grid) for name, density in few.items()}
    peaks = np.concatenate([h.max(axis=1) for h in heights.values()])
    # Room for the widest body, unless a spike would flatten the others.
    widest = min(peaks.max(), 3 * np.median(peaks))
    figure, axes = new_figure((7.4, 5.4), 2, 1, sharex=True, sharey=True)
    for axis, name in zip(axes[:, 0], few):
        bodies = np.minimum(heights[name] / widest, 1) * 0.47
        _panel(axis, grid, bodies, few[name].interval(level), fit.y[rows], COLOURS[name])
        axis.set(title="with images" if name == WITH else "without images", ylabel=outcome)
    axes[1, 0].set(xticks=range(len(rows)), xlim=(-0.7, len(rows) - 0.3))
    axes[1, 0].set_xticklabels([f"{quantile} %" for quantile in chosen])
    axes[1, 0].set_xlabel(f"test subjects, by quantile of the observed {outcome}")
    return figure


def _panel(
    axis: Any,
    grid: np.ndarray,
    bodies: np.ndarray,
    ends: np.ndarray,
    observed: np.ndarray,
    colour: str,
) -> None:
    from matplotlib.patheffects import withStroke

    for place, body in enumerate(bodies):
        seen = body > 0.004
        left, right = place - body[seen], place + body[seen]
        axis.fill_betweenx(grid[seen], left, right, color=colour, alpha=0.6, lw=0)
    places = np.arange(len(bodies))
    axis.vlines(places, *ends.T, color=colour, lw=1.0)
    crosses = axis.scatter(places, observed, marker="x", s=26, color="white", lw=1.5, zorder=5)
    crosses.set_path_effects([withStroke(linewidth=3.6, foreground=INK)])


def _grid(few: dict[str, Density], y: np.ndarray) -> np.ndarray:
    ends = np.concatenate([density.quantile([0.001, 0.999]).ravel() for density in few.values()])
    low, high = min(ends.min(), y.min()), max(ends.max(), y.max())
    return np.linspace(low, high, 400)


@paper_style
def width_scatter(fits: list[SplitFit], level: float) -> "Figure":
    """Width of each test subject's interval, with images and without."""
    both = [interval_rows(fits, name, level)[1] for name in (WITH, WITHOUT)]
    figure, axes = new_figure((3.6, 3.4))
    axis = axes[0, 0]
    ends = [0.9 * min(map(np.min, both)), 1.05 * max(map(np.max, both))]
    axis.plot(ends, ends, color=GREY, lw=0.8, zorder=0)
    axis.scatter(*both, s=12, color=BLUE, alpha=0.6, lw=0)
    axis.annotate("wider without images", (0.03, 0.95), xycoords="axes fraction", fontsize=8)
    axis.set(xlim=ends, ylim=ends, xlabel="with images", ylabel="without images")
    axis.set_title(f"width of {100 * level:.0f} % intervals")
    return figure


@paper_style
def influence_figure(influence: pd.DataFrame, floor: dict[str, Floor], outcome: str) -> "Figure":
    """Features by influence on the mean, and on the spread, with posterior intervals and floor."""
    shown = influence.head(MOST_BARS)[::-1]
    figure, axes = new_figure((6.8, 1.1 + 0.24 * len(shown)), 1, 2, sharey=True)
    places = np.arange(len(shown))
    colours = np.where(shown["kind"] == "region", BLUE, ORANGE)
    for axis, part, title in zip(axes[0], ("mean", "spread"), ("mean", "standard deviation")):
        middle = shown[part].to_numpy()
        ends = [middle - shown[f"{part}_lower"], shown[f"{part}_upper"] - middle]
        axis.barh(places, middle, 0.7, color=colours, alpha=0.75)
        whiskers = np.maximum(np.array(ends), 0)
        axis.errorbar(middle, places, xerr=whiskers, fmt="none", ecolor=INK, elinewidth=0.9)
        if np.isfinite(floor[part].most):
            axis.axvline(floor[part].most, color=RED, lw=1.0, ls="--")
        axis.set(title=f"on the predictive {title}", xlim=(0, None))
        axis.tick_params(axis="y", length=0)
    axes[0, 0].set(yticks=places, yticklabels=shown["feature"], ylim=(-0.6, len(shown) - 0.4))
    for colour, label in ((BLUE, "brain region"), (ORANGE, "covariate")):
        axes[0, 1].barh(0, 0, color=colour, alpha=0.75, label=label)
    axes[0, 1].plot([], [], color=RED, lw=1.0, ls="--", label="floor of regions")
    axes[0, 1].legend(loc="lower right")
    figure.supxlabel(f"mean |change of {outcome}| per standard deviation", fontsize=9)
    return figure


@paper_style
def referral_curve(curves: pd.DataFrame, outcome: str) -> "Figure":
    """Error among the most certain share of subjects: what is left to the doctor if it falls."""
    figure, axes = new_figure((4.8, 3.4))
    axis = axes[0, 0]
    for name, curve in curves.groupby("method", sort=False):
        colour = COLOURS.get(str(name), RED)
        axis.plot(curve["share"], curve["rmse"], color=colour, marker="o", ms=2.5, label=name)
        if name == WITH:
            band = (curve["lower"], curve["upper"])
            axis.fill_between(curve["share"], *band, color=colour, alpha=0.15, lw=0)
            axis.axhline(curve["rmse"].iloc[-1], color=GREY, lw=0.8, ls=":", zorder=0)
    axis.set(xlabel="share of subjects kept, most certain first (%)", ylim=(0, None))
    axis.set_ylabel(f"RMSE of {outcome}")
    axis.legend(loc="lower right")
    return figure


@paper_style
def truth_figure(frame: pd.DataFrame) -> "Figure":
    """True against estimated influence of regions, on mean and spread."""
    figure, axes = new_figure((6.8, 3.3), 1, 2)
    regions = frame[frame["kind"] == "region"]
    for axis, part, title in zip(axes[0], ("mean", "sd"), ("mean", "spread")):
        true, found = regions[f"true_{part}"], regions[f"estimated_{part}_mean"]
        ends = [regions[f"estimated_{part}_{end}"] for end in ("lower", "upper")]
        whiskers = np.maximum([found - ends[0], ends[1] - found], 0)
        axis.errorbar(true, found, yerr=whiskers, fmt="none", ecolor=GREY, elinewidth=0.6)
        axis.scatter(true, found, s=12, color=np.where(true > 0, RED, BLUE), lw=0, zorder=3)
        top = 1.08 * max(true.max(), ends[1].max())
        axis.plot([0, top], [0, top], color=GREY, lw=0.8, ls=":", zorder=0)
        axis.set(xlim=(-0.03 * top, top), ylim=(0, top), xlabel="true influence")
        axis.set_title(f"on the predictive {title}")
        axis.locator_params(nbins=5)
    axes[0, 0].set_ylabel("estimated influence")
    return figure


def painted(regions: pd.DataFrame, atlas: Atlas, part: str, floor: float = 0.0) -> Any:
    """A NIfTI image with each region's influence on the ``part``: "mean" or "spread".

    Regions at the floor or below are 0, as is what lies outside all regions.
    """
    values = regions.set_index("region")[part].loc[list(atlas.names)]
    return atlas.painted(values.where(values > floor, 0.0).to_numpy())


def _shades(image: Any) -> dict[str, Any]:
    return {"cmap": SHADES, "vmin": 0, "vmax": np.max(image.dataobj), "threshold": THRESHOLD}


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
    bar = ScalarMappable(Normalize(shades["vmin"], shades["vmax"]), SHADES)
    figure.colorbar(bar, cax=place).ax.tick_params(labelsize=8)
