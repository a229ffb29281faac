"""Pictures of the studies of ``beyond.py``, from their ledger."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import beyond_censored
import beyond_classes
import beyond_missing
import beyond_survival
from beyond_shared import Found, by_split
from deepnoise.plots.style import BLUE, CHAINS, GREEN, GREY, INK, ORANGE, paper_style

# Shapes too: grey and green look alike to many.
LOOKS = ((BLUE, "o"), (INK, "s"), (ORANGE, "^"), (GREEN, "D"))
MARKERS = "os^Dv*"
DPI = 220


def draw(found: Found, folder: Path) -> None:
    for picture in (missing, censored, classes):
        figure = picture(found)
        path = folder / f"{picture.__name__}.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        print(f"\n{path}: {path.stat().st_size / 1000:.0f} kB")


def dots(axis, rows: dict[tuple, np.ndarray], methods, column: int) -> None:
    """Every split a dot, their mean a larger one, methods side by side."""
    names = list(dict.fromkeys(name for name, _ in rows))
    for m, (method, (colour, marker)) in enumerate(zip(methods, LOOKS, strict=False)):
        shift = 0.6 / len(methods) * (m - (len(methods) - 1) / 2)
        for place, name in enumerate(names):
            values = rows[name, method][:, column]
            look = {"color": colour, "marker": marker, "ms": 2.5, "ls": "", "alpha": 0.4}
            axis.plot(np.full(len(values), place + shift), values, **look)
        means = [rows[name, method][:, column].mean() for name in names]
        look = {"color": colour, "marker": marker, "ms": 5, "ls": ""}
        axis.plot(np.arange(len(names)) + shift, means, label=method, **look)
    axis.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names])


def room_for_legend(axis) -> None:
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))
    axis.legend(fontsize=7, loc="upper left")


@paper_style
def missing(found: Found):
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    dots(axes[0], by_split(found, "missing", beyond_missing.METHODS), beyond_missing.METHODS, 0)
    axes[0].set(title="30 % of inputs deleted", ylabel="negative log likelihood")
    room_for_legend(axes[0])
    for ((name,), part), colour, marker in zip(
        beyond_missing.of_ours(found, "widths").items(), CHAINS, MARKERS, strict=False
    ):
        wide, covered = np.moveaxis(part.mean(0), -1, 0)
        look = {"color": colour, "marker": marker, "ms": 4}
        axes[1].plot(beyond_missing.SHARES, wide / wide[0], label=name, **look)
        axes[2].plot(beyond_missing.SHARES, covered, **look)
    axes[1].set(title="width of 90 % intervals", ylabel="times that of whole rows", ylim=(0, None))
    axes[2].set(title="their coverage", ylim=(0.5, 1))
    axes[2].axhline(0.9, color=GREY, lw=0.7)
    for axis in axes[1:]:
        axis.set(xlabel="share deleted from test rows")
    axes[1].legend()
    return figure


@paper_style
def censored(found: Found):
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    dots(left, by_split(found, "censored", beyond_censored.METHODS), beyond_censored.METHODS, 0)
    left.set(title="40 % of outcomes censored", ylabel="negative log likelihood")
    room_for_legend(left)
    first = min(key for key in found if key[0] == "survival" and key[3] == "windows")
    places, times = beyond_survival.PLACES, beyond_survival.TIMES
    for i, truth in enumerate(beyond_survival.true_survival(places, times)):
        mean, lower, upper = (part[i] for part in found[first]["band"])
        label = f"x = ({places[i, 0]:g}, {places[i, 1]:g})"
        right.plot(times, mean, color=CHAINS[i], label=label)
        right.fill_between(times, lower, upper, color=CHAINS[i], alpha=0.2, lw=0)
        right.plot(times, truth, "--", color=CHAINS[i], lw=0.9)
    right.set(title="survival, 90 % bands; dashed: truth", xlabel="t", ylabel="P(time > t)")
    right.set_xscale("log")
    right.legend(fontsize=7)
    return figure


@paper_style
def classes(found: Found):
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    rows = by_split(found, "classes", beyond_classes.METHODS)
    for axis, measure in zip(axes, ("log loss", "ECE", "AUROC outside"), strict=True):
        dots(axis, rows, beyond_classes.METHODS, beyond_classes.MEASURES.index(measure))
        axis.set(title=measure, ylim=(0, 1 if measure == "AUROC outside" else None))
    room_for_legend(axes[0])
    return figure
