"""Every picture in axes of the user's own, at any size; fonts, markers and names."""

import inspect
import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from deepnoise import plots
from deepnoise.estimators.effects import PartialDependence

from .test_plots import chains, drawn, influence, rows
from .test_plots_outcomes import selection, variance


def calls():
    """Each function with arguments that will do, and how many axes it needs."""
    x, density, y = rows(30)
    curves = PartialDependence("kind", ("a", "b"), density.quantile([0.1, 0.9]))
    return {
        "calibration": (plots.calibration, (density, y), 2),
        "density_heatmap": (plots.density_heatmap, (density, x), 1),
        "dependence_curves": (plots.dependence_curves, (curves,), 1),
        "fan": (plots.fan, (density, y), 1),
        "influence_bars": (plots.influence_bars, (influence(4),), 3),
        "outcome_skill": (plots.outcome_skill, (selection(3),), 1),
        "rank": (plots.rank, (chains(2),), 2),
        "ridge": (plots.ridge, (density, y), 1),
        "sharpness": (plots.sharpness, (density, y), 1),
        "trace": (plots.trace, (chains(2),), 2),
        "uncertainty_parts": (plots.uncertainty_parts, (variance(9, 1),), 2),
    }


@pytest.mark.parametrize("name", plots.__all__)
def test_axes_of_the_users_own(name):
    plot, given, panels = calls()[name]
    figure = Figure(figsize=(9, 3))
    axes = figure.subplots(1, panels + 1, squeeze=False)[0]
    assert plot(*given, ax=list(axes[:panels])) is figure
    assert all(axis.has_data() for axis in axes[:panels])
    assert not axes[panels].has_data()
    assert not figure.legends, "a legend of the whole figure would be over the user's other axes"
    drawn(figure)


@pytest.mark.parametrize("name", plots.__all__)
def test_size_and_title_of_a_new_figure(name):
    plot, given, _ = calls()[name]
    figure = plot(*given, figsize=(7, 6), title="a title")
    assert figure.get_size_inches().tolist() == [7, 6]
    assert figure.get_suptitle() == "a title"
    assert {"ax", "figsize", "title"} <= set(inspect.signature(plot).parameters)


def test_letters_in_a_pdf_are_letters():
    _, density, y = rows(5)
    file = io.BytesIO()
    plots.fan(density, y).savefig(file, format="pdf")
    assert b"/Type3" not in file.getvalue()
    assert b"/TrueType" in file.getvalue() or b"/CIDFontType2" in file.getvalue()


def test_what_colours_say_shapes_say_too():
    _, density, y = rows(200)
    inside, outside = plots.sharpness(density, y).axes[0].collections[:2]
    assert len(inside.get_paths()[0]) != len(outside.get_paths()[0])
    markers = {line.get_marker() for line in plots.outcome_skill(selection(4)).axes[0].lines}
    assert {"o", "s"} <= markers
    dashes = {line.get_linestyle() for line in plots.trace(chains(1, (4, 20))).axes[0].lines}
    assert len(dashes) > 1


def test_outcomes_and_levels_are_named():
    _, density, y = rows(30)
    axis = plots.sharpness(density, y, 0.8, outcome="price").axes[0]
    assert axis.get_xlabel() == "width of the 80 % interval of price"
    assert axis.get_ylabel() == "|price − median|"
    assert plots.calibration(density, y, outcome="price").axes[0].get_xlabel() == "F(price | x)"
    assert "95 % interval" in plots.fan(density, y).axes[0].get_legend_handles_labels()[1]
    parts = plots.uncertainty_parts(variance(9, 1), outcome="price")
    assert parts.axes[0].get_title("left") == "variance of price"
    assert np.isfinite(parts.axes[0].get_ylim()).all()
