"""``deepnoise score``, ``diagnose`` and ``influence``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from . import options
from .app import Command, echo_json, note
from .drawing import next_command
from .models import features, kind_of, open_finished, recall, scored
from .tables import located, read_table

WORST = 10


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@options.target
@click.option("--upper", help="Column of upper ends, if the model does not know its name.")
@click.option("--event", help="Column of events, if the model does not know its name.")
@options.as_json
def score(model, data, target, upper, event, as_json) -> None:
    """How good the densities are on DATA.

    Of classes: how good their probabilities are. RMSE and CRPS are of rows that were seen exactly.
    """
    estimator = open_finished(model, classes=True)
    frame = read_table(data)
    X, y = scored(model, estimator, frame, data, target, upper, event)
    with located(data):
        report = {**rows_of(y, len(frame)), **estimator.score_report(X, y)}
    if as_json:
        echo_json(report)
        return
    for name, value in report.items():
        click.echo(f"{name:<12}{value:>12.6g}")


def rows_of(y: Any, rows: int) -> dict[str, int]:
    """How many rows are judged and, where outcomes are windows, how many were seen exactly."""
    if not hasattr(y, "lower"):
        return {"rows": rows}
    return {"rows": rows, "seen_exactly": int((y.lower == y.upper).sum())}


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Show all scalars, not only the ten worst.")
@options.as_json
def diagnose(model, everything, as_json) -> None:
    """Whether the chains of MODEL agree.

    R-hat and effective sample sizes of predictive means, sds and log densities, or of class
    probabilities, at training rows, which count from 1 here and from 0 in --json.
    """
    from ..prediction.per_draw import in_words

    folder, diagnostics = model, open_finished(model, classes=True).diagnostics_
    if as_json:
        echo_json(diagnostics.to_dict())
        return
    worst = set(diagnostics.worst(len(diagnostics.rows) if everything else WORST))
    rows = tuple(
        replace(row, name=in_words(row.name)) for row in diagnostics.rows if row.name in worst
    )
    table = replace(diagnostics, rows=rows).listing().splitlines()[:-1]
    shown = f"{diagnostics.chains} chains of {diagnostics.draws} draws: {diagnostics.verdict}"
    last = [diagnostics.advice, *filter(None, [next_command(diagnostics, folder)])]
    click.echo("\n".join([*(table if rows else []), shown, *last]))


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@options.level
@options.target
@options.as_json
def influence(model, data, level, target, as_json) -> None:
    """How strongly each column moves y, and which way.

    Change of E[y | x], in units of y, when a column changes by one standard deviation, averaged
    over the rows of DATA: its size, the size that noise may reach (floor), and its direction with
    a credible interval.  Columns below the floor cannot be told from noise. Of times, y is their
    logarithm.
    """
    estimator = open_finished(model)
    known = recall(model)
    if kind_of(estimator) == "times":
        note(f"of log {known.target or 'time'}: 0.1 is about 10 % longer, -0.1 about 10 % shorter")
    others = [*filter(None, (target, known.target)), *known.dropped]
    X = features(estimator, read_table(data), others, data)
    with located(data):
        found = estimator.influence(X, level)
    rows = influence_rows(found)
    if as_json:
        echo_json(rows)
        return
    width = max(len(name) for name in ("column", *(row["column"] for row in rows)))
    names = ("size", "floor", "direction", "low", "high", "sd_size")
    click.echo("column".ljust(width) + "".join(name.rjust(11) for name in names))
    for row in rows:
        numbers = ("" if row[name] is None else f"{row[name]:.4g}" for name in names)
        noise = "" if row["clear"] else "  not distinguishable from noise"
        click.echo(row["column"].ljust(width) + "".join(f"{n:>11}" for n in numbers) + noise)


def influence_rows(found: Any) -> list[dict[str, Any]]:
    """A row a column, the strongest first, and one a level below; "sd_size" is that on the sd."""
    effects, rows = found.on_mean, []
    for j in (-effects.size).argsort(kind="stable"):
        name = found.columns[j]
        about = {"column": name, "size": finite(effects.size[j]), "floor": finite(effects.floor[j])}
        about |= direction(effects.signed, j) | {"sd_size": finite(found.on_sd.size[j])}
        rows.append(about | {"clear": bool(effects.clear[j])})
        if name in found.levels:
            levels = found.levels[name]
            rows += [
                {"column": f"{name}={level}", "size": None, "floor": None}
                | direction(levels.mean, k)
                | {"sd_size": None, "clear": bool(effects.clear[j])}
                for k, level in enumerate(levels.names)
            ]
    return rows


def direction(band: Any, j: int) -> dict[str, float | None]:
    """A signed effect with its interval; None where there is no sign, as of a category."""
    parts = {"direction": band.mean, "low": band.lower, "high": band.upper}
    return {name: finite(values[j]) for name, values in parts.items()}


def finite(value: float) -> float | None:
    return float(value) if abs(value) < float("inf") else None
