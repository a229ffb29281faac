"""Partial dependence and individual curves of anything a density says."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from deepnoise import partial_dependence, shap_values

from .toy import Line

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
KIND = np.where(RNG.random(60) < 0.5, "a", "b")
Y = 2 * X[:, 0] - X[:, 1] + 3 * (KIND == "b") + 0.1 * RNG.normal(size=60)
FRAME = pd.DataFrame({"first": X[:, 0], "second": X[:, 1], "kind": KIND})


@pytest.fixture(scope="module")
def line():
    return Line().fit(FRAME, Y)


def test_curves_of_a_line_have_its_slope(line):
    found = partial_dependence(line, FRAME, "first", values=[0.0, 1.0])
    np.testing.assert_allclose(np.diff(found.individual, axis=1), 2, atol=0.1)
    assert found.average.shape == (2,)
    np.testing.assert_allclose(found.average, found.individual.mean(axis=0))


def test_spread_and_quantiles(line):
    spread = partial_dependence(line, FRAME, 0, of="sd")
    assert len(spread.values) == 11
    np.testing.assert_allclose(spread.individual, spread.individual[0, 0], rtol=1e-9)
    top, middle = (partial_dependence(line, FRAME, 0, of=q).average for q in (0.9, 0.5))
    np.testing.assert_allclose(top - middle, 1.2816 * spread.average, rtol=1e-4)
    risk = partial_dependence(line, FRAME, 0, of=lambda density: density.probability_above(0.0))
    assert (np.diff(risk.average) > 0).all()


def test_columns_in_another_order(line):
    turned = partial_dependence(line, FRAME[["kind", "second", "first"]], "first")
    assert turned.values == partial_dependence(line, FRAME, "first").values
    with pytest.raises(NotFittedError):
        partial_dependence(Line(), FRAME, "first")


def test_levels_of_a_category(line):
    found = partial_dependence(line, FRAME, "kind")
    assert found.values == ("a", "b")
    np.testing.assert_allclose(np.diff(found.individual, axis=1), 3, atol=0.1)


def test_arrays_and_polars(line):
    plain = Line().fit(X, Y)
    by_number = partial_dependence(plain, X, -1, values=[0.0])
    assert by_number.name == "x1"
    np.testing.assert_allclose(partial_dependence(plain, X, "x1", values=[0.0]).average,
                               by_number.average)  # fmt: skip
    polars = pytest.importorskip("polars")
    theirs = partial_dependence(line, polars.DataFrame(FRAME.to_dict("list")), "second")
    np.testing.assert_allclose(theirs.average, partial_dependence(line, FRAME, 1).average)


def test_a_model_without_densities():
    classes = LogisticRegression().fit(X, Y > 0)
    for ask in (
        lambda: partial_dependence(classes, X, 0),
        lambda: shap_values(classes, X[:2], X[:9]),
    ):
        with pytest.raises(ValueError, match="LogisticRegression has no densities"):
            ask()


@pytest.mark.parametrize(
    ("column", "settings", "words"),
    [
        ("third", {}, "column must be one of first, second, kind"),
        (3, {}, "column must be one of"),
        (0, {"of": "median"}, "of must be 'mean', 'sd', a level"),
        (0, {"of": 95}, "of must be 'mean', 'sd', a level"),
        (0, {"values": []}, "values must hold at least one value"),
    ],
)
def test_wrong_arguments(line, column, settings, words):
    with pytest.raises(ValueError, match=words):
        partial_dependence(line, FRAME, column, **settings)
