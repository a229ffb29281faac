"""The page as it is sent, and the picture of two densities that it asks for again and again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ModuleNotFoundError:
    raise ModuleNotFoundError("exploring needs Jinja2: pip install 'deepnoise[explore]'") from None

from ..report import svg
from ..report.words import number, percent
from .engine import Answer, Engine, Outcome
from .scenario import NO_MISSING, Table

FILTER_FROM = 9
GOOD = "The curves will hardly change if the chains run on."
BROKEN = "Do not use this model."
UNSETTLED = (
    "The curves on this page may change if the chains run on or start elsewhere: "
    "do not act on differences that are smaller than the bands."
)
MARGIN = 14
NARROWEST, WIDEST = 280, 1400
LABEL, TICK = 90, 75
NAMES = ("A", "B")


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


def picture(answer: Answer, outcome: Outcome, c: float, target: str, width: float) -> Markup:
    """Drawn as wide as it is shown, so that its letters are as large as the page's."""
    width = round(min(max(width, NARROWEST), WIDEST))
    height = round(min(max(0.43 * width, 200), 360))
    grid, top = outcome.grid, 1.1 * tallest(answer)
    ends = [grid[0], grid[-1], *(point for point, _ in answer.masses)]
    plot = svg.panel((min(ends), max(ends)), (0, top), width, height, left=MARGIN, top=12)
    parts = [svg.axes(plot, target, most=(max(width // TICK, 4), 0))]
    for s, name in enumerate(NAMES):
        style = f"scenario-{name.lower()}"
        if answer.lower is not None and answer.upper is not None:
            upper = np.minimum(answer.upper[s], top)
            parts.append(svg.area(plot, grid, answer.lower[s], upper, f"band {style}"))
        parts.append(svg.line(plot, grid, answer.pdf[s], f"curve {style}"))
    parts += [
        stem(plot, point, float(mass[s]), s) for point, mass in answer.masses for s in range(2)
    ]
    parts.append(svg.upright(plot, c, "threshold"))
    at = float(plot.x(c))
    side, gap = ("end", -6) if at > width - LABEL else ("start", 6)
    parts.append(svg.text(at + gap, 24, f"c = {number(c)}", f"label {side}"))
    for s, name in enumerate(NAMES):
        low, _, high = answer.quantiles[s]
        style = f"interval scenario-{name.lower()}"
        left, right = map(float, plot.x(np.clip([low, high], grid[0], grid[-1])))
        y = plot.y.start - 5 - 6 * s
        parts.append(svg.segment(left, y, right, y, style))
    title = f"Densities of {target}. " + " ".join(
        f"Scenario {name}: {sentence(answer, s, c, outcome.symbol)}" for s, name in enumerate(NAMES)
    )
    return svg.drawing("densities", title, parts, width, height)


def stem(plot: svg.Panel, point: float, mass: float, s: int) -> Markup:
    """A bar for a value with a probability of its own: the whole height is 100 %."""
    at, ground = float(plot.x(point)) + 5 * s - 2, plot.y.start
    top = ground + mass * (plot.y.stop - ground)
    return svg.segment(at, ground, at, top, f"interval scenario-{NAMES[s].lower()}")


def tallest(answer: Answer) -> float:
    """The height of the higher band, at most twice that of the higher curve."""
    tall = float(answer.pdf.max())
    if answer.upper is None:
        return tall
    return float(np.clip(answer.upper.max(), tall, 2 * tall))


def sentence(answer: Answer, s: int, c: float, symbol: str) -> str:
    low, median, high = (number(q, 3) for q in answer.quantiles[s])
    return f"median {median}, 90 % between {low} and {high}; {chance(answer, s, c, symbol)}."


def chance(answer: Answer, s: int, c: float, symbol: str) -> str:
    """P(y >= c) and, where the model has draws, its credible interval."""
    share, low, high = answer.above[s]
    text = f"P({symbol} ≥ {number(c)}) = {percent(float(share))}"
    if answer.lower is None:
        return text
    return f"{text} ({percent(float(low))} to {percent(float(high))})"


def facts(answer: Answer, s: int, c: float, symbol: str) -> list[tuple[str, str]]:
    """Lines for the reader of one scenario."""
    low, median, high = (number(q, 3) for q in answer.quantiles[s])
    share, least, most = (percent(float(p)) for p in answer.above[s])
    lines = [("Median", median), ("90 % interval", f"{low} to {high}")]
    for point, mass in answer.masses:
        lines.append((f"P({symbol} = {number(point)})", percent(float(mass[s]))))
    lines.append((f"P({symbol} ≥ {number(c)})", share))
    if answer.lower is not None:
        lines.append(("90 % sure that it is", f"{least} to {most}"))
    return lines
