"""The page: a picture, a slider for c, and two columns of controls."""

from typing import Any

from dash import dcc, html

from .engine import Engine
from .picture import NAMES
from .scenario import NO_MISSING, Control, Table


def layout(engine: Engine, table: Table, target: str, source: str) -> Any:
    explanation = (
        f"Pick a row of {source}, move a slider, and see the density change. Lighter bands: where "
        "each curve lies with 90 % probability."
    )
    controls = [scenario(name, table, source) for name in NAMES]
    return html.Div(
        [
            html.A("Skip to the controls", href="#controls", className="skip"),
            html.Header([html.H1(f"Explore {target}"), html.P(explanation, className="soft")]),
            html.Main(
                [densities(engine, table), html.Div(controls, className="pair", id="controls")]
            ),
        ]
    )


def densities(engine: Engine, table: Table) -> Any:
    """The picture and what belongs to it."""
    facts = [html.Div(id=f"facts-{name}", className="facts-of") for name in NAMES]
    parts = [
        html.H2("Predictive densities", className="hidden"),
        html.Div(id="picture"),
        dcc.Store(id="drawn"),
        html.Div(slider_of_c(engine.grid), className="aligned"),
        html.Div(facts, className="pair", role="status"),
        html.P(id="problem", role="alert"),
        html.Button("Download these predictions", id="download-button"),
        dcc.Download(id="download"),
    ]
    if engine.thinning:
        parts.append(html.P(engine.thinning, className="soft", id="thinning"))
    if not table.missing:
        text = f"{NO_MISSING} So the buttons for that are off."
        parts.append(html.P(text, className="soft", id="no-missing"))
    return html.Section(parts, className="card")


def slider_of_c(grid: Any) -> list[Any]:
    middle = float(grid[len(grid) // 2])
    return [
        html.Label("Drag c: how likely is y at least this?", htmlFor="c"),
        dcc.Input(
            id="c", type="range", min=float(grid[0]), max=float(grid[-1]), step="any", value=middle
        ),
    ]


def scenario(name: str, table: Table, source: str) -> Any:
    rows = len(table.X)
    first = 1 if name == NAMES[0] else min(2, rows)
    pick = f"{name}-row"
    return html.Section(
        [
            html.H2([html.Span(className=f"key scenario-{name.lower()}"), f"Scenario {name}"]),
            html.Div(
                [
                    html.Label(f"Row of {source}, 1 to {rows:,}", htmlFor=pick),
                    dcc.Input(id=pick, type="number", min=1, max=rows, step=1, value=first),
                ],
                className="row-picker",
            ),
            *(
                control_of(name, j, control, value, table.missing)
                for j, (control, value) in enumerate(
                    zip(table.controls, table.start(first), strict=True)
                )
            ),
        ],
        className="card",
    )


def control_of(name: str, j: int, control: Control, value: Any, missing: bool) -> Any:
    """One column: its name, its value, a button for "missing", and a slider."""
    place = f"{name}-{j}"
    head = [
        html.Label(control.name, htmlFor=place),
        html.Span(id=f"{place}-value", className="value"),
        html.Button(
            ["missing", html.Span(f": {control.name}, scenario {name}", className="hidden")],
            id=f"{place}-missing",
            n_clicks=int(value is None),
            disabled=not missing,
            className="missing",
            title="" if missing else NO_MISSING,
        ),
    ]
    slider = dcc.Input(
        id=place,
        type="range",
        min=control.low,
        max=control.high,
        step=control.step,
        value=control.low if value is None else value,
    )
    return html.Div([html.Div(head, className="control-head"), slider], className="control")
