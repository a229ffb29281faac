"""Have the chains run long enough, and if not, what to do."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.supported import Density, SupportedDensity, grid_between
from . import svg
from .case import Case
from .rows import ends
from .words import capitalized, functional, number, percent

MOST = 8
TRACES = 4
POINTS = 250
GRID = 161
CHAIN_STYLES = 6

MEANING = {
    "settled": "The numbers on this page will hardly change if the chains run on.",
    "short": "Means are settled; intervals and small probabilities may still move a little.",
    "moving": (
        "The numbers on this page may change if the chains run on. The predictive density averages "
        "over the chains, and the scores above are of that average."
    ),
    "apart": (
        "Chains that started elsewhere give somewhat different densities. The predictive density "
        "averages over them, and the scores above are of that average; the credible bands contain "
        "the disagreement. Do not act on differences smaller than the bands."
    ),
    "unknown": "Nothing can be said about how far the numbers on this page would change.",
    "broken": "Do not use this model.",
}


@dataclass(frozen=True)
class Line:
    name: str
    mean: str
    rhat: str
    bulk: str
    tail: str


@dataclass(frozen=True)
class Chain:
    name: str
    weight: str
    log_density: str


@dataclass(frozen=True)
class Convergence:
    status: str
    verdict: str
    meaning: str
    advice: str
    chains: tuple[Chain, ...]
    lines: tuple[Line, ...]
    functionals: int
    traces: tuple[tuple[str, Markup], ...]
    single_row: str
    single: Markup


def convergence(case: Case) -> Convergence:
    model, found = case.model, case.model.diagnostics_
    values = model.predictive_functionals()
    by_name = {row.name: row for row in found.rows}
    worst = found.worst(MOST) or list(by_name)[:MOST]
    lines = tuple(
        Line(
            functional(name),
            number(by_name[name].mean),
            number(by_name[name].rhat, 4),
            number(by_name[name].ess_bulk, 3),
            number(by_name[name].ess_tail, 3),
        )
        for name in worst
    )
    pictures = tuple((functional(name), trace(name, values[name])) for name in worst[:TRACES])
    return Convergence(
        found.status,
        capitalized(found.verdict) + ".",
        MEANING[found.status],
        found.advice,
        chains(case, values),
        lines,
        len(found.rows),
        pictures,
        case.called(middle(case)),
        single_chains(case) if len(model.chain_weights_) > 1 else svg.EMPTY,
    )


def chains(case: Case, values: dict[str, np.ndarray]) -> tuple[Chain, ...]:
    """Weight of each chain in the predictive density, and how well it alone fits training rows."""
    logs = np.stack([v for name, v in values.items() if name.startswith("log_density")])
    fit = logs.mean(axis=(0, 2))
    return tuple(
        Chain(f"chain {c + 1}", percent(float(weight)), number(fit[c]))
        for c, weight in enumerate(case.model.chain_weights_)
    )


def trace(name: str, values: np.ndarray) -> Markup:
    """Every chain as a line; chains that have mixed lie on each other."""
    draws = values.shape[1]
    step = -(-draws // POINTS)
    x = np.arange(1, draws + 1)[::step]
    plot = svg.panel((1, draws), (values.min(), values.max()), 440, 190)
    parts = [svg.axes(plot, "draw", most=(6, 4))]
    for c, chain in enumerate(values[:, ::step]):
        parts.append(svg.line(plot, x, chain, f"chain chain-{c % CHAIN_STYLES}"))
    means = ", ".join(number(m) for m in values.mean(axis=1))
    title = f"Trace of the {functional(name)}, one line a chain. Means of the chains: {means}."
    return svg.drawing(f"trace-{name.replace('[', '-').rstrip(']')}", title, parts, 440, 190)


def middle(case: Case) -> int:
    """The row that stands for the others: the middle one of those shown."""
    return int(case.shown[len(case.shown) // 2])


def single_chains(case: Case) -> Markup:
    """The density of one row by each chain alone, and by all."""
    one = case.density[middle(case)]
    low, high = ends(case, one)
    grid = grid_between(one, low, high, GRID)
    chains = by_chain(one, len(case.model.chain_weights_))
    curves = [case.pdf_grid(chain, grid)[0] for chain in chains]
    whole = case.pdf_grid(one, grid)[0]
    plot = svg.panel((low, high), (0, 1.08 * np.max([whole, *curves])), 440, 240, left=14)
    parts = [svg.axes(plot, case.target, most=(7, 0))]
    for c, curve in enumerate(curves):
        parts.append(svg.line(plot, grid, curve, f"chain chain-{c % CHAIN_STYLES}"))
    parts.append(svg.line(plot, grid, whole, "whole"))
    medians = ", ".join(number(grid[np.searchsorted(np.cumsum(c) / c.sum(), 0.5)]) for c in curves)
    title = f"Density of {case.target} by each chain alone. Their medians: {medians}."
    return svg.drawing("single-chains", title, parts, 440, 240)


def by_chain(density: Density, chains: int) -> list[Density]:
    """The mixture of each chain's draws; components stand in the order of the draws."""
    if isinstance(density, SupportedDensity):
        return [SupportedDensity(z, density.support) for z in _by_chain(density.latent, chains)]
    return list(_by_chain(density, chains))


def _by_chain(density: PredictiveMixture, chains: int) -> list[PredictiveMixture]:
    _, means, covs = density.components()
    size = density.n_components // chains
    parts = [slice(c * size, (c + 1) * size) for c in range(chains)]
    return [PredictiveMixture.of(means[:, part], covs[:, part]) for part in parts]
