"""The predictions on the page as CSV."""

import csv
import io
from collections.abc import Sequence

from .engine import Answer
from .picture import NAMES
from .scenario import Table, Value

MOMENTS = ("mean", "sd")
COLUMNS = ("q05", "q50", "q95", "c", "p_above_c", "p_above_c_low", "p_above_c_high")


def sheet(
    table: Table, scenarios: Sequence[Sequence[Value]], answer: Answer, c: float, draws: int
) -> str:
    """A line a scenario: its features, then what was predicted, and from how many draws."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [control.name for control in table.controls]
    moments = () if answer.moments is None else MOMENTS
    writer.writerow(["scenario", *names, *moments, *COLUMNS, "draws"])
    for s, (name, scenario) in enumerate(zip(NAMES, scenarios, strict=True)):
        features = ["" if value is None else value for value in scenario]
        centre = () if answer.moments is None else answer.moments[s]
        found = [*centre, *answer.quantiles[s], c, *answer.above[s]]
        writer.writerow([name, *features, *(f"{value:.6g}" for value in found), draws])
    return text.getvalue()
