"""Outcomes that take few values: the user is told, and a score that spikes cannot game is given."""

import numpy as np
import pytest

from deepnoise import load, rounded
from deepnoise.estimators.outcomes import LatticeWarning, lattice_step
from deepnoise.prediction import metrics

from .toy import PLAIN, small

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 1))
GRADES = np.round(2 * X[:, 0]) / 2 + 5


@pytest.mark.parametrize(
    ("y", "step"),
    [
        (GRADES, 0.5),
        (np.repeat([3.0, 4.0, 6.0], 40), 1.0),
        (X[:, 0], None),
        (GRADES[:40], None),
        (np.full(120, 2.0), None),
        (np.repeat([0.0, 1.0, np.pi], 40), None),
    ],
    ids=["grades", "with a gap", "real", "few rows", "constant", "uneven"],
)
def test_the_step_of_a_lattice(y, step):
    assert lattice_step(y[:, None]) == step


def test_the_user_is_told_what_to_fit_instead():
    with pytest.warns(LatticeWarning, match=r"rounded\(y, 0.5\)"):
        model = small(**PLAIN).fit(X, GRADES)
    expected = metrics.lattice_nll(model.predict_density(X), GRADES, 0.5)
    assert model.score_report(X, GRADES)["nll_rounded"] == pytest.approx(expected)


def test_rounded_outcomes_are_judged_by_their_windows(tmp_path):
    model = small(**PLAIN).fit(X, rounded(GRADES, 0.5))
    found = model.score_report(X, GRADES)["nll_rounded"]
    assert found == pytest.approx(model.score_report(X, rounded(GRADES, 0.5))["nll"], rel=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").score_report(X, GRADES)
    assert again["nll_rounded"] == pytest.approx(found)


def test_real_outcomes_have_no_such_score():
    assert "nll_rounded" not in small(**PLAIN).fit(X, X[:, 0]).score_report(X, X[:, 0])
