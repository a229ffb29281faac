"""Ensembles of qp have the pdf and cdf of our densities."""

import numpy as np
import pytest

pytest.importorskip("qp", reason="pip install 'deepnoise[qp]'")

from deepnoise import PredictiveMixture
from deepnoise.exports import to_qp
from deepnoise.prediction.density.support import Support
from deepnoise.prediction.density.supported import SupportedDensity

GRID = np.linspace(-3, 3, 25)


def mixture(rows=3, shared=True):
    rng = np.random.default_rng(0)
    covs = rng.uniform(0.1, 1, size=(1 if shared else rows, 4, 1, 1))
    return PredictiveMixture.of(rng.normal(size=(rows, 4, 1)), covs, [[0.1, 0.2, 0.3, 0.4]])


@pytest.mark.parametrize("shared", [True, False])
def test_mixtures_agree_to_rounding(shared):
    density = mixture(shared=shared)
    found = to_qp(density)
    assert found.npdf == 3
    np.testing.assert_allclose(found.pdf(GRID), density.pdf_grid(GRID), rtol=1e-10)
    np.testing.assert_allclose(found.cdf(GRID), density.cdf_grid(GRID), rtol=1e-10)


@pytest.mark.parametrize(
    "support", [Support("positive", low=0.0), Support("between", low=-1.0, high=2.0)]
)
def test_densities_with_a_support_become_quantiles_within_it(support):
    density = SupportedDensity(mixture(), support)
    found, levels = to_qp(density), np.linspace(0.02, 0.98, 13)
    q = density.quantile(levels)
    for n in range(3):
        assert np.abs(found[n].cdf(q[n]) - levels).max() < 1e-3
    outside = [v for v in (support.low - 0.01, support.high + 0.01) if np.isfinite(v)]
    assert not found.pdf(outside).any()


def test_what_qp_cannot_hold():
    with pytest.raises(ValueError, match="probability of their own"):
        to_qp(SupportedDensity(mixture(), Support("counts", 0.0)))
    two = PredictiveMixture.of([[[0.0, 1.0]]], [[np.eye(2)]])
    with pytest.raises(ValueError, match="marginal"):
        to_qp(two)
    assert to_qp(two.marginal(1)).npdf == 1
