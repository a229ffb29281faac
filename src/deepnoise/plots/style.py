"""One look for all pictures, and the checks that they share."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.supported import Density, SupportedDensity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with any colour vision.
BLUE, ORANGE, GREEN, PINK, SKY, RED = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
)
CHAINS = (BLUE, ORANGE, GREEN, PINK, SKY, RED)
GREY, INK = "#999999", "#222222"
DPI = 150
REGIONS = {"central": "interval", "hdi": "highest density"}
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
}


def paper_style(plot: Callable[..., Any]) -> Callable[..., Any]:
    """Draw in our style, whatever the user's own matplotlib settings; those stay as they are."""

    @wraps(plot)
    def styled(*args: Any, **settings: Any) -> Any:
        try:
            import matplotlib as mpl
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "pictures need matplotlib: pip install 'deepnoise[plots]'"
            ) from None
        with mpl.rc_context({**mpl.rcParamsDefault, **STYLE, "backend": mpl.rcParams["backend"]}):
            return plot(*args, **settings)

    return styled


def new_figure(
    size: tuple[float, float], rows: int = 1, columns: int = 1, **sharing: Any
) -> tuple["Figure", np.ndarray]:
    """A figure outside pyplot, which keeps no reference to it, and its axes (rows, columns)."""
    from .figure import PaperFigure

    figure = PaperFigure(figsize=size, dpi=DPI, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **sharing)
    _settle(axes.flat)
    return figure, axes


def canvas(
    ax: Any,
    figsize: tuple[float, float] | None,
    title: str | None,
    size: tuple[float, float],
    panels: int = 1,
    columns: int | None = None,
    **sharing: Any,
) -> tuple["Figure", list]:
    """The axes to draw in, ``ax`` or those of a new figure, and their figure.

    ``panels`` axes are needed, ``columns`` of them beside each other (by default all); ``figsize``
    and ``title`` are of a new figure, ``size`` is what it has if neither is given.
    """
    if ax is None:
        across = columns or panels
        figure, grid = new_figure(figsize or size, -(-panels // across), across, **sharing)
        if title:
            figure.suptitle(title, fontsize=10)
        for spare in grid.flat[panels:]:
            spare.set_axis_off()
        return figure, list(grid.flat[:panels])
    for name, value in (("figsize", figsize), ("title", title)):
        if value is not None:
            raise ValueError(f"{name} is of a new figure: leave it out where ax is given")
    axes = list(np.ravel(np.array(ax, dtype=object)))
    if len(axes) != panels or not all(hasattr(axis, "transAxes") for axis in axes):
        wanted = "one matplotlib axes" if panels == 1 else f"a list of {panels} matplotlib axes"
        raise ValueError(f"ax must be {wanted}; got {len(axes)}")
    _settle(axes)
    return axes[0].figure, axes


def _settle(axes: Any) -> None:
    # Tick labels are made when drawn, when our settings no longer hold.
    for axis in axes:
        axis.tick_params(labelsize=8, width=0.7, length=3, color=INK, labelcolor=INK)


def one_outcome(density: Any, name: str = "density") -> Density:
    """The densities, if they are of a single outcome."""
    if not isinstance(density, PredictiveMixture | SupportedDensity):
        raise TypeError(f"{name} must be a PredictiveMixture; got {type(density).__name__}")
    if density.n_outcomes != 1:
        raise ValueError(
            f"{name} has {density.n_outcomes} outcomes; draw one: {name}.marginal(0), ..."
        )
    return density


def vector(values: ArrayLike, length: int, name: str) -> np.ndarray:
    """(length,) finite numbers."""
    found = np.asarray(values, dtype=float)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (length,):
        raise ValueError(f"{name} must have one value for each of {length} rows; got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite")
    return found


def regions(density: Density, coverage: float, region: str) -> list[np.ndarray]:
    """The pieces (k, 2) of every row's central interval or highest-density region."""
    if region not in REGIONS:
        raise ValueError(f"region must be one of {', '.join(REGIONS)}; got {region!r}")
    if region == "hdi":
        return density.hdi(coverage)
    return list(density.interval(coverage)[:, None])


def region_name(coverage: float, region: str) -> str:
    return f"{100 * coverage:g} % {REGIONS[region]}"


def dot_size(count: int) -> float:
    """Area of a dot: small where there are many."""
    return float(np.clip(800 / max(count, 1), 4, 18))


def legend_above(axes: list, alone: bool, dots: int = 1, **settings: Any) -> None:
    """A legend of all axes: over a figure that is ours alone, else inside the first of them.

    Its dots are large enough to see however small those of the data are.
    """
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    look = {"markerscale": np.sqrt(18 / dot_size(dots)), "columnspacing": 1.4} | settings
    handles, labels = list(found.values()), list(found)
    if not labels:
        return
    if alone:
        figure = axes[0].figure
        # A swatch and its margins take half an inch, a letter about a fifteenth.
        widths, room = [0.5 + len(label) / 15 for label in labels], figure.get_figwidth()
        across = len(labels) if sum(widths) <= room else max(int(room / max(widths)), 1)
        place = {"loc": "outside upper center", "ncols": across} | look
        figure.legend(handles, labels, **place)
    else:
        axes[0].legend(handles, labels, loc="best", **look)
