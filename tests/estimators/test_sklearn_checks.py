"""scikit-learn's own checks, all of them, on the real estimator at a tiny size."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from deepnoise import BDeepNoiseRegressor

TINY = BDeepNoiseRegressor(
    hidden=(2,), chains=2, warmup=40, draws=20, paths=4, init="prior", random_state=0
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TINY])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
