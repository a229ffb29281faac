"""One self-contained page of the study, for a clinician."""

import base64
import io
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pandas as pd

DPI = 110
DECIMALS = 3


def picture(figure: Any) -> str:
    """A figure as a data address."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


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
