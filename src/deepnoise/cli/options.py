"""Kinds of arguments, and options that several commands share."""

from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from .app import BadInput

TABLE = click.Path(exists=True, dir_okay=False, allow_dash=True)


class Numbers(click.ParamType):
    """Comma-separated numbers, as a tuple."""

    name = "numbers"

    def __init__(self, low: float = float("-inf"), high: float = float("inf")) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...]:
        if not isinstance(value, str):
            return value
        try:
            numbers = tuple(float(part) for part in value.split(",") if part.strip())
        except ValueError:
            self.fail(f"{value!r} is no list of numbers such as 0.05,0.5,0.95", param, ctx)
        if not all(self.low < number < self.high for number in numbers):
            self.fail(f"{value!r}: must be between {self.low:g} and {self.high:g}", param, ctx)
        return numbers


class Counts(click.ParamType):
    """Comma-separated whole numbers from 1, as a tuple."""

    name = "counts"
    example = "whole numbers from 1 such as 1,2,5"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        if not isinstance(value, str):
            return value
        try:
            counts = tuple(int(part) for part in value.split(","))
        except ValueError:
            counts = (0,)
        if any(count < 1 for count in counts):
            self.fail(f"{value!r} is no list of {self.example}", param, ctx)
        return counts


class Widths(Counts):
    """Comma-separated widths of layers, as a tuple; "none" for no layer."""

    name = "widths"
    example = "widths such as 20,20"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        none = isinstance(value, str) and value.strip().lower() == "none"
        return () if none else super().convert(value, param, ctx)


class Standardize(click.Choice):
    """The estimators' parameter of this name: True, False or "scores"."""

    def __init__(self) -> None:
        super().__init__(["yes", "no", "scores"])

    def convert(self, value: Any, param: Any, ctx: Any) -> bool | str:
        chosen = super().convert(value, param, ctx)
        return {"yes": True, "no": False}.get(chosen, chosen)


class SupportOf(click.ParamType):
    """The estimator's parameter ``support``: a word, or two ends as a tuple."""

    name = "support"

    def convert(self, value: Any, param: Any, ctx: Any) -> str | tuple[float, ...]:
        if not isinstance(value, str) or value in ("positive", "counts"):
            return value
        try:
            ends = tuple(float(part) for part in value.split(","))
        except ValueError:
            ends = ()
        if len(ends) != 2:
            self.fail(f"{value!r} is not positive, counts or two ends such as 0,1", param, ctx)
        return ends


class Names(click.ParamType):
    """Comma-separated names, as a tuple."""

    name = "columns"

    def convert(self, value: Any, *_: Any) -> tuple[str, ...]:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())


force = click.option("--force", is_flag=True, help="Replace what is there.")
quiet = click.option("--quiet", is_flag=True, help="Show no progress.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
target = click.option("--target", help="Target column, if the model does not know its name.")
level = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Probability of credible intervals.",
)


def refuse(names: Iterable[str], why: str) -> None:
    """An error if one of these parameters of the command was given."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise BadInput(f"--{name.replace('_', '-')}: {why}")
