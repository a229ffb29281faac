"""The page as it is sent: the controls at their first values, and what is known of the model."""

from dataclasses import dataclass
from typing import Any

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError:
    raise ModuleNotFoundError("exploring needs Jinja2: pip install 'deepnoise[explore]'") from None

from ..report.words import number
from .engine import Engine
from .picture import MARGIN, NAMES
from .scenario import NO_MISSING, Table

FILTER_FROM = 9
GOOD = "The curves will hardly change if the chains run on."
BROKEN = "Do not use this model."
UNSETTLED = (
    "The curves on this page may change if the chains run on or start elsewhere: "
    "do not act on differences that are smaller than the bands."
)


@dataclass(frozen=True)
class Verdict:
    """Have the chains converged?  ``kind`` is good, warn or bad."""

    kind: str
    found: str
    meaning: str
    advice: str


def verdict(model: Any) -> Verdict | None:
    """Of all draws, not only of those on the page; None for a model without draws."""
    if not hasattr(model, "diagnostics_"):
        return None
    judged = model.diagnostics_
    found = f"{judged.verdict[:1].upper()}{judged.verdict[1:]}."
    if judged.settled:
        return Verdict("good", found, GOOD, "")
    broken = judged.status == "broken"
    return Verdict(
        "bad" if broken else "warn", found, BROKEN if broken else UNSETTLED, judged.advice
    )


def page(model: Any, engine: Engine, table: Table, target: str, source: str) -> str:
    rows, grid = len(table.X), engine.outcome.grid
    first = {name: min(n, rows) for n, name in enumerate(NAMES, start=1)}
    environment = Environment(
        loader=PackageLoader("deepnoise.explore"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template("page.html.j2").render(
        verdict=verdict(model),
        thinning=engine.thinning,
        table=table,
        no_missing=NO_MISSING,
        target=target,
        source=source,
        symbol=engine.outcome.symbol,
        names=NAMES,
        first=first,
        start={name: table.start(row) for name, row in first.items()},
        rows=rows,
        low=float(grid[0]),
        high=float(grid[-1]),
        middle=float(f"{grid[len(grid) // 2]:.4g}"),
        margin=MARGIN,
        filtered=len(table.controls) >= FILTER_FROM,
    )
