"""Pages about times to an event and about outcomes seen through windows; P(y >= c); effects."""

import numpy as np
import pytest
from scipy import stats

from deepnoise import BDeepNoiseClassifier, BDeepNoiseRegressor, BDeepNoiseSurvival, between
from deepnoise.estimators.effects import effects
from deepnoise.prediction.density.mixture import PredictiveMixture
from deepnoise.report import report
from deepnoise.report.calibration import above, calibration
from deepnoise.report.case import make_case
from deepnoise.report.rows import shown_rows
from deepnoise.report.scores import held_out, scores, sharpness
from deepnoise.report.words import number
from tests.estimators.toy import PLAIN, Line, sloped
from tests.report.pages import NUMBER, fitted, table
from tests.report.test_page import check

SIZES = {"hidden": (2,), "chains": 2, "warmup": 40, "draws": 20, "paths": 4, "random_state": 0}


def times(rows, seed):
    """Events at exp(2 + x + noise), a third of them cut off before."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    time = np.exp(2 + X[:, 0] + 0.3 * rng.normal(size=rows))
    end = np.exp(2.5 + rng.normal(size=rows))
    return X, (np.minimum(time, end), time <= end)


@pytest.fixture(scope="module")
def survival():
    return BDeepNoiseSurvival(**SIZES, **PLAIN).fit(*times(60, 0))


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.mark.slow
def test_a_page_about_times(survival):
    X, y = times(60, 1)
    page = check(report(survival, X, y, target="months", above=(10,)))
    censored = int((~y[1]).sum())
    assert f"{censored} rows not seen exactly" in page.text
    assert "NLL of log months" in page.text
    assert "Concordance" in page.text
    assert "RMSE" not in page.text
    assert "P(months ≥ 10)" in page.text


def test_densities_are_of_time_and_not_of_its_logarithm(survival):
    X, y = times(60, 1)
    case = make_case(survival, X, y, target="months")
    row = int(case.shown[3])
    low, median, high = np.exp(survival.predict_quantiles(X[[row]], [0.05, 0.5, 0.95])[0])
    words = shown_rows(case)[3].reading
    assert f"Median {median:.3g}" in words
    assert all(value > 0 for value in (low, median, high))
    grid = np.linspace(low / 20, high * 20, 20_000)
    assert np.trapezoid(case.pdf_grid(case.density[[row]], grid)[0], grid) > 0.9


def test_censored_rows_do_not_spoil_calibration():
    """Densities that are right must be called so, though a third of the times are cut off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = X[:, 0] + rng.normal(size=300)
    end = 0.5 + rng.normal(size=300)
    seen = between(np.minimum(y, end), np.where(y <= end, y, np.inf))
    right = Right(random_state=0).fit(X, y)
    found = calibration(make_case(right, X, seen))
    assert found.status == "good"
    assert f"{int((y > end).sum())} rows not seen exactly" in found.windows
    dropped = stats.kstest(stats.norm.cdf((y - X[:, 0])[y <= end]), "uniform")
    assert dropped.pvalue < 0.01


class Right(Line):
    """Knows the truth of the test above, and takes windows."""

    def check_outcomes(self, y):
        from deepnoise.estimators.outcomes import as_window

        found = as_window(y)
        return super().check_outcomes(y) if found is None else found

    def predict_density(self, X):
        return PredictiveMixture.of(np.asarray(X)[:, :, None], np.ones((1, 1, 1, 1)))


def test_windows_in_words_and_scores(model):
    X, y = table(25, 1)
    low, high = y.copy(), y.copy()
    high[0], low[1], low[2], high[2] = np.inf, -np.inf, y[2] - 1, y[2] + 1
    case = make_case(model, X, between(low, high), show=(1, 2, 3, 4))
    assert case.windowed == 3
    assert [case.observation(place).split()[0] for place in (0, 1)] == ["above", "below"]
    assert " to " in case.observation(2)
    readings = [shown.reading for shown in shown_rows(case)]
    assert all("of the density lies" in words for words in readings[:3])
    assert "of the 22 rows seen exactly" in scores(case).lines[0].reading
    assert sharpness(case).left_out.startswith("Of the 22 rows")
    check(report(model, X, between(np.full(25, -np.inf), np.full(25, 60.0))))


