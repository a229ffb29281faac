"""Data at the edge of what can be fitted: finite answers, or a clear refusal."""

import numpy as np
import pytest

from .toy import PLAIN, small

pd = pytest.importorskip("pandas")

ROWS = 30
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=ROWS)


def assert_finite_and_sane(model, x, y):
    density = model.predict_density(x)
    mean, interval = density.mean(), density.interval(0.9)
    assert np.isfinite(mean).all()
    assert np.isfinite(interval).all()
    assert (interval[:, 0] < interval[:, 1]).all()
    assert np.isfinite(density.log_prob(y)).all()
    spread = max(np.ptp(y), 1e-300)
    assert (np.abs(mean - y) < 100 * spread).all() or np.ptp(y) == 0


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, np.full(ROWS, 3.0)),
        (X, np.zeros(ROWS)),
        (np.c_[X[:, 0], np.ones(ROWS)], Y),
        (np.c_[X[:, 0], X[:, 0]], Y),
        (np.zeros((ROWS, 2)), Y),
        (X * 1e300, Y),
        (X * 1e-300, Y),
        (X, Y * 1e100),
        (X, Y * 1e-100),
        (X + 1e12, Y + 1e12),
        (X, np.r_[Y[:-1], 1e6]),
        (np.r_[X[:-1], [[1e9, -1e9]]], Y),
        (np.round(X).astype(int), np.round(Y).astype(int)),
        (X > 0, Y > 0),
        (X.astype("float32"), Y.astype("float16")),
    ],
    ids=[
        "constant-y",
        "zero-y",
        "constant-column",
        "same-column-twice",
        "nothing-varies",
        "huge-x",
        "tiny-x",
        "huge-y",
        "tiny-y",
        "far-from-zero",
        "outlier-y",
        "outlier-x",
        "integers",
        "booleans",
        "half-precision",
    ],
)
def test_strange_values(x, y):
    assert_finite_and_sane(small().fit(x, y), x, np.asarray(y, float))


@pytest.mark.parametrize("shape", [(1, 2), (2, 5)], ids=["one-row", "more-columns-than-rows"])
def test_few_rows(shape):
    x = RNG.normal(size=shape)
    model = small(**PLAIN).fit(x, x[:, 0])
    assert_finite_and_sane(model, x, x[:, 0])
    assert model.diagnostics_.draws == 20


def test_one_row_from_a_gradient_start():
    assert_finite_and_sane(small().fit([[1.0, 2.0]], [3.0]), [[1.0, 2.0]], np.array([3.0]))


def test_far_away_rows_have_finite_densities():
    model = small().fit(X, Y)
    far = np.array([[1e300, -1e300], [1e-300, 0.0], [1e6, 1e6]])
    assert np.isfinite(model.predict_interval(far)).all()


def test_user_units():
    model = small(standardize=False).fit(X, Y)
    assert_finite_and_sane(model, X, Y)
    with pytest.raises(ValueError, match="X holds values too large for float32"):
        small(standardize=False).fit(X * 1e20, Y)
    with pytest.raises(ValueError, match="y holds values too large for float32"):
        small(standardize=False).fit(X, Y * 1e20)


def test_categories():
    table = pd.DataFrame({"colour": np.where(X[:, 0] > 0, "red", "blue")})
    y = np.where(X[:, 0] > 0, 5.0, -5.0) + 0.1 * X[:, 1]
    model = small().fit(table, y)
    assert model.encoder_.feature_names == ("colour=blue", "colour=red")
    assert list(model.feature_names_in_) == ["colour"]
    blue, red = model.predict(pd.DataFrame({"colour": ["blue", "red"]}))
    assert blue < 0 < red
    assert model.influence(table).names == ("colour=blue", "colour=red")
