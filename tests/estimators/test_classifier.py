"""Classes: scikit-learn's own checks, known probabilities, files, bad input."""

import numpy as np
import pytest
from scipy.special import expit, ndtr, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import deepnoise
from deepnoise import BDeepNoiseClassifier
from deepnoise.estimators.settings import plan
from deepnoise.inference.priors import UTILITY_NOISE

from .toy import PLAIN, SHUFFLED

X = np.random.default_rng(2).normal(size=(60, 2))


def small(**settings):
    given = {"hidden": (2,), "chains": 2, "warmup": 40, "draws": 20, "paths": 4, "random_state": 0}
    return BDeepNoiseClassifier(**{**given, **settings})


@pytest.mark.parametrize(("link", "noise"), [("probit", UTILITY_NOISE), ("logit", 0.0)])
def test_utilities_start_with_their_unit_and_at_one_rate(link, noise):
    start = plan(small().get_params(), 0, 100, "choice", 3, link).warmstart
    assert (start.last_noise, len(start.rates)) == (noise, 1)


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([small(**PLAIN)], expected_failed_checks=lambda _: SHUFFLED)
def test_scikit_learn_checks(estimator, check):
    if "classifiers_train" in str(check) or "classifiers_classes" in str(check):
        estimator.set_params(sampler="interweaved", init="gradient", warmup=100)
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "truth"),
    [("probit", lambda x: ndtr(1.5 * x)), ("logit", lambda x: expit(2.5 * x))],
)
def test_known_probabilities(link, truth, tmp_path):
    x = np.linspace(-2, 2, 400)[:, None]
    y = np.random.default_rng(0).random(400) < truth(x[:, 0])
    model = small(warmup=150, draws=100, link=link).fit(x, y)
    found = model.predict_proba(x)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.abs(found[:, 1] - truth(x[:, 0])).mean() < 0.06
    model.save(tmp_path / "model")
    assert np.array_equal(deepnoise.load(tmp_path / "model").predict_proba(x), found)
    assert model.predict(x).dtype == bool


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [(), (3,)])
def test_known_softmax(hidden):
    x = np.linspace(-2, 2, 600)[:, None]
    truth = softmax(np.c_[-1.5 * x, np.full(600, 0.5), 2 * x], axis=1)
    y = (np.random.default_rng(0).random((600, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    found = small(hidden=hidden, warmup=300, draws=200, link="logit").fit(x, y).predict_proba(x)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    # Rows are few: the likeliest softmax itself is 0.033 from the truth.
    likeliest = LogisticRegression(C=1e6, max_iter=1000).fit(x, y).predict_proba(x)
    assert np.abs(found - likeliest).mean() < 0.025


LABELS = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "middle"))


KINDS = {
    "choice": {},
    "ordered": {"ordered": ["low", "middle", "high"]},
    "softmax": {"link": "logit"},
}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow) for name in KINDS]
)
def fitted(request):
    return small(**KINDS[request.param], warmup=150, draws=40).fit(X, LABELS)


def test_three_classes(fitted):
    found = fitted.predict_proba(X)
    assert found.shape == (60, 3)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert fitted.score(X, LABELS) > 0.85
    assert set(fitted.predict(X)) <= set(LABELS)


def test_rows_do_not_depend_on_their_neighbours(fitted):
    np.testing.assert_allclose(
        fitted.predict_proba(X[3:5]), fitted.predict_proba(X)[3:5], rtol=1e-9
    )


def test_bands_and_uncertainty(fitted):
    bands, found = fitted.probability_bands(X[:5]), fitted.uncertainty(X[:5])
    assert bands.mean.shape == (5, 3)
    # A mean may lie outside the central interval of a skewed law, the median may not.
    assert ((bands.lower >= 0) & (bands.lower <= bands.upper) & (bands.upper <= 1)).all()
    np.testing.assert_allclose(bands.mean, fitted.predict_proba(X[:5]), rtol=1e-9)
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic, atol=1e-9)
    assert (found.total <= np.log(3) + 1e-9).all()


def test_far_rows_are_less_certain(fitted):
    far = fitted.uncertainty(np.array([[0.0, 40.0], [0.0, -40.0]])).epistemic
    assert far.max() > fitted.uncertainty(X).epistemic.mean()


def test_saved_and_resumed(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    loaded = deepnoise.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert loaded.resume(45).posterior_.run.n_draws == 45


@pytest.mark.slow
def test_missing_inputs():
    gaps = X.copy()
    gaps[::4, 1] = np.nan
    model = small(**PLAIN).fit(gaps, LABELS)
    assert np.isfinite(model.predict_proba(gaps)).all()


def test_a_class_seen_once():
    labels = LABELS.copy().astype(object)
    labels[0] = "once"
    assert small(**PLAIN).fit(X, labels).predict_proba(X).shape == (60, 4)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, np.ones(60), "at least two classes"),
        ({"ordered": ["low", "high"]}, LABELS, "ordered must list every class"),
        ({}, X[:, 0], "Unknown label type"),
        ({}, LABELS[:5], "inconsistent numbers of samples"),
        ({"chains": 0}, LABELS, "chains must be a whole number"),
        ({"link": "log"}, LABELS, "link must be one of"),
        ({"ordered": "yes"}, LABELS, "ordered must be True, False or a list"),
        ({"standardize": "yes"}, LABELS, "standardize must be True, False or"),
    ],
)
def test_bad_input(settings, y, message):
    with pytest.raises(ValueError, match=message):
        small(**settings).fit(X, y)
