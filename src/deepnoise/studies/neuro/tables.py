"""Tables of the neuroimaging study: predictions, influence, regions, referral."""

import numpy as np
import pandas as pd

from ...datasets.neuro.atlas import Atlas
from ...datasets.neuro.features import NeuroTable
from .fit import WITH, WITHOUT, Floor, SplitFit

TOP = 10
BOOTSTRAPS = 500
SHARES = np.arange(10, 101, 5)
QUANTILES = np.arange(5, 100, 5)


def predictions(fit: SplitFit, table: NeuroTable, identifiers: bool) -> pd.DataFrame:
    """Test subjects in the order of what was observed; identifiers only if asked for."""
    columns: dict[str, np.ndarray] = {"observed": fit.y}
    for name, label in ((WITH, "with"), (WITHOUT, "without")):
        density = fit.densities[name]
        low, middle, high = density.quantile([0.05, 0.5, 0.95]).T
        moments = {"mean": density.mean(), "sd": np.sqrt(density.var())}
        found = {**moments, "q05": low, "median": middle, "q95": high}
        columns |= {f"{part}_{label}_images": values for part, values in found.items()}
    frame = pd.DataFrame(columns)
    if identifiers:
        frame.insert(0, "subject", table.outcome.index[fit.test])
    return frame.sort_values("observed", kind="stable", ignore_index=True)


def chosen_subjects(y: np.ndarray) -> dict[int, int]:
    """Test rows nearest to the 5, 10, ..., 95 % quantiles of y, by quantile; up to 19 of them."""
    order = np.argsort(y, kind="stable")
    ranks = np.round(QUANTILES / 100 * (len(y) - 1)).astype(int)
    ranks, first = np.unique(ranks, return_index=True)
    return {int(level): int(row) for level, row in zip(QUANTILES[first], order[ranks])}


def influence_table(fits: list[SplitFit], regions: tuple[str, ...]) -> pd.DataFrame:
    """Influence of every feature per standard deviation of it, strongest on the mean first.

    Posterior intervals are of the first split; ``top_share`` is the share of splits in which a
    region is among the ten strongest.
    """
    first = fits[0]
    found = first.influence
    frame = pd.DataFrame({"feature": found.names})
    frame["kind"] = np.where(frame["feature"].isin(regions), "region", "covariate")
    frame["influence"] = found.predictive * first.scale
    for label, part in (("mean", found.mean), ("spread", found.sd)):
        for end, values in (("", part.mean), ("_lower", part.lower), ("_upper", part.upper)):
            frame[label + end] = values * first.scale
    tops = [set(strongest(fit, regions).index[:TOP]) for fit in fits]
    frame["top_share"] = [np.mean([name in top for top in tops]) for name in frame["feature"]]
    return frame.sort_values("mean", ascending=False, ignore_index=True)


def strongest(fit: SplitFit, regions: tuple[str, ...]) -> pd.Series:
    """Regions by their influence on the mean, the strongest first."""
    values = pd.Series(fit.influence.mean.mean * fit.scale, index=fit.influence.names)
    return values[list(regions)].sort_values(ascending=False)


def region_table(influence: pd.DataFrame, atlas: Atlas, floor: dict[str, Floor]) -> pd.DataFrame:
    """The regions with their labels and centres in MNI space, strongest first."""
    centres = pd.DataFrame(atlas.centres().round(1), columns=["x", "y", "z"])
    places = centres.assign(feature=atlas.names, label=atlas.numbers)
    regions = influence[influence["kind"] == "region"].merge(places, on="feature")
    regions.insert(0, "rank", np.arange(1, len(regions) + 1))
    for part in ("mean", "spread"):
        regions[f"{part}_above_floor"] = regions[part] > floor[part].most
    return regions.drop(columns="kind").rename(columns={"feature": "region"})


def referral(fits: list[SplitFit], names: tuple[str, ...]) -> pd.DataFrame:
    """RMSE among the most certain share of test subjects, those with the smallest predictive sd.

    For each method, with a 90 % bootstrap interval over subjects; all splits together.
    """
    rows = []
    for name in names:
        error = np.concatenate([(fit.y - fit.densities[name].mean()) ** 2 for fit in fits])
        sd = np.concatenate([fit.densities[name].var() for fit in fits])
        rows += referral_rows(name, error, sd)
    return pd.DataFrame(rows)


def referral_rows(name: str, error: np.ndarray, sd: np.ndarray) -> list[dict]:
    """One row a share, from squared errors and the order of certainty."""
    n = len(error)
    rng = np.random.default_rng(0)
    samples = rng.integers(n, size=(BOOTSTRAPS, n))
    ordered = np.stack([error[s][np.argsort(sd[s], kind="stable")] for s in samples])
    curve = error[np.argsort(sd, kind="stable")]
    rows = []
    for share in SHARES:
        kept = max(1, round(n * share / 100))
        low, high = np.quantile(np.sqrt(ordered[:, :kept].mean(axis=1)), [0.05, 0.95])
        rmse = float(np.sqrt(curve[:kept].mean()))
        rows.append(
            {
                "method": name,
                "share": share,
                "subjects": kept,
                "rmse": rmse,
                "lower": low,
                "upper": high,
            }
        )
    return rows
