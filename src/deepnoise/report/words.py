"""Numbers and rows as people read them."""

import math
import re

PLACES = {"mean": "mean", "sd": "spread", "log_density": "log density"}


def number(value: float, digits: int = 4) -> str:
    """A few significant digits, without needless zeros: 12345.6 is 12,346, 0.00012 is 0.00012."""
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if value == 0:
        return "0"
    if not 1e-4 <= size < 1e7:
        return f"{value:.{digits - 1}g}".replace("-", "−")
    places = max(digits - 1 - math.floor(math.log10(size)), 0)
    shown = f"{value:,.{places}f}"
    if "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "0") else shown.replace("-", "−")


def percent(share: float, digits: int = 2) -> str:
    """0.0312 is 3.1 %; shares that are small but not nothing are not called 0."""
    if 0 < share < 0.0005:
        return "under 0.1\N{NO-BREAK SPACE}%"
    if 0.9995 < share < 1:
        return "over 99.9\N{NO-BREAK SPACE}%"
    return f"{number(100 * share, digits if share < 0.99 else 3)}\N{NO-BREAK SPACE}%"


def counted(count: int, one: str, more: str | None = None) -> str:
    """1 row, 2 rows, 1,000,000 rows."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def capitalized(text: str) -> str:
    """With a capital at its beginning; the rest, which may hold names, stays as it is."""
    return text[:1].upper() + text[1:]


def listed(names: list[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def functional(name: str) -> str:
    """The name "sd[167]" is "spread at training row 168"."""
    found = re.fullmatch(r"(mean|sd|log_density)\[(\d+)(?:,(\d+))?\]", name)
    if found is None:
        return name
    outcome = f", outcome {int(found[3]) + 1}" if found[3] else ""
    return f"{PLACES[found[1]]} at training row {int(found[2]) + 1}{outcome}"
