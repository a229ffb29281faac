"""What a fit says of columns that matter, of noise, and of categories."""

import numpy as np
import pandas as pd
import pytest

from deepnoise import BDeepNoiseRegressor, load

SMALL = {"hidden": (5,), "chains": 2, "warmup": 100, "draws": 40, "random_state": 0}


def table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=rows) for name in ("a", "b")}
    return pd.DataFrame({**columns, "colour": rng.choice(["blue", "green", "red"], rows)}), rng


@pytest.mark.slow
@pytest.mark.parametrize("noise", [lambda z: z, np.exp], ids=["normal", "log-normal"])
def test_of_pure_noise_no_column_passes_the_floor(noise):
    X, rng = table()
    found = BDeepNoiseRegressor(**SMALL).fit(X, noise(rng.normal(size=120))).influence(X[:50])
    assert found.columns == ("a", "b", "colour")
    assert not found.on_mean.clear.any()
    assert not found.on_sd.clear.any()
    assert not found.on_mean.sign.any()
    # What the paper measures is never zero, and so is no evidence.
    assert (found.mean.lower > 0).all()


@pytest.fixture(scope="module")
def fitted():
    X, rng = table(seed=1)
    y = 10 - 2 * X["a"] + 3 * (X["colour"] == "red") + 0.5 * rng.normal(size=120)
    return BDeepNoiseRegressor(**SMALL).fit(X, y), X


def test_what_matters_passes_with_its_sign(fitted):
    model, X = fitted
    effects = model.influence(X[:50]).on_mean
    assert effects.clear.tolist() == [True, False, True]
    assert effects.sign.tolist() == [-1, 0, 0]
    assert effects.signed.mean[0] == pytest.approx(-2 * X["a"].std(), rel=0.2)
    assert effects.signed.lower[1] < 0 < effects.signed.upper[1]


def test_levels_are_compared_with_their_average(fitted, tmp_path):
    model, X = fitted
    share = (X["colour"] == "red").mean()
    found = model.influence(X[:50])
    levels = found.levels["colour"]
    assert levels.names == ("blue", "green", "red")
    assert levels.mean.mean == pytest.approx([-3 * share, -3 * share, 3 - 3 * share], abs=0.4)
    assert (levels.mean.lower <= levels.mean.mean).all()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").influence(X[:50])
    assert np.allclose(again.levels["colour"].mean.mean, levels.mean.mean)


def test_categories_in_their_own_units_too():
    X, rng = table(seed=2)
    y = (X["colour"] == "red") + 0.1 * rng.normal(size=120)
    model = BDeepNoiseRegressor(**SMALL, standardize=False).fit(X, y)
    found = model.influence(X[:20]).levels["colour"].mean.mean
    share = (X["colour"] == "red").mean()
    assert found == pytest.approx([-share, -share, 1 - share], abs=0.2)


@pytest.mark.slow
def test_several_outcomes(fitted):
    _, X = fitted
    rng = np.random.default_rng(3)
    y = np.column_stack([3 * X["a"], -3 * X["a"]]) + rng.normal(size=(120, 2))
    found = BDeepNoiseRegressor(**SMALL).fit(X, y).influence(X[:30])
    assert found.on_mean.size.shape == found.on_sd.floor.shape == (3, 2)
    assert found.on_mean.sign[0].tolist() == [1, -1]
    assert found.levels["colour"].mean.mean.shape == (3, 2)
