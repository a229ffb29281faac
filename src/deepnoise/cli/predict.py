"""What a model says: ``deepnoise predict``, ``score``, ``influence`` and ``diagnose``."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .app import BadInput, Command, echo_json, note
from .chains import next_command
from .models import features, kind_of, open_finished, recall, scored
from .tables import called, check_table_output, listed, located, read_table, write_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

WORST = 10


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=options.TABLE)
@click.option("--out", default="-", show_default=True, help="Table to write, .csv or .parquet.")
@click.option(
    "--quantiles",
    type=options.Numbers(0, 1),
    default="0.05,0.5,0.95",
    show_default=True,
    help="Levels of quantiles: columns q05, q50, q95.",
)
@click.option("--above", type=options.Numbers(), default="", help="c of P(y >= c | x).")
@click.option(
    "--grid",
    type=options.Numbers(),
    default="",
    help="Values at which to write the density: columns pdf_0, pdf_0.5; of counts a probability.",
)
@options.level
@click.option(
    "--conformal",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Guaranteed coverage of intervals conformal_low, conformal_high; after fit --cross-fit.",
)
@click.option("--groups", help="Column whose groups each have the coverage of --conformal.")
@click.option(
    "--keep",
    type=options.Names(),
    default="",
    help='Columns of DATA to write too, such as an id; "all" for all.',
)
@options.target
@options.force
def predict(
    model, data, out, quantiles, above, grid, level, conformal, groups, keep, target, force
) -> None:
    """Mean, sd, quantiles, P(y >= c) and density of every row.

    Of times all but mean and sd, of classes the likeliest and the probability of each.
    """
    check_table_output(out, force)
    estimator = open_finished(model, classes=True)
    if kind_of(estimator) == "classes":
        options.refuse(
            ("quantiles", "above", "grid", "conformal", "groups"),
            f"{model} predicts classes, which have none",
        )
    if conformal is None:
        options.refuse(("groups",), "needs --conformal")
    frame, known = read_table(data), recall(model)
    kept = list(frame.columns) if keep == ("all",) else list(keep)
    absent = [name for name in kept if name not in frame.columns]
    if absent:
        raise BadInput(f"--keep: {called(data)} has no column {listed(absent)}")
    others = [*filter(None, (target, known.target)), *known.dropped, *kept]
    X = features(estimator, frame, others, data)
    with located(data):
        columns = predictions(estimator, X, quantiles, above, level, grid)
        if conformal is not None:
            columns |= conformal_columns(estimator, X, conformal, groups)
    write_table(joined(frame[kept], columns), out)


def predictions(
    model: Any,
    X: Any,
    levels: tuple[float, ...],
    above: tuple[float, ...],
    level: float,
    grid: tuple[float, ...] = (),
) -> dict[str, "np.ndarray"]:
    """Columns to write."""
    import numpy as np

    kind = kind_of(model)
    if kind == "classes":
        return class_columns(model, X, level)
    for name, values in (("above", above), ("grid", grid)):
        if kind == "times" and not all(c > 0 for c in values):
            raise BadInput(f"--{name}: times must be positive")
    # The density of times is of their logarithms.
    there, back = (np.log, np.exp) if kind == "times" else (np.asarray, np.asarray)
    density = model.predict_density(X)
    columns = {} if kind == "times" else {"mean": density.mean(), "sd": np.sqrt(density.var())}
    if levels:
        found = back(density.quantile(levels))
        columns |= dict(zip(map(quantile_name, levels), found.T, strict=True))
    if above:
        found = model.predict_above(X, there([above]), level)
        for m, c in enumerate(above):
            columns |= with_ends(f"p_above_{c:.12g}", *found[:, :, m].T)
    if grid:
        # p(t) = p(log t) / t
        heights = density.pdf_grid(there(grid)) / (grid if kind == "times" else 1.0)
        columns |= {f"pdf_{y:.12g}": height for y, height in zip(grid, heights.T, strict=True)}
    return columns


def conformal_columns(
    model: Any, X: Any, coverage: float, groups: str | None
) -> dict[str, "np.ndarray"]:
    """Ends of intervals with a guarantee; a remark where they are infinite."""
    import numpy as np

    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        ends = model.predict_conformal(X, coverage, groups)
    for remark in remarks:
        note(f"Warning: {remark.message}")
    low, high = (np.exp(ends) if kind_of(model) == "times" else ends).T
    return {"conformal_low": low, "conformal_high": high}


def class_columns(model: Any, X: Any, level: float) -> dict[str, "np.ndarray"]:
    """The likeliest class, and the probability of every class with its credible interval."""
    p, bands = model.predict_proba(X), model.probability_bands(X, level)
    columns = {"predicted": model.classes_[p.argmax(axis=1)]}
    for c, name in enumerate(model.classes_):
        columns |= with_ends(f"p_{name}", p[:, c], bands.lower[:, c], bands.upper[:, c])
    return columns


def with_ends(name: str, value: Any, low: Any, high: Any) -> dict[str, "np.ndarray"]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def quantile_name(level: float) -> str:
    """0.05 is q05, 0.5 is q50, 0.975 is q97.5."""
    whole, dot, rest = f"{100 * level:.10g}".partition(".")
    return f"q{whole:0>2}{dot}{rest}"


def joined(kept: "pd.DataFrame", columns: dict[str, "np.ndarray"]) -> "pd.DataFrame":
    clash = [name for name in kept.columns if name in columns]
    if clash:
        raise BadInput(f"--keep: {listed(clash)} would be there twice; rename it in the table")
    return kept.assign(**columns)


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
