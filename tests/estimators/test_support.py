"""Outcomes with a support, fitted: everything answers within it or refuses in one line."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import deepnoise
from deepnoise import BDeepNoiseSurvival, between, plots
from deepnoise.estimators import outcomes
from deepnoise.estimators.effects import effects, partial_dependence
from deepnoise.estimators.encode import TableEncoder
from deepnoise.estimators.scale import NetworkScale
from deepnoise.estimators.scoring import usefulness_of
from deepnoise.explore.engine import Engine
from deepnoise.explore.page import facts, picture
from deepnoise.prediction.density.support import REAL, Support
from deepnoise.prediction.density.supported import SupportedDensity
from deepnoise.report import report

from .toy import small, unguarded

ROWS = 40


def rows(kind: str) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "years": rng.uniform(0.3, 2.0, ROWS)})
    rate = np.exp(0.8 + 0.5 * X["a"].to_numpy())
    y = {
        "positive": rate * np.exp(0.4 * rng.normal(size=ROWS)),
        "counts": rng.poisson(rate * X["years"]).astype(float),
        "zeros": np.where(rng.random(ROWS) < 0.4, 0.0, rate * rng.gamma(2.0, size=ROWS)),
    }[kind]
    return X, y


SETTINGS = {
    "positive": {"support": "positive"},
    "counts": {"support": "counts", "exposure": "years"},
    "zeros": {"support": "positive", "point_mass": 0},
}


@pytest.fixture(scope="module", params=["counts", "zeros"])
def fitted(request):
    X, y = rows(request.param)
    return request.param, small(**SETTINGS[request.param]).fit(X, y), X, y


def test_everything_stays_within_the_support(fitted):
    kind, model, X, y = fitted
    density = model.predict_density(X)
    assert isinstance(density, SupportedDensity)
    assert (model.predict(X) > 0).all()
    assert (model.predict_interval(X, 0.99) >= 0).all()
    assert (model.sample(X, 50) >= 0).all()
    assert (density.cdf(-1e-9) == 0).all()
    np.testing.assert_allclose(model.predict_above(X[:3], 0.0), 1.0)
    p, low, high = model.predict_above(X, 1.0).T
    assert (low <= p + 1e-12).all()
    assert (p <= high + 1e-12).all()
    several = model.predict_above(X, [[0.0, 1.0]])
    np.testing.assert_allclose(several[:, 0, 1], p, rtol=1e-6)
    scores = model.score_report(X, y)
    assert all(np.isfinite(value) for value in scores.values())
    assert "nll_rounded" not in scores
    if kind == "counts":
        assert (model.sample(X, 9) % 1 == 0).all()


def test_bands_hold_the_density(fitted):
    _kind, model, X, _ = fitted
    grid = np.array([-1.0, 0.0, 1.0, 2.0])
    bands = model.density_bands(X[:3], grid)
    assert (bands.pdf.mean[:, 0] == 0).all()
    assert (bands.cdf.mean[:, 0] == 0).all()
    # Without the guard, and with other paths: near the predictive density.
    found = unguarded(model, X[:3])
    np.testing.assert_allclose(bands.cdf.mean, found.cdf_grid(grid), atol=0.06)
    np.testing.assert_allclose(bands.pdf.mean, found.pdf_grid(grid), atol=0.1)
    assert (bands.quantile.lower >= 0).all()


def test_what_looks_inside_works_on_z(fitted):
    kind, model, X, y = fitted
    assert model.influence(X).columns == ("a", "years")
    parts = model.decompose(X[:3])
    assert np.isfinite(parts.epistemic).all()
    assert model.diagnostics_.status
    assert np.isfinite(model.loo().elpd)
    assert usefulness_of(model, X, y).no_input.rows == ROWS
    by_name = {effect.name: effect.span for effect in effects(model, X[:5])}
    if kind == "counts":
        assert by_name["years"] == 0  # an offset, no input
        twice = X.assign(years=2 * X["years"])
        np.testing.assert_allclose(
            model.predict_density(twice).latent.mean() - np.log(2),
            model.predict_density(X).latent.mean(),
        )
        assert model.familiarity(twice).log_density == pytest.approx(
            model.familiarity(X).log_density
        )
    curves = partial_dependence(model, X[:4], "a", values=[-1.0, 1.0])
    assert (curves.individual > 0).all()
    with pytest.raises(ValueError, match="without point masses"):
        model.centiles(X[:3], y[:3])


def test_saved_resumed_thinned_and_cloned(fitted, tmp_path):
    kind, model, X, _ = fitted
    model.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    assert loaded.support_ == model.support_
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    longer = loaded.resume(25)
    assert longer.posterior_.run.n_draws == 25
    assert (longer.predict(X) > 0).all()
    assert (model.thinned(5).predict(X) > 0).all()
    again = clone(model)
    assert again.get_params()["support"] == SETTINGS[kind]["support"]


def test_files_of_before_still_load(fitted, tmp_path, monkeypatch):
    _, model, X, _ = fitted
    plain = clone(model).set_params(support=None, point_mass=None, exposure=None)
    plain.fit(X, X["a"].to_numpy())
    header = plain.header()
    header.pop("support")
    monkeypatch.setattr(type(plain), "header", lambda _: header)
    plain.save(tmp_path / "old")
    loaded = deepnoise.load(tmp_path / "old")
    assert loaded.support_ == REAL
    np.testing.assert_array_equal(loaded.predict(X), plain.predict(X))


def test_recalibration_and_scorers(fitted):
    _, model, X, y = fitted
    before = model.score_report(X, y)["nll"]
    model.recalibrate(X, y)
    assert model.score_report(X, y)["nll"] <= before + 1e-6
    model.stretch_ = 1.0
    for name in ("nll", "crps", "interval_score"):
        assert np.isfinite(deepnoise.scorer(name)(model, X, y))


@pytest.mark.slow
def test_pictures_and_report(fitted):
    kind, model, X, y = fitted
    density = model.predict_density(X)
    for draw in (plots.ridge, plots.fan, plots.calibration, plots.sharpness):
        assert draw(density, y)
    grid = np.linspace(-1, 1, 5)
    assert plots.density_heatmap(model, grid, "a", X, y, region="hdi", points=50)
    text = report(model, X, y, rows=20, show=(1, 2))
    assert ("Exactly 0:" in text) == (kind == "zeros")
    assert "nan" not in text.split("</style>")[1].lower().replace("nanmean", "")


def test_skpro_sees_the_same_law(fitted):
    skpro = pytest.importorskip("deepnoise.estimators.skpro")
    _, model, X, y = fitted
    density = model.predict_density(X[:3])
    seen = skpro.MixtureDistribution(density)
    np.testing.assert_allclose(seen.mean().to_numpy()[:, 0], density.mean())
    np.testing.assert_allclose(seen.cdf(y[:3, None]).to_numpy()[:, 0], density.cdf(y[:3]))
    near = seen.energy(pd.DataFrame(y[:3])).to_numpy()[:, 0] - seen.energy().to_numpy()[:, 0] / 2
    np.testing.assert_allclose(near, density.crps(y[:3]), rtol=0.02)


@pytest.mark.slow
def test_explorer(fitted):
    kind, model, X, _ = fitted
    engine = Engine(model, X)
    encoded = model.encoder_.encode(X[:2], "nan")
    answer = engine.answer(encoded, 1.0)
    assert engine.outcome.grid.min() >= 0
    assert np.isfinite(answer.pdf).all()
    exact = unguarded(model, X[:2])
    np.testing.assert_allclose(answer.above[:, 0], exact.probability_above(1.0), atol=0.06)
    told = dict(facts(answer, 0, 1.0, "y"))
    assert ("P(y = 0)" in told) == (kind == "zeros")
    assert "nan" not in str(picture(answer, engine.outcome, 1.0, "y", 500))


def test_positive_outcomes():
    X, y = rows("positive")
    model = small(support="positive").fit(X, y)
    assert np.isfinite(model.centiles(X[:3], y[:3]).z).all()
    density = model.predict_density(X)
    z = density.latent.log_prob(np.log(y)) - np.log(y)
    np.testing.assert_allclose(density.log_prob(y), z)
    assert (model.predict_interval(X, 0.99) > 0).all()


@pytest.mark.slow
def test_windows_and_gaps_go_with_a_support():
    X, y = rows("positive")
    X.loc[0, "a"] = np.nan
    upper = np.where(y > 4, np.inf, y)
    seen = between(np.minimum(y, 4.0), upper)
    model = small(support="positive").fit(X, seen, sample_weight=np.ones(ROWS))
    assert (model.predict(X) > 0).all()
    assert np.isfinite(model.score_report(X, seen)["nll"])
    counts = np.round(y)
    missing = small(support="counts").fit(X, np.where(np.arange(ROWS) == 3, np.nan, counts))
    assert (missing.predict(X) > 0).all()


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"support": "positive"}, -1.0, "support='positive' needs values above 0"),
        ({"support": "positive"}, 0.0, "in row 2 it is 0"),
        ({"support": (0, 1)}, 1.0, "needs values between these ends"),
        ({"support": "counts"}, 1.5, "whole numbers of at least 0, but in row 2 it is 1.5"),
        ({"support": "counts"}, -1.0, "whole numbers of at least 0"),
        ({"support": (3, 1)}, 2.0, "low < high"),
        ({"support": (0, np.inf)}, 2.0, "must be finite"),
        ({"support": "negative"}, 2.0, "support must be None, 'positive', 'counts'"),
        ({"support": 3}, 2.0, "support must be None"),
        ({"support": (0, 1), "point_mass": 2}, 0.5, "point_mass must lie within"),
        ({"support": "positive", "point_mass": -1}, 1.0, "must be 0, or values above 0"),
        ({"support": "positive", "point_mass": (0, 2)}, 1.0, "must be 0, or values above 0"),
        ({"support": "counts", "point_mass": 0}, 1.0, "of no use with counts"),
        ({"point_mass": "zero"}, 1.0, "point_mass must be a finite number"),
        ({"point_mass": ()}, 1.0, "point_mass must be a finite number"),
        ({"exposure": "years"}, 1.0, "exposure needs support"),
        ({"support": "counts", "exposure": "miles"}, 1.0, "there is no 'miles'"),
        ({"support": "counts", "exposure": 2}, 1.0, "a column from 0 to 1"),
    ],
)
def test_bad_input_is_one_clear_line(settings, y, message):
    X, _ = rows("positive")
    model, outcomes = small(**settings), np.ones(ROWS)
    if settings.get("support") == (0, 1):
        outcomes = np.full(ROWS, 0.5)
    outcomes[2] = y
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as error:
        model.fit(X, outcomes)
    assert "\n" not in str(error.value)
    assert not hasattr(model, "seed_")


def test_bad_exposures_and_outcomes():
    X, y = rows("counts")
    model = small(support="counts", exposure="years")
    for wrong in (0.0, np.nan, -1.0):
        with pytest.raises(ValueError, match="exposure must be positive and finite; in row 4"):
            model.fit(X.assign(years=np.where(np.arange(ROWS) == 4, wrong, 1.0)), y)
    with pytest.raises(ValueError, match="one outcome"):
        small(support="positive").fit(X, np.ones((ROWS, 2)))
    with pytest.raises(ValueError, match="not for BDeepNoiseSurvival"):
        BDeepNoiseSurvival(support="positive").fit(X, (np.ones(ROWS), np.ones(ROWS, bool)))


def test_the_number_of_an_exposure_is_that_of_its_column():
    table = pd.DataFrame({"kind": ["a", "b", "c"], "years": [1.0, 2.0, 3.0]})
    encoder = TableEncoder.learn(table)
    assert outcomes.exposure_place(1, encoder) == outcomes.exposure_place("years", encoder) == 3
    for column in (0, "kind"):
        with pytest.raises(ValueError, match="'kind' has categories"):
            outcomes.exposure_place(column, encoder)
    for column in (2, "size"):
        with pytest.raises(ValueError, match="exposure must be a column"):
            outcomes.exposure_place(column, encoder)


def test_bad_outcomes_and_exposures_at_prediction(fitted):
    kind, model, X, y = fitted
    with pytest.raises(ValueError, match="y: support="):
        model.score_report(X, -1 - y)
    if kind == "counts":
        with pytest.raises(ValueError, match="exposure must be positive"):
            model.predict(X.assign(years=0.0))


def test_sizes_are_learnt():
    y = np.array([0.0, 0.0, 1.0, 2.0, 3.0, 11.0])[:, None]
    found = outcomes.learnt(Support("positive", 0.0, points=(0.0,)), y)
    assert found.size == pytest.approx(np.quantile([1, 2, 3, 11], 0.1))
    inner = outcomes.learnt(Support(points=(0.0,)), y - 2)
    assert inner.size == pytest.approx(np.std(y[y != 2] - 2))
    only = outcomes.learnt(Support("positive", 0.0, points=(0.0,)), np.zeros((3, 1)))
    assert only.size == 1


def test_rare_counts_have_units_of_what_is_behind_them():
    rng = np.random.default_rng(0)
    y = np.floor(np.exp(rng.normal(-1.0, 0.8, 4000)))[:, None]
    scale, x = NetworkScale(Support("counts", 0.0)), np.zeros((4000, 1))
    units = scale.units(x, scale.of(x, y))
    assert units.y.mean[0] == pytest.approx(-1.0, abs=0.15)
    assert units.y.scale[0] == pytest.approx(0.8, abs=0.12)
