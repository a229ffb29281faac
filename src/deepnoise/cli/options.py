"""Kinds of arguments, and options that several commands share."""

from typing import Any

import click

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


class Widths(click.ParamType):
    """Comma-separated widths of layers, as a tuple; "none" for no layer."""

    name = "widths"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        if not isinstance(value, str):
            return value
        parts = [] if value.strip().lower() == "none" else value.split(",")
        try:
            widths = tuple(int(part) for part in parts)
        except ValueError:
            widths = (0,)
        if any(width < 1 for width in widths):
            self.fail(f"{value!r} is no list of widths such as 20,20", param, ctx)
        return widths


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
