"""What the study found, in sentences that follow from its numbers."""

from typing import TYPE_CHECKING

import pandas as pd

from ..inference.diagnostics import Diagnostics
from .neuro_fit import WITH, WITHOUT
from .neuro_tables import TOP

if TYPE_CHECKING:
    from .neuro import NeuroResult

ROBUST = 0.1


def findings(result: "NeuroResult", scores: pd.DataFrame) -> list[str]:
    """Plain sentences for the head of the page; ``scores`` are means over splits."""
    level = result.plan.level
    return [
        accuracy(scores),
        rivalry(result.comparison),
        honesty(scores, level),
        widening(result.widths, level),
        strongest_features(result.influence),
        triage(result.referral),
    ]


def accuracy(scores: pd.DataFrame) -> str:
    explained = scores.set_index("method")["r2"]
    return (
        f"With images the model explains {percent(explained[WITH])} of the variance of the score "
        f"in subjects it has not seen; without them {percent(explained[WITHOUT])}."
    )


def rivalry(comparison: pd.DataFrame) -> str:
    """Whose densities are better, as far as the bootstrap can tell."""
    better = comparison["lower"] > 0
    worse = comparison["upper"] < 0
    kinds = {
        "are clearly better than those of": better,
        "cannot be told from those of": ~better & ~worse,
        "are clearly worse than those of": worse,
    }
    parts = [
        f"{said} {listed(comparison['method'][are])}" for said, are in kinds.items() if any(are)
    ]
    return f"Its densities (by CRPS) {'; they '.join(parts)}."


def honesty(scores: pd.DataFrame, level: float) -> str:
    covered = scores.set_index("method").loc[WITH, f"coverage_{100 * level:.0f}"]
    return (
        f"Its {percent(level)} intervals hold the observed score of {percent(covered)} of the "
        f"subjects not seen; {percent(level)} would be exact."
    )


def widening(widths: dict[str, float], level: float) -> str:
    """Whether intervals are wider without images, as far as the bootstrap can tell."""
    change = f"{abs(100 * (widths['ratio'] - 1)):.0f} %"
    ends = f"{widths['ratio_lower']:.2f} to {widths['ratio_upper']:.2f}"
    interval = f"ratio {widths['ratio']:.2f}, 95 % interval {ends}"
    start = f"Without the images the {percent(level)} intervals are"
    if widths["ratio_lower"] > 1:
        end = f"{change} wider on average ({interval}): the images carry information."
    elif widths["ratio_upper"] < 1:
        end = f"{change} narrower on average ({interval}): the images do not help this model."
    else:
        end = f"not clearly wider or narrower ({interval})."
    share = f" They are wider for {percent(widths['share_wider'])} of the subjects."
    return f"{start} {end}{share}"


def strongest_features(influence: pd.DataFrame) -> str:
    first = influence.iloc[0]
    regions = influence[influence["kind"] == "region"]["feature"].head(TOP // 2)
    kind = "the brain region " if first["kind"] == "region" else ""
    return (
        f"The strongest influence on the predicted mean has {kind}{first['feature']} "
        f"({first['mean']:.2f} per standard deviation); the strongest regions are "
        f"{listed(regions)}."
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


def caution(diagnostics: Diagnostics) -> str:
    """A warning where the chains are not what they should be; nothing otherwise."""
    if diagnostics.status in ("good", "usable"):
        return ""
    return (
        "Read this page as preliminary: the computation has not settled, and a longer run may move "
        f"the numbers, the intervals of influence most of all. In detail: {diagnostics.verdict}. "
        f"{diagnostics.advice}"
    )


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def listed(names: "pd.Series | list[str]") -> str:
    names = [str(name) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
