"""The estimator end to end, at a size that takes seconds."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from deepnoise import load
from deepnoise.model.activation import leaky_relu

from .toy import PLAIN, small, unguarded

ROWS = 30


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(5, 2, size=(ROWS, 2))
    return X, 100 + 10 * X[:, 0] + rng.normal(size=ROWS)


@pytest.fixture(scope="module")
def model(rows):
    return small().fit(*rows)


def test_it_learns(rows, model):
    X, y = rows
    assert model.score(X, y) > 0.8
    report = model.score_report(X, y)
    assert report["rmse"] < y.std() / 2
    assert report["coverage_95"] > 0.8


def test_density_is_the_mixture_over_draws_and_paths(rows, model):
    density = model.predict_density(rows[0])
    assert density.n_components == 2 * 20 * 4 + 1
    assert np.array_equal(density.mean(), model.predict(rows[0]))


def test_rows_do_not_depend_on_their_neighbours(rows, model):
    X, _ = rows
    together = model.predict_quantiles(X, [0.1, 0.9])
    alone = np.concatenate([model.predict_quantiles(X[n : n + 1], [0.1, 0.9]) for n in range(3)])
    assert np.allclose(together[:3], alone, rtol=1e-9)


def test_seeds_repeat(rows, model):
    again, other = small().fit(*rows), small(random_state=1).fit(*rows)
    assert np.array_equal(again.predict(rows[0]), model.predict(rows[0]))
    assert not np.array_equal(other.predict(rows[0]), model.predict(rows[0]))
    assert (model.seed_, other.seed_) == (0, 1)


def test_resume_equals_a_longer_fit(rows):
    resumed = small(draws=5).fit(*rows).resume(20)
    whole = small(draws=20).fit(*rows)
    assert resumed.posterior_.plan == whole.posterior_.plan
    assert np.array_equal(resumed.posterior_.draws.beta[0], whole.posterior_.draws.beta[0])
    assert resumed.resume(3).posterior_.run.n_draws == 20


def test_diagnostics_are_computed_when_asked_for(rows):
    model = small().fit(*rows)
    assert model.predictive_.verdict == ""
    found = model.diagnostics_
    assert found is model.diagnostics_
    assert found.chains == 2
    assert len(found.rows) == 3 * ROWS
    model.resume(25)
    assert model.diagnostics_.draws == 25


def test_functionals_are_in_the_users_units(rows, model):
    values = model.predictive_functionals(rows=[3, 7])
    assert set(values) == {f"{part}[{n}]" for part in ("mean", "sd", "log_density") for n in (3, 7)}
    predicted = model.predict(rows[0])
    assert values["mean[7]"].shape == (2, 20)
    assert values["mean[7]"].mean() == pytest.approx(predicted[7], abs=5)


def test_probability_above_with_its_interval(rows, model):
    X, y = rows
    found = model.predict_above(X, np.median(y), level=0.9)
    assert found.shape == (ROWS, 3)
    assert np.array_equal(found[:, 0], model.predict_density(X).probability_above(np.median(y)))
    assert (found[:, 1] <= found[:, 2]).all()
    assert ((found >= 0) & (found <= 1)).all()
    wider = model.predict_above(X, np.median(y), level=0.99)
    assert (wider[:, 1] <= found[:, 1]).all()
    assert (wider[:, 2] >= found[:, 2]).all()


def test_centiles_of_outcomes(rows, model):
    X, y = rows
    found = model.centiles(X, y)
    expected = model.predict_density(X).cdf(y)
    np.testing.assert_allclose(found.centile[:, 0], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(norm.cdf(found.z), found.centile, rtol=1e-9)
    assert (found.z[:, 1] <= found.z[:, 2]).all()
    far = model.centiles(X[:2], [-1e9, 1e9]).z[:, 0]
    assert np.isfinite(far).all()
    assert far[0] < -8 < 8 < far[1]
    with pytest.raises(ValueError, match="y must be finite"):
        model.centiles(X[:1], [np.nan])


def test_density_bands(rows, model):
    X, y = rows
    grid = np.linspace(y.min() - 50, y.max() + 50, 400)
    bands = model.density_bands(X[:3], grid, level=0.8, probabilities=[0.1, 0.5, 0.9])
    for band, points in ((bands.pdf, 400), (bands.cdf, 400), (bands.quantile, 3)):
        assert band.mean.shape == band.lower.shape == band.upper.shape == (3, points)
        assert (band.lower <= band.upper).all()
    assert np.allclose(np.trapezoid(bands.pdf.mean, grid), 1, atol=0.01)
    assert (np.diff(bands.cdf.mean) >= 0).all()
    predictive = model.predict_density(X[:3]).cdf_grid(grid)
    assert np.abs(predictive - bands.cdf.mean).max() < 0.1


def test_influence_finds_the_feature_that_matters(rows, model):
    found = model.influence(rows[0])
    assert found.names == ("x0", "x1")
    assert found.predictive[0] == pytest.approx(10, rel=0.3)
    assert found.predictive[0] > 3 * found.predictive[1]
    assert (found.mean.lower <= found.mean.mean).all()
    assert (found.mean.mean <= found.mean.upper).all()
    assert found.sd.mean.shape == (2,)


def test_decomposition_adds_up(rows, model):
    parts = model.decompose(rows[0])
    assert parts.sources == ("before activation 1", "after activation 1", "outcome")
    assert np.allclose(parts.shares.sum(axis=1), 1)
    assert (parts.shares >= 0).all()
    total = parts.epistemic + parts.aleatoric
    assert np.allclose(total, unguarded(model, rows[0]).var(), rtol=0.5)


def test_arviz(rows, model):
    pytest.importorskip("arviz")
    found = model.loo()
    assert found.pointwise.shape == (ROWS,)
    data = model.to_arviz()
    assert data["posterior"]["beta_0"].shape == (2, 20, 2, 2)
    assert data["log_likelihood"]["y"].shape == (2, 20, ROWS)


def test_chain_weights_choose_chains(rows):
    X, _ = rows
    model = small().fit(*rows)
    model.chain_weights_ = np.array([1.0, 0.0])
    weights = unguarded(model, X).components().weights
    assert np.allclose(weights[0, :80], 1 / 80)
    assert np.allclose(weights[0, 80:], 0)
    assert np.isfinite(model.predict_above(X, 100.0)).all()


def test_several_outcomes(rows):
    X, y = rows
    Y = np.c_[y, -y]
    model = small(**PLAIN).fit(X, Y)
    assert model.predict(X).shape == (ROWS, 2)
    assert model.predict_above(X, [100.0, -100.0]).shape == (ROWS, 3, 2)
    assert model.influence(X).predictive.shape == (2, 2)
    assert model.decompose(X).shares.shape == (ROWS, 3, 2)
    assert len(model.diagnostics_.rows) == 5 * ROWS


def test_the_papers_algorithm(rows):
    model = small(**{**PLAIN, "prior": "paper"}).fit(*rows)
    assert np.isfinite(model.predict(rows[0])).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": ()},
        {"hidden": [2, 2], "dtype": "float64", **PLAIN},
        {**PLAIN, "activation": leaky_relu(0.1), "prior": "anchored", "init": "gradient"},
        pytest.param(
            {"prior": dict.fromkeys(("weight", "bias", "preact", "postact"), (3.0, 1.0))},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["linear", "deep-float64", "leaky-anchored", "own-prior"],
)
def test_other_settings(rows, settings):
    X, y = rows
    model = small(**settings).fit(X, y)
    assert np.isfinite(model.score(X, y))
    assert model.posterior_.draws.beta[0].dtype == settings.get("dtype", "float32")


def test_progress_is_reported(rows):
    seen = []
    small(progress=lambda *news: seen.append(news)).fit(*rows)
    done, totals, posteriors = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == 40 + 4 * 20
    assert set(totals) == {40 + 4 * 20}
    assert posteriors[-1].run.n_draws == 20


def test_an_interrupted_fit_keeps_what_it_has(rows):
    def interrupt(done, total, posterior):
        if posterior.run.n_draws >= 3:
            raise KeyboardInterrupt

    model = small(progress=interrupt, draws=200).fit(*rows)
    assert 3 <= model.posterior_.run.n_draws < 200
    assert np.isfinite(model.predict(rows[0])).all()
    model.set_params(progress=False).resume(200)
    whole = small(draws=200).fit(*rows)
    assert np.array_equal(model.posterior_.draws.gamma[0], whole.posterior_.draws.gamma[0])


def test_an_early_interrupt_leaves_nothing_fitted(rows):
    def interrupt(*_):
        raise KeyboardInterrupt

    model = small(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows)
    with pytest.raises(NotFittedError):
        model.predict(rows[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": "20"}, r"hidden must be a tuple of widths, such as \(20, 20\)"),
        ({"hidden": (20, 0)}, "hidden must be"),
        ({"activation": "swish"}, "activation must be"),
        ({"prior": "flat"}, "prior must be one of"),
        ({"prior": {"weight": (1, 1)}}, "prior: the keys must be"),
        ({"prior": "anchored", "init": "prior"}, "use init='gradient'"),
        ({"chains": 0}, "chains must be a whole number of at least 1; got 0"),
        ({"warmup": -1}, "warmup must be"),
        ({"draws": 2.5}, "draws must be"),
        ({"thin": "1"}, "thin must be"),
        ({"paths": True}, "paths must be"),
        ({"init": "zeros"}, "init must be one of 'gradient', 'prior'; got 'zeros'"),
        ({"sampler": "nuts"}, "sampler must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"standardize": 1}, "standardize must be"),
        ({"progress": "bar"}, "progress must be"),
        ({"random_state": -3}, "random_state must be"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_bad_settings_are_named(rows, settings, message):
    with pytest.raises(ValueError, match=message) as raised:
        small(**settings).fit(*rows)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("method", ["predict", "predict_density", "influence", "decompose"])
def test_unfitted(rows, method):
    with pytest.raises(NotFittedError):
        getattr(small(), method)(rows[0])


@pytest.mark.parametrize("method", ["resume", "loo", "to_arviz", "save", "diagnostics_"])
def test_unfitted_without_rows(method):
    arguments = {"resume": (3,), "save": ("nowhere",)}.get(method, ())
    with pytest.raises(NotFittedError):
        getattr(small(), method)(*arguments)


def test_save_and_load(rows, model, tmp_path):
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(rows[0]), model.predict(rows[0]))
