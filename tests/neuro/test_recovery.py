"""The study finds much of a known truth again.

That is: what moves the mean, and that images narrow the intervals.  What moves the spread is found
too weakly by so short a run on so few subjects to be held to anything; see docs/how_to/neuro.md.
"""

import pytest

from deepnoise.datasets.neuro.atlas import mni_grid, parcels
from deepnoise.datasets.neuro.cohort import simulate_cohort
from deepnoise.datasets.neuro.features import load_neuro
from deepnoise.studies.neuro.study import NeuroPlan, analyse

MODEL = {"hidden": (8, 8), "chains": 2, "warmup": 300, "draws": 50, "progress": False}


@pytest.mark.slow
def test_the_truth_is_found_again(tmp_path):
    atlas = parcels(24, mni_grid(6.0, (31, 37, 31)))
    cohort = simulate_cohort(tmp_path, atlas, 500, seed=1)
    table = load_neuro(cohort.table, cohort.images, atlas)
    plan = NeuroPlan(test_share=0.3, opponents=("ridge", "random forest"), model=MODEL)
    result = analyse(table, plan, truth=cohort.truth)
    assert result.influence["feature"][0] == "two_back"
    assert result.widths["ratio_lower"] > 1.1
    assert result.widths["share_wider"] > 0.9
    truth = result.truth_numbers
    # Eight of 24 regions matter: by chance three of the first eight would.
    assert truth["true_regions"] == 8
    assert truth["precision_at_10"] >= 0.75
    assert truth["rank_correlation"] > 0.7 * truth["rank_correlation_best_possible"]
    scores = result.pooled.set_index("method")
    ours = scores.loc["B-DeepNoise"]
    # The error cannot be below that of the true mean for long, and should come near it.
    assert ours["rmse"] < 1.25 * truth["rmse_of_truth"]
    assert 0.82 <= ours["coverage"] <= 0.97
    assert ours["crps"] < scores.loc["random forest", "crps"]
