"""How good the densities are, beside what is easy to have, and whether that makes them useful."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.scoring import Rivals, keeps_rows, rivals_of
from ..prediction import metrics
from ..prediction.comparison import FEW, Gain
from ..prediction.density.supported import Density
from ..prediction.metrics import concordance
from .case import Case
from .words import capitalized, counted, number

NO_INPUT, LINE = "one density for all rows", "a straight line"


@dataclass(frozen=True)
class Score:
    """One line of the table: this model, no input, a straight line."""

    name: str
    reading: str
    own: str
    no_input: str
    line: str


@dataclass(frozen=True)
class GainLine:
    rival: str
    factor: str
    interval: str
    reading: str


@dataclass(frozen=True)
class Scores:
    status: str
    summary: str
    gains: tuple[GainLine, ...]
    lines: tuple[Score, ...]
    reference: str


def scores(case: Case) -> Scores:
    """Scores on the judged rows, beside those of one density for all rows and of a line."""
    rivals = rivals_of(case.model, case.X, case.outcomes)
    found = rivals.judge(case.density, case.outcomes)
    gains = tuple(
        GainLine(capitalized(name), factor(gain.mean), between(gain), gain_words(gain))
        for name, gain in ((NO_INPUT, found.no_input), (LINE, found.line))
    )
    rows = "training rows" if keeps_rows(case.model) else "rows judged here, which favours them"
    return Scores(
        found.status,
        summary(found.status, found.no_input, found.line),
        gains,
        time_lines(case, rivals) if case.log else lines(case, rivals),
        f"One density for all rows, which asks no column, and a ridge line with Gaussian errors, "
        f"both learnt from the {rows}",
    )


def lines(case: Case, rivals: Rivals) -> tuple[Score, ...]:
    densities = (case.density, rivals.no_input, rivals.line)
    shown: list[Score] = []
    if exact := len(case.exact):
        of = f", of the {counted(exact, 'row')} seen exactly" if case.windowed else ""
        y, seen = case.values, [density[case.exact] for density in densities]
        shown = [
            Score(
                "CRPS",
                f"Distance between density and observation, in units of {case.target}{of}; a point "
                "forecast would be charged its absolute error.",
                *(number(metrics.crps(density, y)) for density in seen),
            ),
            Score(
                "RMSE",
                f"Typical miss of the predictive mean, in units of {case.target}{of}.",
                *(number(metrics.rmse(density, y)) for density in seen),
            ),
        ]
    widths = [float(np.mean(np.diff(density.interval(0.9)))) for density in densities]
    return (
        *shown,
        nll_line(case, densities),
        Score(
            "Width of the 90\N{NO-BREAK SPACE}% interval",
            "Smaller says more, provided that the intervals hold what they promise: see "
            "calibration.",
            *map(number, widths),
        ),
    )


def time_lines(case: Case, rivals: Rivals) -> tuple[Score, ...]:
    """Of times to an event."""
    densities = (case.density, rivals.no_input, rivals.line)
    low, high = case.ends
    order = tuple(order_of(density, low, low == high) for density in densities)
    ratios = [float(np.median(np.exp(np.diff(d.interval(0.9))))) for d in densities]
    return (
        nll_line(case, densities),
        Score(
            "Concordance",
            "Share of pairs of rows whose events came in the predicted order; 1 is perfect, 0.5 is "
            "chance: here larger is better.",
            *order,
        ),
        Score(
            "90\N{NO-BREAK SPACE}% interval: end over start",
            "By what factor the interval of a typical row ends later than it begins. Smaller says "
            "more, provided that the intervals hold what they promise: see calibration.",
            *map(number, ratios),
        ),
    )


def order_of(density: Density, time: np.ndarray, event: np.ndarray) -> str:
    try:
        return number(concordance(density.quantile(0.5), time, event))
    except ValueError:
        return "–"


def nll_line(case: Case, densities: tuple[Density, ...]) -> Score:
    judged = (
        f" The {counted(case.windowed, 'row')} not seen exactly count by the probability of what "
        "is known of them."
        if case.windowed
        else ""
    )
    return Score(
        f"NLL of {case.unit}" if case.log else "NLL",
        f"Surprise at what was observed: minus the mean log density.{judged}",
        *(number(metrics.nll_seen(density, case.outcomes)) for density in densities),
    )


def factor(log: float) -> str:
    return number(float(np.exp(np.clip(log, -50.0, 50.0))), 3)


def between(gain: Gain) -> str:
    return f"{factor(gain.low)} to {factor(gain.high)}"


def gain_words(gain: Gain) -> str:
    if gain.rows < FEW:
        return f"{counted(gain.rows, 'row')}: too few to tell."
    return {
        1: "This model is better.",
        0: "No difference can be told.",
        -1: "This model is worse.",
    }[gain.sign]


def summary(status: str, no_input: Gain, line: Gain) -> str:
    """The answer in two sentences."""
    rows = counted(no_input.rows, "row")
    likely = (
        f"what was observed is {factor(no_input.mean)} times as likely as under one density for "
        f"all rows ({between(no_input)})"
    )
    lined = f"{factor(line.mean)} times as likely as under a straight line ({between(line)})"
    return {
        "unknown": f"{rows}: too few to tell whether the columns help ({FEW} at least).",
        "worse": (
            f"Worse than ignoring all columns: {likely}, on {rows}. Do not use these predictions "
            "before you know why."
        ),
        "same": (
            f"Not shown to be useful: {likely}, on {rows}. The interval holds 1: no difference "
            "from ignoring all columns can be told."
        ),
        "line": (f"Useful, but a straight line does as well: {likely}, and {lined}, on {rows}."),
        "beaten": f"A straight line does better: {likely}, but {lined}, on {rows}.",
        "useful": f"Useful, and better than a straight line: {likely}, and {lined}, on {rows}.",
    }[status]


def training_moments(model: Any) -> tuple[float, float] | None:
    """Mean and standard deviation of y in the training rows, if the model knows them."""
    if model.standardize:
        return float(model.units_.y.mean[0]), float(model.units_.y.scale[0])
    if not hasattr(model, "rows_"):
        return None
    return float(np.mean(model.rows_.y)), float(np.std(model.rows_.y))
