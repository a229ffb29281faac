"""Every picture: a figure that can be saved, at any size, outside pyplot; bad input by name."""

import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from deepnoise import PredictiveMixture, plots
from deepnoise.plots.heatmap import profile
from deepnoise.prediction.credible import Band
from deepnoise.prediction.influence import Effects, Influence, LevelEffects
from tests.estimators.toy import Line


def mixture(x):
    """Two components, one of which follows a sine."""
    x = np.asarray(x, dtype=float)
    means = np.stack([np.sin(2 * x), -1 - x**2], axis=-1)[..., None]
    sds = np.stack([0.2 + 0.1 * np.abs(x), np.full_like(x, 0.5)], axis=-1)
    return PredictiveMixture.of(means, sds[..., None, None] ** 2)


def rows(count):
    x = np.linspace(-2, 2, count) if count > 1 else np.zeros(1)
    density = mixture(x)
    return x, density, density.sample(1, 0)[:, 0]


def chains(names=3, shape=(2, 40)):
    rng = np.random.default_rng(0)
    return {f"mean[{n}]": rng.normal(size=shape) for n in range(names)}


def influence(features, levels=0):
    """Every other column passes its floor; the first may be a category."""
    size = np.linspace(1, 2, features)
    band = Band(size, 0.5 * size, 1.5 * size)
    names = tuple(f"a feature with a long name, number {j}" for j in range(features))
    signed = np.where(np.arange(features) % 3, size, -size)
    signed[0] = np.nan if levels else signed[0]
    floor = np.where(np.arange(features) % 2, 2 * size, 0.5 * size)
    effects = Effects(size, floor, Band(signed, signed - 0.3, signed + 0.3))
    each = np.linspace(-1, 1, levels)
    each = Band(each, each - 0.1, each + 0.1)
    found = {names[0]: LevelEffects(tuple("abcdefghijklmn"[:levels]), each, each)} if levels else {}
    return Influence(names, size, band, band, names, effects, effects, found, 0.95)


def drawn(figure):
    """The picture as pixels: it can be saved, and there is something on it."""
    assert isinstance(figure, Figure)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    with Image.open(file) as picture:
        pixels = np.asarray(picture.convert("L"))
    assert pixels.std() > 3
    return pixels


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_densities_of_any_number_of_rows(count):
    x, density, y = rows(count)
    for figure in (
        plots.ridge(density, y),
        plots.fan(density, y),
        plots.fan(density, y, order=x),
        plots.calibration(density, y),
        plots.sharpness(density, y),
        plots.density_heatmap(density, x, X=x, y=y),
    ):
        drawn(figure)


def test_outcomes_are_optional():
    x, density, _ = rows(5)
    for figure in (
        plots.ridge(density, rows=[0, -1], labels=["first", "last"]),
        plots.fan(density),
        plots.density_heatmap(density, x, coverage=None),
    ):
        drawn(figure)


def test_ridges_are_named_and_few():
    _, density, y = rows(1000)
    axis = plots.ridge(density, y).axes[0]
    assert len(axis.get_yticklabels()) == 12
    named = plots.ridge(density, rows=[3, 7], labels=[f"patient {n}" for n in range(1000)])
    assert [t.get_text() for t in named.axes[0].get_yticklabels()] == ["patient 3", "patient 7"]


def test_every_ridge_has_the_same_height_and_none_is_cut():
    covs = np.array([1.0, 1.0, 1.0, 0.02**2]).reshape(4, 1, 1, 1)
    figure = plots.ridge(PredictiveMixture.of(np.zeros((4, 1, 1)), covs), points=2001)
    axis = figure.axes[0]
    tops = [line.get_ydata().max() - row for row, line in zip((3, 2, 1, 0), axis.lines[1::2])]
    assert tops == pytest.approx([1.3] * 4)
    assert axis.get_ylim()[1] > 3 + 1.3
    figure.canvas.draw()
    assert all(line.get_clip_path() is None for line in axis.lines)


