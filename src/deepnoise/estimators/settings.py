"""Arguments of an estimator, checked once, and the plan that they make."""

import re
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..inference.kernels import REST
from ..inference.posterior import INITS, SAMPLERS, Plan
from ..inference.priors import LEARNT, NAMES, UTILITY_NOISE, PriorSpec
from ..inference.warmstart import WarmStart
from ..model.activation import resolve_activation
from .units import Standardize

DTYPES = ("float32", "float64")
LARGEST_FLOAT32 = 1e15


def count(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def share(name: str, value: Any) -> float:
    """A number of [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be a number of at least 0 and below 1; got {value!r}")
    return float(value)


def not_negative(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} must be a number of at least 0; got {value!r}")
    return float(value)


def memory(name: str, value: Any) -> int | None:
    """Bytes, from a whole number or words such as "2GB"."""
    found = re.fullmatch(r"(\d+\.?\d*) ?([KMGT]?)(i?)B", value) if isinstance(value, str) else None
    if found:
        base = 1024 if found[3] else 1000
        value = int(float(found[1]) * base ** " KMGT".index(found[2] or " "))
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and (not whole or value < 1):
        raise ValueError(
            f"{name} must be a number of bytes, such as 2000000000 or '2GB', or None; got {value!r}"
        )
    return value


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value


def devices(value: Any) -> int | str:
    """A number of devices, or all there are."""
    if isinstance(value, str) and value == "all":
        return "all"
    try:
        return count("devices", value, 1)
    except ValueError:
        raise ValueError(f"devices must be a number of devices or 'all'; got {value!r}") from None


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def standardize(value: Any) -> Standardize:
    """True, False or "scores"."""
    if isinstance(value, str) and value == "scores":
        return "scores"
    try:
        return flag("standardize", value)
    except ValueError:
        raise ValueError(f"standardize must be True, False or 'scores'; got {value!r}") from None


def check_float32(x: np.ndarray, y: np.ndarray, fix: str) -> None:
    """An error if squares and sums of these values would not fit in float32."""
    for name, values in (("X", x), ("y", y)):
        if np.nanmax(np.abs(values)) > LARGEST_FLOAT32:
            raise ValueError(f"{name} holds values too large for float32; {fix}")


def widths(value: Any) -> tuple[int, ...]:
    """Widths of the hidden layers, of which a number alone is one."""
    if isinstance(value, int | np.integer):
        return (count("hidden", value, 1),)
    try:
        return tuple(count("hidden", width, 1) for width in value)
    except (TypeError, ValueError):
        raise ValueError(
            f"hidden must be a tuple of widths, such as (20, 20); got {value!r}"
        ) from None


def prior(value: Any, init: str) -> str | PriorSpec:
    """A named prior, or one from a user's dict."""
    if isinstance(value, PriorSpec):
        return value
    if isinstance(value, Mapping):
        return PriorSpec.of(value)
    if not isinstance(value, str) or value not in NAMES:
        raise ValueError(f"prior must be one of {', '.join(NAMES)} or a dict; got {value!r}")
    if value == "anchored" and init == "prior":
        raise ValueError("prior='anchored' needs a gradient fit to start from; use init='gradient'")
    return value


def sites(value: Any, prior: Any) -> None:
    """A column of sites needs a prior that has a law for them."""
    if value is not None and prior not in LEARNT:
        raise ValueError(
            f"sites needs prior='default' or 'wide', which learn how much sites differ; "
            f"got {prior!r}"
        )


# Sweeps before the first draw, draws a chain and sweeps from draw to draw: where nothing is asked
# for, in the first round of a fit that runs until it has settled, a shorter one for more than
# LARGE rows; where something is, of the rest.
FIRST_ROUND = {"warmup": 400, "draws": 200, "thin": 2}
SHORT_ROUND, LARGE = {"warmup": 200, "draws": 200, "thin": 1}, 2000
FIXED = {"warmup": 800, "draws": 200, "thin": 4}


# Sweeps of a fit that does not settle, if a trajectory has no more than USUAL_STEPS: at most the
# first number, fewer in proportion for more than ROWS_FOR_ALL rows, at least the second.  Twice as
# many where chains are close.
MOST_SWEEPS, FEWEST_SWEEPS, ROWS_FOR_ALL, USUAL_STEPS = 5000, 2000, 1000, 100


def most_sweeps(value: Any, rows: int, steps: int = USUAL_STEPS, close: bool = False) -> int:
    """``max_sweeps``, by default fewer for larger tables and longer trajectories.

    Chains that have come ``close`` get twice as many.
    """
    if value is not None:
        return count("max_sweeps", value, 1)
    most = max(FEWEST_SWEEPS, MOST_SWEEPS * ROWS_FOR_ALL // max(rows, ROWS_FOR_ALL))
    most = most * (USUAL_STEPS + REST) // (max(steps, USUAL_STEPS) + REST)
    return 2 * most if close else most


def fixed_length(params: Mapping[str, Any]) -> bool:
    """Whether the user said how long the chains shall be, or they must not ask held-out rows."""
    return any(params.get(name) is not None for name in (*FIXED, "cross_fit"))


# What chains that leave a fold out cannot have, and why.
NOT_CROSS_FITTED = {
    "init": ("prior", "init='prior': gradient starts hold out rows of their own"),
    "devices": (1, "devices=1: chains have different rows"),
    "memory_limit": (None, "memory_limit=None: chains have different rows"),
    "sites": (None, "sites=None: draws of new sites have no common units"),
    "point_mass": (None, "point_mass=None: its scale would be learnt from held-out rows"),
}


def folds(params: Mapping[str, Any]) -> int:
    """The number of folds of ``cross_fit``, 0 for none; an error for what does not go with it."""
    if (value := params.get("cross_fit")) is None:
        return 0
    number, chains = count("cross_fit", value, 2), params["chains"]
    if chains % number:
        more = -(-chains // number) * number
        raise ValueError(
            f"cross_fit={number} needs as many chains for each fold; use chains={more}, "
            f"not {chains}"
        )
    for name, (needed, why) in NOT_CROSS_FITTED.items():
        if params[name] != needed:
            raise ValueError(f"cross_fit needs {why}; got {name}={params[name]!r}")
    if isinstance(params["standardize"], str):
        raise ValueError("cross_fit needs standardize=True or False: scores have no common units")
    return number


def lengths(params: Mapping[str, Any], rows: int) -> dict[str, int]:
    """warmup, draws and thin."""
    first = SHORT_ROUND if rows > LARGE else FIRST_ROUND
    given = {name: params[name] for name in FIXED if params[name] is not None}
    usual = (FIXED if fixed_length(params) else first) | given
    return {name: count(name, usual[name], 0 if name == "warmup" else 1) for name in FIXED}


def plan(
    params: Mapping[str, Any],
    seed: int,
    rows: int,
    outcome: str = "real",
    levels: int = 0,
    link: str = "probit",
    tied: bool = False,
    sites: tuple[int, int] | None = None,
) -> Plan:
    """The plan of a fit of that many rows from the estimator's parameters."""
    devices(params["devices"])
    most_sweeps(params["max_sweeps"], rows)
    hidden = widths(params["hidden"])
    classes = outcome != "real"
    begin = WarmStart.usual(rows, len(hidden), tied or classes)
    if classes and link == "probit":
        begin = replace(begin, last_noise=UTILITY_NOISE)
    init = one_of("init", params["init"], INITS)
    return Plan(
        hidden=hidden,
        h=resolve_activation(params["activation"]),
        seed=seed,
        prior=prior(params["prior"], init),
        chains=count("chains", params["chains"], 1),
        **lengths(params, rows),
        init=init,
        sampler=one_of("sampler", params["sampler"], SAMPLERS),
        dtype=one_of("dtype", str(params["dtype"]), DTYPES),
        warmstart=begin,
        outcome=outcome,
        levels=levels,
        link=link,
        sites=sites,
        folds=folds(params),
    )


def draw_seed(random_state: Any) -> int:
    """A whole number is the seed itself; otherwise one is drawn, as scikit-learn does."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**32:
            raise ValueError(f"random_state must be from 0 to 2**32 - 1; got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
