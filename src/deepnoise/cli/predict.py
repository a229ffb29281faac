"""``deepnoise predict``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .app import BadInput, Command, note
from .models import features, kind_of, open_finished, recall
from .tables import called, check_table_output, listed, located, read_table, write_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


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
    import warnings

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
