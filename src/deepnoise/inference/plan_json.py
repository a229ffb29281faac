"""Plan ⇄ plain JSON values, checked on the way in."""

from dataclasses import asdict, fields
from typing import Any

from ..model.activation import piecewise_linear
from .posterior import INITS, LINKS, OUTCOMES, SAMPLERS, Plan
from .priors import NAMES, PriorSpec
from .warmstart import WarmStart

LEAST = {
    "chains": 1,
    "warmup": 0,
    "draws": 0,
    "thin": 1,
    "seed": 0,
    "levels": 0,
    "burn": 0,
    "folds": 0,
}
CHOICES = {
    "init": INITS,
    "sampler": SAMPLERS,
    "dtype": ("float32", "float64"),
    "outcome": OUTCOMES,
    "link": LINKS,
}


def plan_to_json(plan: Plan) -> dict[str, Any]:
    return asdict(plan)


def plan_from_json(raw: dict[str, Any]) -> Plan:
    """The plan that was written; ValueError, KeyError or TypeError where it is none."""
    unknown = set(raw) - {field.name for field in fields(Plan)}
    if unknown:
        raise ValueError(f"unknown settings {sorted(unknown)}")
    raw = {"burn": 0, "folds": 0, **raw}
    for name, least in LEAST.items():
        _whole(name, raw[name], least)
    for name, choices in CHOICES.items():
        if raw[name] not in choices:
            raise ValueError(f"{name} is {raw[name]!r}")
    for name, value in raw["warmstart"].items():
        if type(value) not in (int, float):
            raise ValueError(f"warmstart {name} is {value!r}")
    for width in raw["hidden"]:
        _whole("hidden", width, 1)
    checked = {
        "hidden": tuple(raw["hidden"]),
        "h": piecewise_linear(**raw["h"]),
        "prior": _prior(raw["prior"]),
        "sites": _sites(raw.get("sites")),
        "warmstart": WarmStart(**raw["warmstart"]),
    }
    return Plan(**{**raw, **checked})


def _whole(name: str, value: Any, least: int) -> None:
    if type(value) is not int or value < least:
        raise ValueError(f"{name} is {value!r}")


def _sites(raw: Any) -> tuple[int, int] | None:
    if raw is None:
        return None
    first, stop = raw
    _whole("sites", first, 0)
    _whole("sites", stop, first + 2)
    return first, stop


def _prior(raw: Any) -> str | PriorSpec:
    if isinstance(raw, str):
        if raw not in NAMES:
            raise ValueError(f"prior is {raw!r}")
        return raw
    return PriorSpec.of({name: tuple(pair) for name, pair in raw.items()})