def test_rows_are_counted_from_one_as_in_files():
    _, density, _ = rows(5)
    axis = plots.ridge(density, rows=[0, -1]).axes[0]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["row 1", "row 5"]
    figure = plots.trace({"mean[0]": np.zeros((2, 9)), "log_density[11]": np.ones((2, 9))})
    assert [axis.get_title("left") for axis in figure.axes] == [
        "mean, row 1",
        "log density, row 12",
    ]


def test_the_dark_part_of_a_ridge_is_in_pieces_where_the_density_is():
    density = PredictiveMixture.of([[[-3.0], [3.0]]], np.full((1, 2, 1, 1), 0.25))
    for region, pieces in (("central", 1), ("hdi", 2)):
        axis = plots.ridge(density, region=region).axes[0]
        # The whole density, the pieces, and the entry of the legend.
        assert len(axis.collections) == 1 + pieces + 1
    assert axis.get_legend_handles_labels()[1] == ["90 % highest density"]
    two = PredictiveMixture.of([[[-3.0], [3.0]]] * 2, np.full((1, 2, 1, 1), 0.25))
    drawn(plots.density_heatmap(two, [0, 1], region="hdi"))


def test_a_fan_with_repeated_places():
    _, density, y = rows(60)
    drawn(plots.fan(density, y, order=np.repeat([1, 2, 3], 20)))


@pytest.mark.parametrize(("names", "shape"), [(1, (1, 1)), (3, (2, 40)), (5, (8, 30)), (9, (4, 9))])
def test_chains(names, shape):
    for plot in (plots.trace, plots.rank):
        figure = plot(chains(names, shape))
        drawn(figure)
        assert sum(axis.axison for axis in figure.axes) == min(names, 6)


def test_ranks_of_equal_chains_are_flat():
    same = np.tile(np.arange(40.0), (2, 1))
    heights = [p.get_data().values for p in plots.rank({"a": same}, bins=4).axes[0].patches]
    assert np.allclose(heights, 1)


@pytest.mark.parametrize(("features", "levels"), [(1, 0), (5, 3), (60, 14)])
def test_influence(features, levels):
    figure = plots.influence_bars(influence(features, levels), outcome="price")
    drawn(figure)
    assert figure.axes[1].get_xlabel().startswith("change of price")
    assert "95 % interval" in figure.axes[1].get_title("left")
    # Of twenty columns the strongest are drawn: of sixty the category is not among them.
    shown = min(levels, 8) if features <= 20 else 0
    assert len(figure.axes[0].get_yticklabels()) == min(features, 20) + shown


def test_columns_below_the_floor_are_hatched_and_called_noise():
    figure = plots.influence_bars(influence(5))
    bars = [p for p in figure.axes[0].patches if p.get_width() > 0]
    hatched = {round(p.get_width(), 2) for p in bars if p.get_hatch()}
    assert hatched == {1.25, 1.75}
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert "not distinguishable from noise" in labels


def test_calibration_covers_what_it_should():
    _, density, y = rows(1000)
    curve = plots.calibration(density, y).axes[1].lines[-1]
    assert np.abs(curve.get_ydata() - curve.get_xdata()).max() < 0.06


def test_heatmap_of_an_estimator():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=30), "b": ["u", "v", "v"] * 10, "c": [True, False] * 15})
    y, grid = X["a"] + rng.normal(size=30), np.linspace(-1, 1, 20)
    model = Line().fit(X, y)
    figure = plots.density_heatmap(model, grid, "a", X, y)
    drawn(figure)
    assert figure.axes[0].get_xlabel() == "a\n(others at medians or commonest values)"
    slices = profile(X, "a", X["a"].to_numpy())
    moved = y - model.predict(X) + model.predict(slices)
    dots = figure.axes[0].collections[-1].get_offsets()
    assert np.allclose(dots, np.column_stack([X["a"], moved]))
    assert not np.allclose(dots[:, 1], y)
    assert "rows, moved to this slice" in figure.axes[0].get_legend_handles_labels()[1]
    numbers = X[["a"]].assign(b=rng.normal(size=30))
    figure = plots.density_heatmap(Line().fit(numbers, y), grid, "a", numbers)
    assert figure.axes[0].get_xlabel() == "a\n(other columns at their medians)"
    held = profile(X, 0, grid)
    assert set(held["b"]) == {"v"}
    assert np.array_equal(held["a"], grid)
    alone = Line().fit(X[["a"]].to_numpy(), y)
    drawn(plots.density_heatmap(alone, grid))
    figure = plots.density_heatmap(alone, grid, 0, X[["a"]].to_numpy(), y)
    drawn(figure)
    assert np.allclose(figure.axes[0].collections[-1].get_offsets()[:, 1], y)
    assert figure.axes[0].get_xlabel() == "feature 0"
    with pytest.raises(ValueError, match="X must be given"):
        plots.density_heatmap(model, grid, "a")
    with pytest.raises(ValueError, match="no column 'z'"):
        plots.density_heatmap(model, grid, "z", X)


