"""Pictures of outcome selection and of where uncertainty comes from."""

from dataclasses import replace

import numpy as np
import pytest

from deepnoise import plots
from deepnoise.prediction.credible import Band
from deepnoise.prediction.selection import OutcomeSelection
from deepnoise.prediction.uncertainty import EntropyParts, VarianceParts, sources

from .test_plots import drawn


def selection(count, loss="squared"):
    mean = np.linspace(-0.2, 0.8, count)
    names = tuple(f"outcome {q}" for q in range(count))
    band = Band(mean, mean - 0.1, mean + 0.1)
    return OutcomeSelection(names, loss, band, (mean > 0.2).astype(float), 0.0, 0.95)


def variance(rows, layers):
    noises = 2 * layers + 1
    share = np.random.default_rng(0).dirichlet(np.ones(noises), size=rows)
    size = np.linspace(1, 3, rows)
    return VarianceParts(size / 4, size, share, sources(layers), np.full(layers + 1, 9.0))


def entropy(rows):
    total = np.linspace(-1, 1, rows)
    return EntropyParts(total, total - 0.2, np.full(rows, 0.2), np.zeros((rows, 2)))


@pytest.mark.parametrize("count", [1, 3, 30])
def test_skill_of_any_number_of_outcomes(count):
    figure = plots.outcome_skill(selection(count))
    drawn(figure)
    assert len(figure.axes[0].get_yticklabels()) == count
    drawn(plots.outcome_skill(selection(count, loss="crps")))


@pytest.mark.parametrize(("rows", "layers"), [(1, 1), (2, 0), (50, 3)])
def test_parts_of_any_number_of_rows_and_layers(rows, layers):
    parts = variance(rows, layers)
    assert len(drawn(plots.uncertainty_parts(parts))) > 0
    figure = plots.uncertainty_parts(parts, entropy(rows), np.linspace(5, 1, rows), "age")
    drawn(figure)
    assert len(figure.axes) == 3
    assert figure.axes[0].get_xlabel() == "age"
    layer_names = [t.get_text() for t in figure.axes[-1].get_yticklabels()]
    assert layer_names == [*(f"layer {l}" for l in range(layers + 1)), "all"]


def test_a_bound_that_is_infinite_is_left_out():
    drawn(plots.uncertainty_parts(replace(variance(5, 1), bounds=np.array([np.inf, 2.0]))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": [1, 2]}, "order must have one value for each of 5 rows"),
        ({"entropy": entropy(4)}, "entropy must be of the same 5 rows"),
        ({"parts": replace(variance(5, 1), epistemic=np.ones((5, 2)))}, "parts must be of one"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        plots.uncertainty_parts(**{"parts": variance(5, 1), **change})
