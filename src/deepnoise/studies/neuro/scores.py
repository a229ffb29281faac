"""How good the predictions are, each number with the error that so few subjects leave.

Errors and intervals are for other subjects (or other groups of subjects), given these fits.
"""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.stats import binom, t

from .fit import WITH, WITHOUT, SplitFit

CONFIDENCE = 0.95
GAPS = ("squared error", "NLL", "CRPS")


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