@pytest.mark.slow
def test_a_classifier_is_refused_in_one_line():
    X, y = sloped()
    classes = BDeepNoiseClassifier(**SIZES, init="prior", sampler="gibbs").fit(X, y > y.mean())
    with pytest.raises(ValueError, match=r"densities of numbers; BDeepNoiseClassifier predicts"):
        report(classes, X)


def test_probabilities_of_a_threshold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = X[:, 0] + rng.normal(size=200)
    right = Right(random_state=0).fit(X, y)
    found = above(make_case(right, X, y, above=(0.0,)))[0]
    assert "as chance allows" in found.reading
    assert [group.rows for group in found.groups] == ["40"] * 5
    higher = above(make_case(right, X, y + 1, above=(0.0,)))[0]
    assert "more often than chance allows" in higher.reading
    cut = between(np.minimum(y, -1.0), np.where(y < -1, y, np.inf))
    unsure = above(make_case(right, X, cut, above=(0.0,)))[0]
    assert f"In {(y >= -1).sum()} rows it is not known" in unsure.reading
    assert above(make_case(right, X))[0].groups == ()


def test_a_threshold_that_censored_rows_did_not_reach():
    """Right densities stay right: rows cut off before c must not be left out as if at random."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y, end = X[:, 0] + rng.normal(size=2000), rng.normal(size=2000) - 0.5
    seen = between(np.minimum(y, end), np.where(y <= end, y, np.inf))
    case = make_case(Right(random_state=0).fit(X, y), X, seen, rows=2000, above=(0.0,))
    known = (y < 0) & (y <= end) | (end >= 0)
    chance = case.density.probability_above(0.0)[known]
    spread = np.sqrt(np.sum(chance * (1 - chance))) / known.sum()
    assert abs(np.mean((y >= 0)[known]) - chance.mean()) > 3 * spread
    assert "as chance allows" in above(case)[0].reading


def test_effects_move_one_column(model):
    X, _ = table(12, 1)
    found = {effect.name: effect for effect in effects(model, X)}
    size = found[NUMBER]
    at = X.copy()
    at[NUMBER] = size.values[0]
    # Paths and draws of both are the same: 40 draws are not thinned.
    exact = model.predictive_.unguarded(model.encoded_rows(at))
    assert size.curve.mean[0] == pytest.approx(exact.mean().mean(), rel=0.02)
    assert (size.curve.lower <= size.curve.mean).all()
    assert (size.curve.mean <= size.curve.upper).all()
    colour = next(effect for effect in found.values() if effect.is_category)
    assert len(colour.values) == len(colour.curve.mean) == 2


@pytest.mark.slow
def test_a_cross_fitted_model_has_an_honest_score_on_its_page():
    X, y = table(30, 0)
    settings = {**PLAIN, "hidden": (2,), "chains": 2, "warmup": 20, "draws": 8, "paths": 2}
    model = BDeepNoiseRegressor(**settings, cross_fit=2, random_state=0).fit(X, y)
    found = held_out(make_case(model, *table(25, 1)))
    assert "30 rows of the fit were dealt into 2 folds" in found.summary
    assert [line.name for line in found.lines][:3] == ["CRPS", "RMSE", "NLL"]
    report_of_rows = model.held_out_report()
    assert found.lines[2].value == number(report_of_rows["nll"])
    page = check(report(model, X))
    assert "held-out" in page.ids
    assert "Training rows, held out" in page.text


def test_a_usual_model_has_none(model):
    assert held_out(make_case(model, *table(25, 1))) is None
