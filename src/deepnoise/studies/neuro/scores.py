"""How good the predictions are, each number with the error that so few subjects leave.

Errors and intervals are for other subjects (or other groups of subjects), given these fits.  Of a
simulated cohort estimates stand beside the truth.
"""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.stats import binom, rankdata, spearmanr, t

from ...datasets.neuro.cohort import Truth
from ...datasets.neuro.features import NeuroTable
from ...prediction import metrics
from .fit import WITH, WITHOUT, SplitFit, filled
from .tables import TOP, strongest

CONFIDENCE = 0.95
GAPS = ("squared error", "NLL", "CRPS")
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@dataclass(frozen=True)
class Estimate:
    """A number, its standard error and its 95 % interval; NaN where one unit tells nothing."""

    value: float
    se: float
    lower: float
    upper: float


def ratio(top: np.ndarray, bottom: np.ndarray, units: np.ndarray) -> Estimate:
    """Sum of ``top`` by sum of ``bottom``, with the t interval of whole units.

    Rows of one unit (a subject in several splits, a family, a site) are not independent: the error
    is that of the units' sums.
    """
    size = bottom.sum()
    value = top.sum() / size if size else np.nan
    residuals = pd.Series(top - value * bottom).groupby(units).sum().to_numpy()
    count = len(residuals)
    if count < 2 or not size:
        return Estimate(float(value), np.nan, np.nan, np.nan)
    se = np.sqrt(count / (count - 1) * np.sum(residuals**2)) / size
    half = t.ppf((1 + CONFIDENCE) / 2, count - 1) * se
    return Estimate(float(value), float(se), float(value - half), float(value + half))


def average(values: np.ndarray, units: np.ndarray) -> Estimate:
    """The mean, with the t interval of whole units."""
    return ratio(values, np.ones(len(values)), units)


def units_of(fits: list[SplitFit]) -> np.ndarray:
    """Whose rows the test rows of all splits are."""
    return np.concatenate([fit.units for fit in fits])


def split_scores(fits: list[SplitFit], level: float) -> pd.DataFrame:
    """Scores of every method on the test subjects of every split."""
    parts = [pooled_scores([fit], level).assign(split=fit.number + 1) for fit in fits]
    return pd.concat(parts, ignore_index=True)


def pooled_scores(fits: list[SplitFit], level: float) -> pd.DataFrame:
    """Scores of every method on the test rows of all splits together, with standard errors.

    Beside the coverage stands what chance allows: its own standard error is 0 where all are inside.
    """
    return pd.DataFrame([_pooled(fits, name, level) for name in fits[0].densities])


def _pooled(fits: list[SplitFit], name: str, level: float) -> dict[str, object]:
    units, y = units_of(fits), np.concatenate([fit.y for fit in fits])
    losses = row_losses(fits, name)
    error = average(losses["squared error"], units)
    rmse = float(np.sqrt(error.value))
    unexplained = ratio(losses["squared error"], (y - y.mean()) ** 2, units)
    nll, crps = (average(losses[score], units) for score in ("NLL", "CRPS"))
    inside, width = interval_rows(fits, name, level)
    mean_width = average(width, units)
    low, high = chance(inside, units, level)
    return {
        "method": name,
        "rmse": rmse,
        "rmse_se": error.se / (2 * rmse) if rmse else 0.0,
        "r2": 1 - unexplained.value,
        "r2_se": unexplained.se,
        "nll": nll.value,
        "nll_se": nll.se,
        "crps": crps.value,
        "crps_se": crps.se,
        "coverage": float(inside.mean()),
        "chance_low": low,
        "chance_high": high,
        "width": mean_width.value,
        "width_se": mean_width.se,
    }


def row_losses(fits: list[SplitFit], name: str) -> dict[str, np.ndarray]:
    """Squared error, NLL and CRPS of every test row of all splits; smaller is better."""
    pairs = [(fit.densities[name], fit.y) for fit in fits]
    return {
        "squared error": np.concatenate([(y - d.mean()) ** 2 for d, y in pairs]),
        "NLL": np.concatenate([-d.log_prob(y) for d, y in pairs]),
        "CRPS": np.concatenate([d.crps(y) for d, y in pairs]),
    }


def interval_rows(fits: list[SplitFit], name: str, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether each test row lies in its interval, and how wide that is."""
    ends = np.concatenate([fit.densities[name].interval(level) for fit in fits])
    y = np.concatenate([fit.y for fit in fits])
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    return inside.astype(float), np.diff(ends, axis=1)[:, 0]


def chance(inside: np.ndarray, units: np.ndarray, level: float) -> tuple[float, float]:
    """Shares between which the coverage of right intervals lies with 95 % probability.

    Binomial, of as many independent rows as the units are worth; where all rows are inside or all
    outside, nothing tells how alike those of one unit are, and they count as the same.
    """
    rows = pd.Series(inside - inside.mean())
    if not rows.any():
        rows = pd.Series(np.ones(len(inside)))
    alike = max(1.0, np.sum(rows.groupby(units).sum() ** 2) / np.sum(rows**2))
    count = max(1, round(len(inside) / alike))
    low, high = binom.interval(CONFIDENCE, count, level)
    return float(low) / count, float(high) / count


def comparison(fits: list[SplitFit]) -> pd.DataFrame:
    """Loss of each other method less ours, paired by test row; positive: ours is better."""
    units, ours = units_of(fits), row_losses(fits, WITH)
    rows = []
    for name in fits[0].densities:
        if name != WITH:
            theirs = row_losses(fits, name)
            for score in GAPS:
                gap = average(theirs[score] - ours[score], units)
                rows.append({"method": name, "score": score, **asdict(gap)})
    return pd.DataFrame(rows)


def width_comparison(fits: list[SplitFit], level: float) -> dict[str, float]:
    """How much wider intervals are without images: ratio of mean widths, with its interval."""
    with_images, without = (interval_rows(fits, name, level)[1] for name in (WITH, WITHOUT))
    found = ratio(without, with_images, units_of(fits))
    return {
        "width_with": float(with_images.mean()),
        "width_without": float(without.mean()),
        "ratio": found.value,
        "ratio_lower": found.lower,
        "ratio_upper": found.upper,
        "share_wider": float(np.mean(without > with_images)),
    }


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
