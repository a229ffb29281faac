"""One self-contained page of the study, for a clinician."""

import base64
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

DECIMALS = 3


def picture(path: Path) -> str:
    """A PNG file as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def rows(frame: pd.DataFrame) -> dict[str, Any]:
    """Head and body of an HTML table; numbers are rounded."""
    body = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return {"head": list(frame.columns), "body": body}


def _cell(value: Any) -> str:
    return f"{value:.{DECIMALS}g}" if isinstance(value, float) else str(value)


def render(content: Mapping[str, Any]) -> str:
    """The page; every value is escaped but the pictures' addresses."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the page needs Jinja2: pip install 'deepnoise[report]'"
        ) from None
    text = files(__package__).joinpath("templates/neuro.html").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(text).render(content)
