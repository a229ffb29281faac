"""What the page asks, and what it is answered: text, JSON and CSV, without a server around it."""

import csv
import io
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from .engine import Answer, Engine
from .page import page
from .picture import NAMES, facts, picture
from .scenario import Table, Value, make_table

HTML, CSS, SCRIPT = "text/html", "text/css", "text/javascript"
JSON, CSV = "application/json", "text/csv"
MOMENTS = ("mean", "sd")
COLUMNS = ("q05", "q50", "q95", "c", "p_above_c", "p_above_c_low", "p_above_c_high")


class Service:
    """The answers about one fitted model; ``get`` and ``post`` are None where there is nothing."""

    def __init__(self, model: Any, X: Any, target: str, source: str) -> None:
        if hasattr(model, "classes_"):
            raise ValueError(
                "the explorer draws densities of numbers, and this model predicts classes: "
                "use predict_proba and probability_bands from Python"
            )
        self.engine, self.table, self.target = Engine(model, X), make_table(model, X), target
        style = files("deepnoise.report").joinpath("templates/style.css").read_text("utf-8")
        own = files("deepnoise.explore").joinpath("templates")
        self.files = {
            "": (HTML, page(model, self.engine, self.table, target, source)),
            "explore.css": (CSS, style + own.joinpath("explore.css").read_text("utf-8")),
            "explore.js": (SCRIPT, own.joinpath("explore.js").read_text("utf-8")),
        }

    def get(self, route: str) -> tuple[str, str] | None:
        """Kind and text of a file."""
        return self.files.get(route)

    def post(self, route: str, body: bytes) -> tuple[str, str] | None:
        """Kind and text of an answer; a ValueError says what is wrong with the question."""
        answers = {"answer": self.answer, "row": self.row, "sheet": self.sheet}
        if route not in answers:
            return None
        return answers[route](asked(body))

    def row(self, question: dict[str, Any]) -> tuple[str, str]:
        """Values of a row of the table."""
        return JSON, json.dumps({"values": self.table.start(int(finite(question, "row")))})

    def answer(self, question: dict[str, Any]) -> tuple[str, str]:
        """Picture and numbers of both scenarios."""
        scenarios, c = self.scenarios(question), finite(question, "c")
        found, outcome = self.engine.answer(self.table.encoded(scenarios), c), self.engine.outcome
        drawn = picture(found, outcome, c, self.target, finite(question, "width"))
        lines = {name: facts(found, s, c, outcome.symbol) for s, name in enumerate(NAMES)}
        return JSON, json.dumps({"svg": str(drawn), "facts": lines})

    def sheet(self, question: dict[str, Any]) -> tuple[str, str]:
        """The same numbers as CSV."""
        scenarios, c = self.scenarios(question), finite(question, "c")
        found = self.engine.answer(self.table.encoded(scenarios), c)
        return CSV, sheet(self.table, scenarios, found, c, self.engine.draws)

    def scenarios(self, question: dict[str, Any]) -> list[list[Value]]:
        return [self.table.scenario(question.get(name)) for name in NAMES]


def asked(body: bytes) -> dict[str, Any]:
    """The question in a request."""
    try:
        question = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the request is not JSON") from None
    if not isinstance(question, dict):
        raise ValueError("the request is not a JSON object")
    return question


def finite(question: dict[str, Any], name: str) -> float:
    value = question.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number")
    return value


def sheet(
    table: Table, scenarios: Sequence[Sequence[Value]], answer: Answer, c: float, draws: int
) -> str:
    """The page as CSV: a line a scenario, its features, what was predicted, from how many draws."""
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
