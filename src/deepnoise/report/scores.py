"""How good the densities are, beside what is easy to have, and whether that makes them useful."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.stats import spearmanr

from ..estimators.scoring import Rivals, keeps_rows, rivals_of
from ..prediction import metrics
from ..prediction.comparison import FEW, Gain
from ..prediction.density.supported import Density
from ..prediction.metrics import concordance
from . import svg
from .case import Case
from .words import capitalized, counted, number, percent

NO_INPUT, LINE = "one density for all rows", "a straight line"
COVERAGE = 0.9
WIDTH, HEIGHT = 440, 280
WIDTH_GROUPS = ("narrowest", "middle", "widest")
FEWEST_WIDTHS = 9
# Below this rank correlation the two are called unrelated.
WEAK = 0.1


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


@dataclass(frozen=True)
class HeldOutLine:
    name: str
    value: str
    reading: str


@dataclass(frozen=True)
class HeldOut:
    summary: str
    lines: tuple[HeldOutLine, ...]


READINGS = {
    "crps": ("CRPS", "Distance between density and observation; smaller is better."),
    "rmse": ("RMSE", "Typical miss of the predictive mean; smaller is better."),
    "concordance": ("Concordance", "Share of pairs of rows in the predicted order."),
    "nll": ("NLL", "Surprise at what was observed; smaller is better."),
}
HELD_OUT_LEVEL = 90


def held_out(case: Case) -> HeldOut | None:
    """None unless the chains of the model left rows out."""
    folds = getattr(case.model, "folds_", None)
    if folds is None:
        return None
    found = case.model.held_out_report()
    lines = [
        HeldOutLine(name, number(found[key]), reading)
        for key, (name, reading) in READINGS.items()
        if key in found
    ]
    covered = f"Should be about {HELD_OUT_LEVEL}\N{NO-BREAK SPACE}%."
    name = f"Rows inside the {HELD_OUT_LEVEL}\N{NO-BREAK SPACE}% interval"
    lines.append(HeldOutLine(name, percent(found[f"coverage_{HELD_OUT_LEVEL}"]), covered))
    return HeldOut(
        f"The {counted(len(folds.x), 'row')} of the fit were dealt into {folds.count} folds, and "
        f"each chain left one of them out. Here every row is predicted by the chains that did not "
        f"see it, so these scores are honest without a second table.",
        tuple(lines),
    )


@dataclass(frozen=True)
class WidthGroup:
    name: str
    width: str
    error: str


@dataclass(frozen=True)
class Sharpness:
    reading: str
    left_out: str
    groups: tuple[WidthGroup, ...]
    picture: Markup | None


def sharpness(case: Case) -> Sharpness:
    tail = (1 - COVERAGE) / 2
    places = case.exact
    if not places.size:
        return Sharpness("No row was seen exactly: errors are not known.", "", (), None)
    low, middle, high = case.out(case.density[places].quantile([tail, 0.5, 1 - tail])).T
    y = case.out(case.values)
    width, error = high - low, np.abs(y - middle)
    inside = (low <= y) & (y <= high)
    left_out = (
        f"Of the {counted(len(places), 'row')} seen exactly; those that were not have no error, so "
        "long ones may be missing here."
    )
    return Sharpness(
        width_reading(width, error),
        left_out if case.windowed else "",
        width_groups(width, error),
        width_picture(case, width, error, inside),
    )


def width_reading(width: np.ndarray, error: np.ndarray) -> str:
    if len(width) < FEWEST_WIDTHS:
        return "Too few rows to say whether wide intervals go with large errors."
    if np.ptp(width) < 1e-9 * width.max() or np.ptp(error) == 0:
        return "All intervals are equally wide: the model sees no rows that are harder than others."
    link = float(spearmanr(width, error).statistic)
    if link > WEAK:
        return f"Wide intervals go with large errors, as they should (rank correlation {link:.2f})."
    if link < -WEAK:
        return (
            f"Wide intervals go with small errors (rank correlation {link:.2f}): distrust widths."
        )
    return f"Widths say little about errors here (rank correlation {link:.2f})."


def width_groups(width: np.ndarray, error: np.ndarray) -> tuple[WidthGroup, ...]:
    """Rows in three groups by the width of their intervals."""
    if len(width) < FEWEST_WIDTHS:
        return ()
    thirds = np.array_split(np.argsort(width, kind="stable"), len(WIDTH_GROUPS))
    return tuple(
        WidthGroup(name, number(width[rows].mean()), number(np.median(error[rows])))
        for name, rows in zip(WIDTH_GROUPS, thirds, strict=True)
    )


def width_picture(case: Case, width: np.ndarray, error: np.ndarray, inside: np.ndarray) -> Markup:
    span = np.ptp(width) or width.max()
    ends = max(width.min() - 0.06 * span, 0.0), width.max() + 0.06 * span
    plot = svg.panel(ends, (0, 1.06 * max(error.max(), ends[1] / 2)), WIDTH, HEIGHT)
    hints = np.array(
        [
            f"{case.called(place)}: width {number(w)}, error {number(e)}"
            for place, w, e in zip(case.exact, width, error, strict=True)
        ]
    )
    parts = [
        svg.axes(
            plot,
            f"width of the 90\N{NO-BREAK SPACE}% interval, units of {case.target}",
            "distance from median",
        ),
        svg.line(plot, ends, [ends[0] / 2, ends[1] / 2], "dashed"),
        svg.dots(plot, width[inside], error[inside], "dot", hints[inside].tolist()),
        svg.dots(plot, width[~inside], error[~inside], "dot outside", hints[~inside].tolist(), 3.5),
        svg.legend(
            (("dot", f"inside ({inside.sum()})"), ("outside", f"outside ({(~inside).sum()})")),
            66,
            26,
        ),
    ]
    title = (
        f"Distance of {case.target} from the predictive median against the width of the 90 % "
        f"interval, one dot a row: {inside.sum()} inside their interval, {(~inside).sum()} outside."
    )
    return svg.drawing("sharpness", title, parts, WIDTH, HEIGHT)
