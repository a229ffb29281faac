"""Numbers and names as people read them."""

import math
from collections.abc import Iterable


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def listed(names: Iterable[object]) -> str:
    """a, b and c."""
    shown = [str(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def between(lower: float, upper: float) -> str:
    return f"{rounded(lower)} to {rounded(upper)}"


def rounded(value: float) -> str:
    """Two digits, with a true minus."""
    return f"{value:.2g}".replace("-", "−")


def with_error(value: float, se: float) -> str:
    """Such as "0.877 ± 0.061": as many places as the first two digits of the error.

    An error that is nothing but rounding, as of widths that are all the same, is left out.
    """
    if not math.isfinite(se) or se <= 1e-9 * abs(value):
        return f"{value:.3g}".replace("-", "−")
    places = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:.{places}f} ± {se:.{places}f}".replace("-", "−")
