"""What a simulated cohort allows: estimates beside the truth."""

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from ...datasets.neuro.cohort import Truth
from ...datasets.neuro.features import NeuroTable
from ...prediction import metrics
from .fit import WITH, SplitFit, filled
from .tables import TOP, strongest

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def truth_table(fit: SplitFit, table: NeuroTable, truth: Truth) -> pd.DataFrame:
    """True and estimated influence of every region and number on mean and spread, per sd."""
    actual = truth.influence(_test_features(fit, table))
    scale = dict(zip(fit.influence.names, fit.scale))
    rows = []
    for name in actual.index:
        j = fit.influence.names.index(name)
        estimates = {
            f"{label}_{end}": getattr(part, end)[j] * scale[name]
            for label, part in (("mean", fit.influence.mean), ("sd", fit.influence.sd))
            for end in ("mean", "lower", "upper")
        }
        rows.append(
            {
                "feature": name,
                "kind": "region" if name in table.imaging.columns else "covariate",
                "true_mean": actual.loc[name, "mean"],
                "true_sd": actual.loc[name, "sd"],
                **{f"estimated_{key}": value for key, value in estimates.items()},
            }
        )
    return pd.DataFrame(rows)


def truth_summary(fit: SplitFit, table: NeuroTable, truth: Truth) -> dict[str, float]:
    """Rank correlation and precision at ten over regions; how near the densities are."""
    regions = tuple(table.imaging.columns)
    frame = truth_table(fit, table, truth).set_index("feature").loc[list(regions)]
    relevant = set(truth.on_mean) & set(regions)
    top = min(TOP, len(relevant))
    law = truth.law(_test_features(fit, table))
    density = fit.densities[WITH]
    found = {
        "true_regions": float(len(relevant)),
        "rank_correlation": spearman(frame["true_mean"], frame["estimated_mean_mean"]),
        "rank_correlation_best_possible": best_rank_correlation(frame["true_mean"]),
        "precision_at_10": precision(strongest(fit, regions).index, relevant, top),
        "rank_correlation_spread": spearman(frame["true_sd"], frame["estimated_sd_mean"]),
        "rank_correlation_spread_best_possible": best_rank_correlation(frame["true_sd"]),
        "precision_spread": precision(
            frame["estimated_sd_mean"].sort_values(ascending=False).index,
            set(truth.spread) & set(regions),
            len(set(truth.spread) & set(regions)),
        ),
        "correlation_of_sd": spearman(law.sd, density.var()),
        "quantile_error": metrics.quantile_l1(density, law.quantile(LEVELS), LEVELS),
        "rmse_of_truth": float(np.sqrt(np.mean((fit.y - law.mean) ** 2))),
    }
    if fit.ridge_weights is not None:
        weights = fit.ridge_weights[list(regions)].sort_values(ascending=False)
        found["precision_at_10_ridge"] = precision(weights.index, relevant, top)
        found["rank_correlation_ridge"] = spearman(frame["true_mean"], weights[list(regions)])
    return found


def _test_features(fit: SplitFit, table: NeuroTable) -> pd.DataFrame:
    """The features that the truth may use: region means and numbers."""
    numbers = filled(table.covariates, fit.train).select_dtypes("number")
    return pd.concat([table.imaging, numbers], axis=1).iloc[fit.test]


def precision(ranked: pd.Index, relevant: set[str], top: int) -> float:
    """Share of the first ``top`` that are relevant."""
    return len(set(ranked[:top]) & relevant) / top


def spearman(a: np.ndarray | pd.Series, b: np.ndarray | pd.Series) -> float:
    return float(spearmanr(a, b).statistic)


def best_rank_correlation(actual: pd.Series) -> float:
    """The most that an estimate without ties can reach: most regions tie at a true 0."""
    ranks = rankdata(actual, method="ordinal")
    return spearman(actual, ranks)
