"""Timings as Markdown: every size against the model, exponents, and what the model predicts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from scaling_model import (
    AXES,
    Network,
    Prices,
    Size,
    Timing,
    bytes_a_sweep,
    exponents,
    fit_prices,
    terms,
)

FUTURE = Size(N=100_000_000, P=10, K=50, L=4, Q=1, C=1, R=64)


def page(timings: Sequence[Timing], bases: Sequence[Size]) -> str:
    """All of it, one part for each device and sampler; of a size run twice, the faster run."""
    lines: list[str] = []
    by_part = sorted(timings, key=lambda t: (t.device, t.sampler, t.seconds))
    for (device, sampler), group in groupby(by_part, key=lambda t: (t.device, t.sampler)):
        fastest = list({timing.size: timing for timing in reversed(list(group))}.values())
        lines += part(f"{sampler}, {device}", sampler, fastest, bases)
    return "\n".join(lines)


def part(title: str, sampler: str, timings: list[Timing], bases: Sequence[Size]) -> Iterator[str]:
    if len(timings) <= len(terms(FUTURE)):
        yield f"\n### {title}: too few sizes were run for a model"
        return
    prices = fit_prices(timings)
    timings = sorted(timings, key=lambda t: tuple(getattr(t.size, axis) for axis in AXES))
    yield f"\n### {title}\n"
    yield f"| {' | '.join(AXES)} | ms a sweep | model | error | left out | compile s |"
    yield "|" + "---|" * (len(AXES) + 5)
    worst = worst_out = 0.0
    for timing in timings:
        model = prices.seconds(timing.size)
        error = model / timing.seconds - 1
        others = [other for other in timings if other is not timing]
        out = fit_prices(others).seconds(timing.size) / timing.seconds - 1
        worst, worst_out = max(worst, abs(error)), max(worst_out, abs(out))
        cells = [str(getattr(timing.size, axis)) for axis in AXES]
        cells += [f"{1e3 * timing.seconds:.3f}", f"{1e3 * model:.3f}", f"{error:+.0%}"]
        yield f"| {' | '.join([*cells, f'{out:+.0%}', f'{timing.compile_seconds:.1f}'])} |"
    yield f"\nLargest error {worst:.0%}; of sizes left out of the fit, {worst_out:.0%}.\n"
    yield from _slopes(timings, bases)
    yield from _prices(prices)
    yield from _future(prices, sampler)


def _slopes(timings: list[Timing], bases: Sequence[Size]) -> Iterator[str]:
    base = next(base for base in bases if any(timing.size == base for timing in timings))
    yield "| axis | values | exponent | of the last two |\n|---|---|---|---|"
    for axis, (values, slope, last) in exponents(timings, base).items():
        yield f"| {axis} | {', '.join(map(str, values))} | {slope:.2f} | {last:.2f} |"


def _prices(prices: Prices) -> Iterator[str]:
    yield "\n| term | ns each |\n|---|---|"
    for name, price in prices.prices.items():
        yield f"| {name} | {1e9 * price:.4g} |"


def _future(prices: Prices, sampler: str) -> Iterator[str]:
    network = Network()
    yield (
        f"\n{FUTURE.N:.0e} rows, K = {FUTURE.K}, L = {FUTURE.L}, a chain: "
        f"{sum(bytes_a_sweep(FUTURE, sampler).values()) / 1e6:.2f} MB added up a sweep"
    )
    yield "\n| devices | rows each | ms of computing | ms of adding up | ms a sweep |"
    yield "|---|---|---|---|---|"
    for devices in (1, 8, 64, 512):
        size = replace(FUTURE, R=devices)
        work, talk = prices.seconds(size), network.seconds(size, sampler)
        milliseconds = f"{1e3 * work:.1f} | {1e3 * talk:.2f} | {1e3 * (work + talk):.1f}"
        yield f"| {devices} | {-(-size.N // devices)} | {milliseconds} |"
