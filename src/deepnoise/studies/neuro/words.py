"""What the study found, in sentences that follow from its numbers."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from . import verdicts
from .fit import WITH, WITHOUT
from .scores import units_of
from .tables import TOP
from .texts import listed, percent
from .verdicts import Verdict

if TYPE_CHECKING:
    from .study import NeuroResult

ROBUST = 0.1
FEW = 50


def answers(result: "NeuroResult") -> list[Verdict]:
    """To the questions at the head of the page."""
    return [
        verdicts.images(result.comparison, result.pooled),
        verdicts.promises(result.pooled, result.plan.level),
        verdicts.standing_out(result.regions, result.floor["mean"]),
        verdicts.settled(result.first.models[WITH].diagnostics_),
    ]


def findings(result: "NeuroResult") -> list[str]:
    """Plain sentences below the answers."""
    return [
        accuracy(result.pooled),
        rivalry(result.comparison),
        strongest_feature(result.influence),
        triage(result.referral),
    ]


def warnings(result: "NeuroResult") -> list[str]:
    """What to know before believing anything: coverage, chains, small test sets."""
    _, promises, _, settled = answers(result)
    return [a.text for a in (promises, settled) if a.kind != "good"] + few_units(result)


def few_units(result: "NeuroResult") -> list[str]:
    """A word on small test sets."""
    count, grouped = len(np.unique(units_of(result.fits))), result.table.groups is not None
    if count >= FEW:
        return []
    what = "groups" if grouped else "subjects"
    text = f"Only {count} {what} were held out: the standard errors (±) are rough themselves."
    return [f"{text} More splits (--splits) judge the model on more of them."]


def accuracy(scores: pd.DataFrame) -> str:
    ours, without = (explained(scores.set_index("method").loc[name]) for name in (WITH, WITHOUT))
    return (
        f"With images the model explains {ours} of the variance of the score in subjects it has "
        f"not seen; without them {without} (± standard errors)."
    )


def explained(row: pd.Series) -> str:
    """Such as "59 ± 6 %"; "nothing" where the mean of the subjects would have done as well."""
    error = f" ± {100 * row['r2_se']:.0f}" if math.isfinite(row["r2_se"]) else ""
    share = f"{100 * row['r2']:.0f}{error} %".replace("-", "−")
    return share if row["r2"] > 0 else f"nothing ({share})"


def rivalry(comparison: pd.DataFrame) -> str:
    """Whose densities are better, as far as paired differences can tell."""
    gaps = comparison[comparison["score"] == "CRPS"]
    better = gaps["lower"] > 0
    worse = gaps["upper"] < 0
    kinds = {
        "are clearly better than those of": better,
        "cannot be told from those of": ~better & ~worse,
        "are clearly worse than those of": worse,
    }
    parts = [f"{said} {listed(gaps['method'][are])}" for said, are in kinds.items() if any(are)]
    return f"Its densities (by CRPS) {'; they '.join(parts)}."


def widening(widths: dict[str, float], scores: pd.DataFrame, level: float) -> str:
    """How much wider intervals are without images; a description, from which nothing follows."""
    change = f"{abs(100 * (widths['ratio'] - 1)):.0f} %"
    ends = f"{widths['ratio_lower']:.2f} to {widths['ratio_upper']:.2f}"
    start = f"Without the images the {percent(level)} intervals are"
    if widths["ratio_lower"] > 1:
        end = f"{change} wider on average"
    elif widths["ratio_upper"] < 1:
        end = f"{change} narrower on average"
    else:
        end = "not clearly wider or narrower"
    text = (
        f"{start} {end} (ratio {widths['ratio']:.2f}, 95 % interval {ends}), and wider for "
        f"{percent(widths['share_wider'])} of the subjects."
    )
    return f"{text} {_worth_of_widths(scores)}"


def _worth_of_widths(scores: pd.DataFrame) -> str:
    rows = scores.set_index("method")
    found = {"with": rows.loc[WITH], "without": rows.loc[WITHOUT]}
    off = [
        f"those {name} images are {verdicts.coverage_status(row)}"
        for name, row in found.items()
        if verdicts.coverage_status(row) != "as promised"
    ]
    if off:
        return f"Their widths should not be compared: {listed(off)} for what was observed."
    return "Width alone is no merit: whether the images help is told by the scores below."


def strongest_feature(influence: pd.DataFrame) -> str:
    first = influence.iloc[0]
    kind = "the brain region " if first["kind"] == "region" else ""
    return (
        f"The strongest influence on the predicted mean has {kind}{first['feature']} "
        f"({first['mean']:.2f} per standard deviation)."
    )


def triage(curves: pd.DataFrame) -> str:
    """Error in the most certain half beside everyone's."""
    ours = curves[curves["method"] == WITH].set_index("share")
    half, everyone = ours.loc[50], ours.loc[100]
    start = "Among the half of the subjects of whom the model is most certain the error (RMSE) is"
    text = f"{start} {half['rmse']:.2f}, among all {everyone['rmse']:.2f}"
    if half["upper"] < everyone["rmse"]:
        return f"{text}: its certainty can be used to decide who needs a closer look."
    if half["rmse"] < (1 - ROBUST) * everyone["rmse"]:
        return f"{text}: its certainty points the right way, but so few subjects prove nothing."
    return f"{text}: here its certainty is no help in deciding who needs a closer look."


def recovery(found: dict[str, float]) -> str:
    """How much of the truth came back, without varnish."""
    right = round(found["precision_at_10"] * min(TOP, found["true_regions"]))
    text = (
        f"{found['true_regions']:.0f} regions truly move the mean; of as many that the model finds "
        f"strongest (at most ten), {right} are among them. "
    )
    on_spread = found["precision_spread"]
    if on_spread >= 0.99:
        return text + "The regions that truly move the spread are the strongest found there."
    if on_spread > 0:
        return text + "Of the regions that truly move the spread only some are found."
    return text + "The regions that truly move the spread are not found: their ranks say little."
