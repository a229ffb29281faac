"""``deepnoise score``, ``diagnose`` and ``influence``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from . import options
from .app import Command, echo_json
from .models import features, judged, open_finished, recall
from .tables import located, read_table

WORST = 10


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@options.target
@options.as_json
def score(model, data, target, as_json) -> None:
    """How good the densities are on DATA."""
    estimator = open_finished(model)
    X, y = judged(model, estimator, read_table(data), target, data)
    with located(data):
        report = {"rows": len(y), **estimator.score_report(X, y)}
    if as_json:
        echo_json(report)
        return
    for name, value in report.items():
        click.echo(f"{name:<12}{value:>12.6g}")


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="All functionals, not the ten worst.")
@options.as_json
def diagnose(model, everything, as_json) -> None:
    """Whether the chains of MODEL agree.

    R-hat and effective sample sizes of predictive means, sds and log densities at training rows.
    """
    diagnostics = open_finished(model).diagnostics_
    if as_json:
        echo_json(diagnostics.to_dict())
        return
    worst = set(diagnostics.worst(len(diagnostics.rows) if everything else WORST))
    rows = tuple(row for row in diagnostics.rows if row.name in worst)
    table = str(replace(diagnostics, rows=rows)).splitlines()[:-1]
    shown = f"{diagnostics.chains} chains of {diagnostics.draws} draws: {diagnostics.verdict}"
    click.echo("\n".join([*(table if rows else []), shown, diagnostics.advice]))


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@options.level
@options.target
@options.as_json
def influence(model, data, level, target, as_json) -> None:
    """How strongly each feature moves y.

    Mean change of E[y | x] over the rows of DATA, in units of y, when a feature changes by one
    standard deviation or by one unit.
    """
    estimator = open_finished(model)
    known = recall(model)
    others = [*filter(None, (target, known.target)), *known.dropped]
    X = features(estimator, read_table(data), others, data)
    with located(data):
        found = estimator.influence(X, level)
    rows = influence_rows(found, estimator.units_.x.scale)
    if as_json:
        echo_json(rows)
        return
    width = max(len(row["feature"]) for row in rows)
    names = ("per_sd", "low", "high", "per_unit", "sd_per_sd")
    click.echo("feature".ljust(width) + "".join(name.rjust(11) for name in names))
    for row in rows:
        click.echo(row["feature"].ljust(width) + "".join(f"{row[name]:>11.4g}" for name in names))


def influence_rows(found: Any, scale: tuple[float, ...]) -> list[dict[str, Any]]:
    """A row a feature, the strongest first; "sd_per_sd" is the influence on the sd of y."""
    rows = [
        {
            "feature": name,
            "per_sd": float(found.mean.mean[j] * scale[j]),
            "low": float(found.mean.lower[j] * scale[j]),
            "high": float(found.mean.upper[j] * scale[j]),
            "per_unit": float(found.mean.mean[j]),
            "sd_per_sd": float(found.sd.mean[j] * scale[j]),
        }
        for j, name in enumerate(found.names)
    ]
    return sorted(rows, key=lambda row: -row["per_sd"])