def test_polars_frames_too():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["u", "v", "v"]})
    held = profile(X, "a", np.array([0.0, 1.0]))
    assert isinstance(held, pl.DataFrame)
    assert held["b"].to_list() == ["v", "v"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda d: plots.ridge(d, y=[1, 2]), "y"),
        (lambda d: plots.ridge(d, rows=[99]), "rows"),
        (lambda d: plots.ridge(d, rows=[0.5]), "rows"),
        (lambda d: plots.ridge(d, labels=["a", "b"]), "labels"),
        (lambda d: plots.fan(d, y=[1]), "y"),
        (lambda d: plots.fan(d, order=[1]), "order"),
        (lambda d: plots.calibration(d, [1]), "y"),
        (lambda d: plots.calibration(d, [np.nan] * 5), "y"),
        (lambda d: plots.sharpness(d, [1]), "y"),
        (lambda d: plots.density_heatmap(d, [0, 1]), "x_grid"),
        (lambda d: plots.density_heatmap(d, [0, 2, 1, 3, 4]), "x_grid"),
        (lambda d: plots.density_heatmap(d, np.arange(5), X=np.zeros(3), y=[1]), "y"),
        (lambda d: plots.density_heatmap(d, np.arange(5), 3, np.zeros((3, 2)), [1] * 3), "feature"),
        (lambda d: plots.trace({}), "values"),
        (lambda d: plots.rank({"a": [1, 2]}), "values"),
        (lambda d: plots.trace({"a": [[1]], "b": [[1, 2]]}), "values"),
        (lambda d: plots.ridge(d, region="middle"), "region"),
        (lambda d: plots.ridge(d, ax=3), "ax"),
        (lambda d: plots.trace(chains(2), ax=[Figure().subplots()]), "ax"),
        (lambda d: plots.fan(d, ax=Figure().subplots(), figsize=(2, 2)), "figsize"),
        (lambda d: plots.fan(d, ax=Figure().subplots(), title="mine"), "title"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        call(rows(5)[1])


def test_other_bad_input():
    with pytest.raises(TypeError, match="density must be a PredictiveMixture"):
        plots.ridge([1, 2])
    with pytest.raises(TypeError, match="model must be an estimator"):
        plots.density_heatmap(object(), [1, 2])
    with pytest.raises(ValueError, match=r"density has 2 outcomes.*marginal"):
        plots.fan(PredictiveMixture.of(np.zeros((3, 1, 2)), np.eye(2)[None, None]))


def test_the_users_settings_neither_matter_nor_change():
    _, density, y = rows(20)
    plain = drawn(plots.fan(density, y))
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        before = dict(mpl.rcParams)
        assert np.array_equal(drawn(plots.fan(density, y)), plain)
        assert dict(mpl.rcParams) == before


def test_pyplot_is_not_touched(tmp_path):
    code = (
        "import sys, numpy as np\n"
        "from deepnoise import plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plots.trace({'a': np.zeros((2, 9))}).savefig(sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    picture = str(tmp_path / "trace.png")
    subprocess.run([sys.executable, "-c", code, picture], check=True, timeout=120)


def test_every_name_resolves_to_a_function():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    assert dir(plots) == sorted(plots.__all__)
    with pytest.raises(AttributeError, match="no_such"):
        _ = plots.no_such


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"deepnoise\[plots\]"):
        plots.trace(chains())
