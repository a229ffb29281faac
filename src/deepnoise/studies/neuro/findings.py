"""What the study found, in sentences that follow from its numbers.

A ``Verdict`` answers a question that a reader comes with, from numbers that could have said
otherwise.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...inference.diagnostics import Diagnostics
from .fit import WITH, WITHOUT, Floor
from .scores import units_of
from .tables import TOP

if TYPE_CHECKING:
    from .study import NeuroResult

ROBUST = 0.1
FEW = 50
SHOWN = 5
# Scores of the whole density; both must agree before anything is concluded.
DECIDING = ("NLL", "CRPS")


@dataclass(frozen=True)
class Verdict:
    """A question, "good", "warn" or "bad", the answer in two or three words, and in sentences."""

    question: str
    kind: str
    status: str
    text: str


def answers(result: "NeuroResult") -> list[Verdict]:
    """To the questions at the head of the page."""
    return [
        images(result.comparison, result.pooled),
        promises(result.pooled, result.plan.level),
        standing_out(result.regions, result.floor["mean"]),
        settled(result.first.models[WITH].diagnostics_),
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
        f"those {name} images are {coverage_status(row)}"
        for name, row in found.items()
        if coverage_status(row) != "as promised"
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


def images(comparison: pd.DataFrame, scores: pd.DataFrame) -> Verdict:
    """Whether predictions are better with the images, from differences paired by subject."""
    question = "Do the images help?"
    gaps = comparison[comparison["method"] == WITHOUT].set_index("score").loc[list(DECIDING)]
    if gaps["se"].isna().any():
        text = "All test rows are of one subject or group, which tells nothing about others."
        return Verdict(question, "warn", "cannot be told", f"{text} Use more splits.")
    better, worse = gaps["lower"] > 0, gaps["upper"] < 0
    found = listed([f"{score} {gain(gap)}" for score, gap in gaps.iterrows()])
    told = f"Gain by the images in subjects not seen, paired by subject: {found}."
    without = coverage_status(scores.set_index("method").loc[WITHOUT])
    if better.all() and without != "as promised":
        text = f"{told} But the intervals without images are {without}: the gain may be the fault"
        return Verdict(question, "warn", "not settled", f"{text} of that fit.")
    if better.all():
        text = f"{told} The images carry information that the other characteristics do not."
        return Verdict(question, "good", "they carry information", text)
    if worse.all():
        return Verdict(question, "bad", "predictions are worse with them", told)
    if not (better | worse).any():
        text = f"{told} Both intervals hold 0: these subjects do not show that the images help."
        return Verdict(question, "warn", "not shown", text)
    text = f"{told} The two scores do not agree, so nothing is concluded."
    return Verdict(question, "warn", "not settled", text)


def gain(gap: pd.Series) -> str:
    """Such as "0.14 (95 % interval 0.08 to 0.21)"."""
    return f"{rounded(gap['value'])} (95 % interval {between(gap['lower'], gap['upper'])})"


def promises(scores: pd.DataFrame, level: float) -> Verdict:
    """Whether the intervals with images hold as many as they should, up to binomial error."""
    row = scores.set_index("method").loc[WITH]
    status = coverage_status(row)
    allowed = f"{percent(row['chance_low'])} to {percent(row['chance_high'])}"
    text = (
        f"The {percent(level)} intervals hold the observed score of {percent(row['coverage'])} of "
        f"the subjects not seen; chance alone allows {allowed}."
    )
    meaning = {
        "too narrow": "The model is surer than it should be: take its intervals as too short.",
        "too wide": "The model is less sure than it could be: its intervals are too long.",
        "as promised": "",
    }
    kind = {"too narrow": "bad", "too wide": "warn", "as promised": "good"}[status]
    question = "Do its intervals keep their promise?"
    return Verdict(question, kind, status, f"{text} {meaning[status]}".strip())


def coverage_status(row: pd.Series) -> str:
    """Of one method's scores."""
    if row["coverage"] < row["chance_low"]:
        return "too narrow"
    return "too wide" if row["coverage"] > row["chance_high"] else "as promised"


def standing_out(regions: pd.DataFrame, floor: Floor) -> Verdict:
    """Which regions move the predicted mean more than chance allows."""
    question = "Do regions of the brain stand out?"
    if not np.isfinite(floor.most):
        text = "With a single region there is no floor to tell chance from influence."
        return Verdict(question, "warn", "cannot be told", text)
    told = (
        f"Fitted to images dealt out at random, the middle region has an influence of "
        f"{rounded(floor.typical)} per standard deviation, and chance allows up to "
        f"{rounded(floor.most)}: the floor."
    )
    above = regions[regions["mean_above_floor"]]["region"]
    if not len(above):
        text = f"{told} No region is above it: which regions matter cannot be told."
        return Verdict(question, "warn", "none does", text)
    names = listed(above.head(SHOWN)) if len(above) <= SHOWN else ", ".join(above.head(SHOWN))
    more = f" and {len(above) - SHOWN} more" if len(above) > SHOWN else ""
    text = f"{told} Above it: {names}{more}."
    return Verdict(question, "good", f"{len(above)} of {len(regions)} do", text)


def settled(diagnostics: Diagnostics) -> Verdict:
    """Whether the chains are what they should be."""
    question = "Has the computation settled?"
    if diagnostics.settled:
        return Verdict(question, "good", "yes", f"{diagnostics.verdict}.")
    text = (
        "Read this page as preliminary: a longer run may move the numbers, the influence of "
        f"regions most of all. In detail: {diagnostics.verdict}. {diagnostics.advice}"
    )
    return Verdict(question, "bad", "no", text)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def listed(names: Iterable[object]) -> str:
    """a, b and c."""
    shown = [str(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def between(lower: float, upper: float) -> str:
    return f"{rounded(lower)} to {rounded(upper)}"


def rounded(value: float) -> str:
    """Two digits, with a true minus."""
    return f"{value:.2g}".replace("-", "−")


def with_error(value: float, se: float) -> str:
    """Such as "0.877 ± 0.061": as many places as the first two digits of the error.

    An error that is nothing but rounding, as of widths that are all the same, is left out.
    """
    if not math.isfinite(se) or se <= 1e-9 * abs(value):
        return f"{value:.3g}".replace("-", "−")
    places = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:.{places}f} ± {se:.{places}f}".replace("-", "−")
