"""One look for all pictures, and the checks that they share."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..prediction.mixture import GaussianMixture

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
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **sharing)
    for axis in axes.flat:
        # Tick labels are made when drawn, when our settings no longer hold.
        axis.tick_params(labelsize=8, width=0.7, length=3, color=INK, labelcolor=INK)
    return figure, axes


def one_outcome(density: Any, name: str = "density") -> GaussianMixture:
    """The densities, if they are of a single outcome."""
    if not isinstance(density, GaussianMixture):
        raise TypeError(f"{name} must be a GaussianMixture; got {type(density).__name__}")
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


def dot_size(count: int) -> float:
    """Area of a dot: small where there are many."""
    return float(np.clip(800 / max(count, 1), 4, 18))


def legend_above(figure: "Figure", dots: int = 1) -> None:
    """A legend over the axes, its dots large enough to see however small those of the data are."""
    scale = np.sqrt(18 / dot_size(dots))
    figure.legend(loc="outside upper center", ncols=6, markerscale=scale, columnspacing=1.4)
