"""Which columns move the prediction, which way, how, and which cannot be told from noise."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..prediction.per_draw import spaced
from .style import BLUE, GREY, INK, ORANGE, canvas, legend_above, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BARS = 20
MAX_LEVELS = 8
NOISE = "not distinguishable from noise"
MOST_ROWS = 60


class Line(NamedTuple):
    """A line of the picture: a column, or (``level`` not None) one of its levels."""

    name: str
    column: int
    level: int | None


@paper_style
def influence_bars(
    influence: Any,
    outcome: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Size of each column's effect, its direction with a credible interval, and that on the spread.

    Bars are in units of y per standard deviation of the column, the strongest on top.  Small
    upright lines are the floor: what a column of noise may reach.  Columns that do not pass it are
    grey.  Of a category, the size is the standard deviation of the prediction
    over its levels, and the points below it are what each level does, against their average.

    Parameters
    ----------
    influence : Influence
        What ``estimator.influence(X)`` returns, of one outcome.
    outcome : str
        Name of y.
    ax : list of three axes, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    on_mean, on_sd = influence.on_mean, influence.on_sd
    if np.ndim(on_mean.size) != 1:
        raise ValueError("influence must be of one outcome")
    lines = list(_lines(influence))[::-1]
    size = (7.4, 1.2 + 0.24 * len(lines))
    figure, axes = canvas(ax, figsize, title, size, 3, sharey=True)
    places = np.arange(len(lines))
    _bars(axes[0], lines, on_mean, BLUE)
    _directions(axes[1], lines, influence)
    _bars(axes[2], lines, on_sd, ORANGE)
    percent = f"{100 * influence.level:g} %"
    titles = "size, on the mean", f"direction, with {percent} interval", "size, on the sd"
    for axis, text in zip(axes, titles, strict=True):
        axis.set_title(text)
        axis.tick_params(axis="y", length=0)
        axis.locator_params(axis="x", nbins=4)
        axis.set(yticks=places, ylim=(-0.6, len(lines) - 0.4))
        axis.tick_params(labelleft=axis is axes[0])
    axes[1].set_xlabel(f"change of {outcome} when the column changes by one standard deviation")
    axes[0].set_yticklabels([_short(line.name) for line in lines])
    legend_above(axes, ax is None)
    return figure


def _lines(influence: Any) -> Iterator[Line]:
    """Columns, the strongest first, each followed by its levels in the order of their effects."""
    for j in np.argsort(-influence.on_mean.size, kind="stable")[:MAX_BARS]:
        name = influence.columns[j]
        yield Line(name, j, None)
        if name in influence.levels:
            found = influence.levels[name]
            most = np.argsort(-np.abs(found.mean.mean), kind="stable")[:MAX_LEVELS]
            for k in most[np.argsort(-found.mean.mean[most], kind="stable")]:
                yield Line(f"= {found.names[k]}", j, k)


def _bars(axis: Any, lines: list[Line], effects: Any, colour: str) -> None:
    for noise in (False, True):
        chosen = [
            (place, line.column)
            for place, line in enumerate(lines)
            if line.level is None and effects.clear[line.column] != noise
        ]
        if not chosen:
            continue
        places, columns = (np.array(part) for part in zip(*chosen, strict=True))
        look = {"color": "white", "edgecolor": GREY, "hatch": "////", "label": NOISE, "lw": 0.6}
        look = look if noise else {"color": colour, "alpha": 0.8}
        axis.barh(places, effects.size[columns], 0.7, **look)
        look = {"color": INK, "lw": 1.2, "label": "floor: what noise may reach"}
        axis.vlines(effects.floor[columns], places - 0.42, places + 0.42, **look)
    most, floors = effects.size.max(), effects.floor[np.isfinite(effects.floor)]
    axis.set_xlim(0, 1.08 * max(most, min(floors.max(initial=0), 2 * most)) or 1)


def _directions(axis: Any, lines: list[Line], influence: Any) -> None:
    axis.axvline(0, color=INK, lw=0.7)
    effects = influence.on_mean
    for place, (_, j, k) in enumerate(lines):
        clear = bool(effects.clear[j])
        band = effects.signed if k is None else influence.levels[influence.columns[j]].mean
        at = j if k is None else k
        mean, low, high = (float(v[at]) for v in (band.mean, band.lower, band.upper))
        if np.isnan(mean):
            continue
        colour = BLUE if clear else GREY
        axis.plot([low, high], [place, place], color=colour, lw=1.6, solid_capstyle="butt")
        look = {"ms": 4.5, "mec": colour, "mfc": colour if clear else "white"}
        axis.plot(mean, place, "o" if k is None else "D", **look)


def _short(name: str, most: int = 24) -> str:
    """Cut in the middle: names often differ at their end only."""
    half = most // 2
    return name if len(name) <= most else f"{name[:half]}…{name[1 - half :]}"


@paper_style
def dependence_curves(
    dependence: Any,
    ylabel: str = "y",
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Partial dependence as a thick line over the curves of single rows, at most 60 of them.

    Parameters
    ----------
    dependence : PartialDependence
        What ``partial_dependence`` returns, of one outcome.
    ylabel : str
        What the curves show.
    ax : axis, optional
        Where to draw; by default a new figure.
    figsize : (width, height) in inches, optional
        Of the new figure.
    title : str, optional
        Of the new figure.
    """
    curves = np.asarray(dependence.individual)
    if curves.ndim != 2:
        raise ValueError("dependence must be of one outcome")
    figure, (axis,) = canvas(ax, figsize, title, (3.6, 2.8), 1)
    shown = curves[spaced(len(curves), MOST_ROWS)]
    is_category = isinstance(dependence.values[0], str)
    x = np.arange(len(dependence.values)) if is_category else np.array(dependence.values, float)
    axis.plot(x, shown.T, color=GREY, linewidth=0.5, alpha=0.5)
    axis.plot(x, dependence.average, color=BLUE, linewidth=2.2, marker="o" if is_category else None)
    if is_category:
        axis.set_xticks(x, dependence.values)
    axis.set(xlabel=dependence.name, ylabel=ylabel)
    return figure
