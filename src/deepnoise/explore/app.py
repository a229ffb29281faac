"""The Dash application, every address of which begins with the token."""

import secrets
from importlib.resources import files
from typing import Any

try:
    from dash import Dash, Input, Output, State, dcc, html, no_update
except ModuleNotFoundError:
    raise ModuleNotFoundError("exploring needs Dash: pip install 'deepnoise[explore]'") from None
from flask import Flask, Response, abort, request

from .engine import Engine
from .layout import layout
from .picture import NAMES, facts, picture
from .scenario import Table, make_table
from .sheet import sheet

# The picture was drawn, and escaped, by us; everything else is set as text.
SHOW = """function (page) {
  document.getElementById('picture').innerHTML = page.svg;
  for (const [place, text, missing] of page.controls) {
    document.getElementById(place).setAttribute('aria-valuetext', text);
    document.getElementById(place + '-value').textContent = text;
    document.getElementById(place + '-missing').setAttribute('aria-pressed', missing);
  }
  return '';
}"""
PAGE = """<!DOCTYPE html>
<html lang="en"><head>{%metas%}<title>{%title%}</title><link rel="icon" href="data:,">{%css%}
<style>STYLE</style></head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body></html>"""
POLICY = (
    "default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def make_app(model: Any, X: Any, target: str, source: str, token: str) -> Dash:
    """An app that serves nothing outside /token/."""
    engine, table = Engine(model, X), make_table(model, X)
    style = files("deepnoise.report").joinpath("templates/style.css").read_text("utf-8")
    style += files("deepnoise.explore").joinpath("explore.css").read_text("utf-8")
    app = Dash(
        "deepnoise.explore",
        url_base_pathname=f"/{token}/",
        title="Explore a fitted model",
        update_title="",
        index_string=PAGE.replace("STYLE", style),
        include_assets_files=False,
        enable_mcp=False,
    )
    app.layout = layout(engine, table, target, source)
    add_moves(app, engine, table, target)
    add_rows(app, table)
    add_download(app, engine, table)
    guard(app.server, token, POLICY.format(hashes=" ".join(f"'{h}'" for h in hashes(app))))
    return app


def hashes(app: Dash) -> list[str]:
    return [found.strip("'") for found in app.csp_hashes()]


def guard(server: Flask, token: str, policy: str) -> None:
    """403 for every address without the token; a page that cannot talk to anybody else."""

    @server.before_request
    def check() -> None:
        given = request.path.split("/")[1]
        if not secrets.compare_digest(given.encode(), token.encode()):
            abort(403)

    @server.after_request
    def harden(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def wired(table: Table, kind: Any) -> list[list[Any]]:
    """Values and "missing" buttons, of scenario A, then of B, as ``kind`` Input or State."""
    places = [f"{name}-{j}" for name in NAMES for j in range(len(table.controls))]
    return [
        [kind(place, "value") for place in places],
        [kind(f"{place}-missing", "n_clicks") for place in places],
    ]


def scenarios(table: Table, values: list[Any], clicks: list[int]) -> list[list[Any]]:
    """Values of each scenario; None where the button "missing" is down."""
    given = [
        None if table.missing and count % 2 else value
        for value, count in zip(values, clicks, strict=True)
    ]
    size = len(table.controls)
    return [given[:size], given[size:]]


def add_moves(app: Dash, engine: Engine, table: Table, target: str) -> None:
    """A move of anything → picture, numbers and what stands beside the sliders."""
    places = [f"{name}-{j}" for name in NAMES for j in range(len(table.controls))]
    app.clientside_callback(SHOW, Output("picture", "data-shown"), Input("drawn", "data"))

    @app.callback(
        output=[
            Output("drawn", "data"),
            [Output(f"facts-{name}", "children") for name in NAMES],
            Output("problem", "children"),
        ],
        inputs=[*wired(table, Input), Input("c", "value")],
    )
    def move(values, clicks, c):
        given = scenarios(table, values, clicks)
        try:
            answer = engine.answer(table.rows(given), float(c))
        except ValueError as error:
            return [no_update, [no_update] * len(NAMES), str(error)]
        texts = [text for one in given for text in table.shown(one)]
        missing = [value is None for one in given for value in one]
        page = {
            "svg": str(picture(answer, engine.grid, float(c), target)),
            "controls": list(zip(places, texts, missing, strict=True)),
        }
        lines = [described(name, facts(answer, s, float(c))) for s, name in enumerate(NAMES)]
        return [page, lines, ""]


def described(name: str, lines: list[tuple[str, str]]) -> list[Any]:
    parts = [part for key, value in lines for part in (html.Dt(key), html.Dd(value))]
    key = html.Span(className=f"key scenario-{name.lower()}")
    return [html.H3([key, f"Scenario {name}"]), html.Dl(parts, className="facts")]


def add_rows(app: Dash, table: Table) -> None:
    """Another row → its values."""
    for name in NAMES:
        places = [f"{name}-{j}" for j in range(len(table.controls))]

        @app.callback(
            output=[
                [Output(place, "value") for place in places],
                [Output(f"{place}-missing", "n_clicks") for place in places],
            ],
            inputs=[Input(f"{name}-row", "value")],
            prevent_initial_call=True,
        )
        def pick(row):
            if row is None:
                return [[no_update] * len(table.controls)] * 2
            start = table.start(int(row))
            values = [no_update if value is None else value for value in start]
            return [values, [int(value is None) for value in start]]


def add_download(app: Dash, engine: Engine, table: Table) -> None:
    """The button → a CSV of both scenarios."""

    @app.callback(
        output=Output("download", "data"),
        inputs=[Input("download-button", "n_clicks")],
        state=[*wired(table, State), State("c", "value")],
        prevent_initial_call=True,
    )
    def download(_, values, clicks, c):
        given = scenarios(table, values, clicks)
        rows = table.rows(given)
        text = sheet(table, given, engine.answer(rows, float(c)), float(c), engine.draws)
        return dcc.send_string(text, "predictions.csv")
