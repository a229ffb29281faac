"""The OpenAPI 3.1 description of one model's server."""

from typing import Any

from .engine import Engine
from .request import MOST_LEVELS, MOST_POINTS, QUANTILES

PROBLEMS = {
    "400": "not JSON, or another Host",
    "401": "no token, or a wrong one",
    "408": "the body took too long to arrive",
    "413": "the body is too large",
    "415": "another Content-Type than application/json",
    "422": "JSON that asks for what cannot be answered",
    "503": "too much to do, or no answer in time",
}


def openapi(engine: Engine, facts: dict[str, Any]) -> dict[str, Any]:
    """The document, with this model's columns."""
    request = {"required": True, "content": _json({"$ref": "#/components/schemas/Request"})}
    refusals = {status: _response(why, "Problem") for status, why in PROBLEMS.items()}
    open_to_all: dict[str, Any] = {"security": []}
    entry = {
        "/v1/predict": {
            "post": {
                "summary": "Predictions of rows",
                "operationId": "predict",
                "requestBody": request,
                "responses": {"200": _response("one entry for each row", "Answer")} | refusals,
            }
        },
        "/v1/model": {"get": _get("What the model is, and its columns", "model")},
        "/openapi.json": {"get": _get("This document", "openapi")},
        "/healthz": {"get": _get("Whether the server is up", "healthz", ("400",)) | open_to_all},
    }
    schemas = {
        "Row": _row(engine),
        "Request": _request(engine, facts["limits"]["rows"]),
        "Answer": _answer(engine),
        "Problem": _object({"error": {"type": "string"}}, ["error"]),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"deepnoise: predictions of {', '.join(engine.outcomes)}",
            "version": facts["versions"]["deepnoise"],
        },
        "paths": entry,
        "security": [{"token": []}],
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _get(summary: str, name: str, refusals: tuple[str, ...] = ("400", "401")) -> dict[str, Any]:
    responses = {"200": {"description": summary, "content": _json({"type": "object"})}}
    return {
        "summary": summary,
        "operationId": name,
        "responses": responses | {s: _response(PROBLEMS[s], "Problem") for s in refusals},
    }


def _response(what: str, schema: str) -> dict[str, Any]:
    return {"description": what, "content": _json({"$ref": f"#/components/schemas/{schema}"})}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _row(engine: Engine) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for column in engine.model.encoder_.columns:
        gaps = ["null"] if engine.model.accepts_missing_ and not column.site else []
        kinds = ["number", "boolean"] if column.levels is None else ["string", "number", "boolean"]
        properties[column.name] = {"type": [*kinds, *gaps]}
        if column.levels is not None:
            properties[column.name]["examples"] = list(column.levels[:20])
    return _object(properties, list(properties))


def _request(engine: Engine, most: int) -> dict[str, Any]:
    cell = {"type": ["number", "string", "boolean", "null"]}
    rows = {"minItems": 1, "maxItems": most}
    names = [column.name for column in engine.model.encoder_.columns]
    column_names = {
        "type": "array",
        "items": {"enum": names},
        "uniqueItems": True,
        "minItems": len(names),
        "maxItems": len(names),
    }
    width = {"minItems": len(names), "maxItems": len(names)}
    properties: dict[str, Any] = {
        "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}} | rows,
        "columns": column_names,
        "data": {"type": "array", "items": {"type": "array", "items": cell} | width} | rows,
        "interval": _between("Probability of the credible intervals"),
    }
    if engine.kind != "classes":
        properties |= _of_numbers(engine)
    alternatives = [
        {"required": ["rows"], "not": {"anyOf": [{"required": [n]} for n in ("columns", "data")]}},
        {"required": ["columns", "data"], "not": {"required": ["rows"]}},
    ]
    return _object(properties, []) | {"oneOf": alternatives}


def _of_numbers(engine: Engine) -> dict[str, Any]:
    levels = {"type": "array", "items": _between("A level"), "maxItems": MOST_LEVELS}
    positive = {"exclusiveMinimum": 0} if engine.kind == "times" else {}
    points = {"type": "integer", "minimum": 2, "maximum": MOST_POINTS}
    return {
        "quantiles": levels | {"default": list(QUANTILES)},
        "above": _for_each(engine, {"type": "number"} | positive, MOST_LEVELS),
        "grid": {
            "oneOf": [
                _for_each(engine, {"type": "number"}, MOST_POINTS),
                _object({"points": points}, ["points"]),
            ]
        },
        "mean": {"type": "boolean"} if engine.kind == "numbers" else {"const": False},
    }


def _for_each(engine: Engine, item: dict[str, Any], most: int) -> dict[str, Any]:
    numbers = {"type": "array", "items": item, "maxItems": most}
    if len(engine.outcomes) == 1:
        return numbers
    return {"oneOf": [numbers, _object(dict.fromkeys(engine.outcomes, numbers), [])]}


def _between(what: str) -> dict[str, Any]:
    limits = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    return {"type": "number", "description": what} | limits


def _answer(engine: Engine) -> dict[str, Any]:
    vector = {"type": "array", "items": {"type": ["number", "null"]}}
    matrix = {"type": "array", "items": vector}
    warnings = {"type": "array", "items": {"type": "string"}}
    interval = {"type": "number"}
    if engine.kind == "classes":
        names: dict[str, Any] = {"type": "array"}
        found = dict.fromkeys(("probability", "probability_low", "probability_high"), matrix)
        found |= {"classes": names, "likeliest": names}
        extra = {"interval": interval, "warnings": warnings}
        return _object(found | extra, ["classes", "likeliest", "probability", "warnings"])
    one: dict[str, Any] = {"outcome": {"type": "string"}}
    one |= dict.fromkeys(("mean", "sd", "levels", "thresholds", "grid"), vector)
    one |= dict.fromkeys(("quantiles", "above", "above_low", "above_high", "density"), matrix)
    if len(engine.outcomes) > 1:
        several = {"type": "array", "items": _object(one, ["outcome"])}
        return _object({"outcomes": several, "warnings": warnings}, ["outcomes", "warnings"])
    return _object(one | {"interval": interval, "warnings": warnings}, ["outcome", "warnings"])
