"""scikit-learn's own checks, all but one, on the real estimator at a tiny size."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from .toy import PLAIN, SHUFFLED, small


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::deepnoise.estimators.outcomes.LatticeWarning")
@parametrize_with_checks([small(**PLAIN)], expected_failed_checks=lambda _: SHUFFLED)
def test_scikit_learn_checks(estimator, check):
    if "regressors_train" in str(check):  # asks for R² > 0.5: the default sampler gets there sooner
        estimator.set_params(sampler="interweaved")
    check(estimator)
