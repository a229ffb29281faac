"""The two densities in one picture, and their numbers in words."""

import numpy as np
from markupsafe import Markup

from ..report import svg
from ..report.words import number, percent
from .engine import Answer

WIDTH, HEIGHT, MARGIN = 760, 330, 14
NAMES = ("A", "B")


def picture(answer: Answer, grid: np.ndarray, c: float, target: str) -> Markup:
    tall = answer.pdf.max()
    top = 1.1 * tall
    if answer.upper is not None:
        top = 1.1 * max(tall, float(np.median(answer.upper.max(axis=1))))
    plot = svg.panel((grid[0], grid[-1]), (0, top), WIDTH, HEIGHT, left=MARGIN, top=12)
    parts = [svg.axes(plot, target, most=(8, 0))]
    for s, name in enumerate(NAMES):
        style = f"scenario-{name.lower()}"
        if answer.lower is not None and answer.upper is not None:
            upper = np.minimum(answer.upper[s], top)
            parts.append(svg.area(plot, grid, answer.lower[s], upper, f"band {style}"))
        parts.append(svg.line(plot, grid, answer.pdf[s], f"curve {style}"))
    parts.append(svg.upright(plot, c, "threshold"))
    at = float(plot.x(c))
    side, gap = ("end", -6) if at > WIDTH - 90 else ("start", 6)
    parts.append(svg.text(at + gap, 24, f"c = {number(c)}", f"label {side}"))
    for s, name in enumerate(NAMES):
        low, _, high = answer.quantiles[s]
        style = f"interval scenario-{name.lower()}"
        left, right = map(float, plot.x(np.clip([low, high], grid[0], grid[-1])))
        y = plot.y.start - 5 - 6 * s
        parts.append(svg.segment(left, y, right, y, style))
    title = f"Densities of {target}. " + " ".join(
        f"Scenario {name}: {sentence(answer, s, c)}" for s, name in enumerate(NAMES)
    )
    return svg.drawing("densities", title, parts, WIDTH, HEIGHT)


def sentence(answer: Answer, s: int, c: float) -> str:
    low, median, high = (number(q, 3) for q in answer.quantiles[s])
    return f"median {median}, 90 % between {low} and {high}; {chance(answer, s, c)}."


def chance(answer: Answer, s: int, c: float) -> str:
    """P(y >= c) and, where the model has draws, its credible interval."""
    share, low, high = answer.above[s]
    text = f"P(y ≥ {number(c)}) = {percent(float(share))}"
    if answer.lower is None:
        return text
    return f"{text} ({percent(float(low))} to {percent(float(high))})"


def facts(answer: Answer, s: int, c: float) -> list[tuple[str, str]]:
    """Lines for the reader of one scenario."""
    low, median, high = (number(q, 3) for q in answer.quantiles[s])
    share, least, most = (percent(float(p)) for p in answer.above[s])
    lines = [("Median", median), ("90 % interval", f"{low} to {high}")]
    lines.append((f"P(y ≥ {number(c)})", share))
    if answer.lower is not None:
        lines.append(("90 % sure that it is", f"{least} to {most}"))
    return lines
