"""Outcome selection on data with known answers: seldom wrong, and not blind."""

import numpy as np
import pytest
from scipy import stats

from deepnoise import PredictiveMixture, between
from deepnoise.prediction.selection import select, squared
from tests.statistics import ALPHA

from .toy import PLAIN, Line, small

pd = pytest.importorskip("pandas")
ROWS, INPUTS, SETS = 100, 12, 30


def simulated(seed, rows=ROWS, inputs=INPUTS, tails="normal"):
    """Two outcomes, half of whose variance an input explains, and four of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, inputs))
    heavy = tails == "heavy"
    noise = rng.standard_t(3, (rows, 6)) / 3**0.5 if heavy else rng.normal(size=(rows, 6))
    noise[:, :2] += X[:, :2]
    return X, noise


def in_sample(model, X, y):
    return select(squared(model.fit(X, y).predict_density(X), y, y), "abcdef", "", 0.0, 0.95, 0)


@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_noise_is_seldom_called_predictable_and_signal_often(tails):
    """No more than 5 % false calls; judged on the rows it learned from, the rule would fail."""
    sets = [simulated(seed, tails=tails) for seed in range(SETS)]
    model = Line(random_state=0)
    called = np.array([model.select_outcomes(*s, folds=5).probability >= 0.95 for s in sets])
    most = stats.binom.isf(ALPHA, called[:, 2:].size, 0.05)
    assert called[:, 2:].sum() <= most
    assert called[:, :2].mean() > 0.9
    naive = np.array([in_sample(model, *s).probability >= 0.95 for s in sets])
    assert naive[:, 2:].sum() > most


def test_crps_sees_what_the_mean_does_not():
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0], size=(200, 1))
    y = np.where(X[:, 0] > 0, 5.0, 0.1) * rng.normal(size=200)

    class Spread(Line):
        """The spread of y at either value of x, found from the data."""

        def _fit(self, x, y, seed):
            self.sds_ = np.array([y[x[:, 0] < 0].std(), y[x[:, 0] > 0].std()])

        def _density(self, x):
            sds = self.sds_[(x[:, 0] > 0).astype(int)]
            return PredictiveMixture.of(np.zeros((len(x), 1, 1)), sds[:, None, None, None] ** 2)

    model = Spread(random_state=0)
    assert model.select_outcomes(X, y).predictable == ()
    assert model.select_outcomes(X, y, loss="crps").predictable == ("y0",)


def test_the_real_estimator_is_left_as_it_is(tmp_path):
    X, Y = simulated(0, rows=60, inputs=2)
    Y = pd.DataFrame(Y[:, [0, 5]], columns=["signal", "noise"])
    model = small(**PLAIN, checkpoint=tmp_path / "model")
    found = model.select_outcomes(pd.DataFrame(X, columns=["a", "b"]), Y, folds=2)
    assert found.names == ("signal", "noise")
    assert not model.__sklearn_is_fitted__()
    assert not (tmp_path / "model").exists()
    assert found.skill.mean[0] > found.skill.mean[1]
    again = model.select_outcomes(X, Y.to_numpy(), folds=2)
    assert again.names == ("y0", "y1")
    assert np.array_equal(again.probability, found.probability)


def half_known(seed=0):
    """Two outcomes, of the first of which every fifth is NaN."""
    X, Y = simulated(seed, rows=60, inputs=2)
    Y = Y[:, [0, 5]]
    Y[::5, 0] = np.nan
    return X, Y


@pytest.mark.slow
def test_outcomes_may_be_missing():
    found = small(**PLAIN).select_outcomes(*half_known(), folds=2)
    assert np.isfinite(found.probability).all()
    assert found.skill.mean[0] > found.skill.mean[1]


def test_outcomes_may_not_be_censored():
    X, Y = half_known()
    censored = between(np.nan_to_num(Y), np.where(np.isnan(Y), np.inf, Y))
    with pytest.raises(ValueError, match="not censored or rounded ones"):
        small().select_outcomes(X, censored)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_network_tells_signal_from_noise(seed):
    settings = {"hidden": (5,), "warmup": 100, "draws": 50, "thin": 2, "random_state": seed}
    found = small(**settings).select_outcomes(*simulated(seed, inputs=3), folds=5)
    assert found.predictable == ("y0", "y1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"folds": 101}, "folds must be from 2 to 100, the number of rows; got 101"),
        ({"loss": "r2"}, "loss must be one of 'squared', 'crps'"),
        ({"threshold": -0.1}, "threshold at least 0"),
        ({"certainty": 1.0}, "certainty must be between 0 and 1"),
        ({"y": np.ones((ROWS, 2))}, "y: y0, y1 never varies; leave it out"),
        ({"y": np.ones(3)}, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_named(change, message):
    X, Y = simulated(0)
    with pytest.raises(ValueError, match=message):
        Line().select_outcomes(**{"X": X, "y": Y, **change})
