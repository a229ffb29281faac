"""The honest score: training rows, each predicted by chains that did not see it."""

from dataclasses import dataclass

from .case import Case
from .words import counted, number, percent


@dataclass(frozen=True)
class Line:
    name: str
    value: str
    reading: str


@dataclass(frozen=True)
class HeldOut:
    summary: str
    lines: tuple[Line, ...]


READINGS = {
    "crps": ("CRPS", "Distance between density and observation; smaller is better."),
    "rmse": ("RMSE", "Typical miss of the predictive mean; smaller is better."),
    "concordance": ("Concordance", "Share of pairs of rows in the predicted order."),
    "nll": ("NLL", "Surprise at what was observed; smaller is better."),
}
LEVEL = 90


def held_out(case: Case) -> HeldOut | None:
    """None unless the chains of the model left rows out."""
    folds = getattr(case.model, "folds_", None)
    if folds is None:
        return None
    found = case.model.held_out_report()
    lines = [
        Line(name, number(found[key]), reading)
        for key, (name, reading) in READINGS.items()
        if key in found
    ]
    covered = f"Should be about {LEVEL}\N{NO-BREAK SPACE}%."
    name = f"Rows inside the {LEVEL}\N{NO-BREAK SPACE}% interval"
    lines.append(Line(name, percent(found[f"coverage_{LEVEL}"]), covered))
    return HeldOut(
        f"The {counted(len(folds.x), 'row')} of the fit were dealt into {folds.count} folds, and "
        f"each chain left one of them out. Here every row is predicted by the chains that did not "
        f"see it, so these scores are honest without a second table.",
        tuple(lines),
    )
