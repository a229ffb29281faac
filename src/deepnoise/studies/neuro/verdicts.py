"""The questions a reader comes with, each answered from numbers that could have said otherwise."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...inference.diagnostics import Diagnostics
from .fit import WITH, WITHOUT
from .floor import Floor
from .texts import between, listed, percent, rounded

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
