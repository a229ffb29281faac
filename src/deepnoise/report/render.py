"""Sections → one page that needs nothing else."""

from collections.abc import Sequence
from typing import Any

from .above import above
from .calibration import calibration
from .case import ROWS, Case, make_case
from .convergence import convergence
from .densities import shown_rows
from .effects import effects
from .held_out import held_out
from .influence import influences, split
from .provenance import provenance
from .scores import scores
from .sharpness import sharpness
from .verdict import overall
from .words import counted
from .worst import worst

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError:
    raise ModuleNotFoundError("a report needs Jinja2: pip install 'deepnoise[report]'") from None


def report(
    model: Any,
    X: Any,
    y: Any = None,
    rows: int = ROWS,
    show: tuple[int, ...] = (),
    target: str = "y",
    source: str = "the table",
    labels: Sequence[str] = (),
    above: Sequence[float] = (),
) -> str:
    """A self-contained HTML page about a fitted model and how it does on these rows.

    Parameters
    ----------
    model : fitted estimator
        One of densities: a regressor, or ``BDeepNoiseSurvival``, whose page is in units of time.
    X : table (N, P)
        Rows to judge the model on, best such as it was not fitted on.
    y : array (N,), or windows as for ``fit``, optional
        What was observed; without it the page has no scores and no calibration.
    rows : int
        At most so many rows are judged, drawn at random, and the page says so.
    show : tuple of int
        Rows, counted from 1, whose densities are drawn; by default six.
    target : str
        What to call y.
    source : str
        What to call the table.
    labels : list of str, optional
        A name for each row, shown beside its number.
    above : list of float, optional
        Values c of which P(y >= c) is shown; by default one near the upper quartile.

    Returns
    -------
    str
        HTML that loads nothing from elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseRegressor
    >>> from deepnoise.report import report
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> small = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> page = report(small.fit(x, x[:, 0] ** 2), x, x[:, 0] ** 2)
    >>> page[:15]
    '<!DOCTYPE html>'
    """
    return render(make_case(model, X, y, rows, show, target, source, labels, above))


def render(case: Case) -> str:
    observed = case.seen is not None
    useful = scores(case) if observed else None
    promised = calibration(case) if observed else None
    settled = convergence(case) if case.bayesian else None
    content = {
        "case": case,
        "verdict": overall(
            useful.status if useful else None,
            promised.status if promised else None,
            settled.status if settled else None,
            settled.advice if settled else "",
        ),
        "scores": useful,
        "held_out": held_out(case),
        "calibration": promised,
        "convergence": settled,
        "about": provenance(case),
        "sharpness": sharpness(case) if observed else None,
        "worst": worst(case) if observed else None,
        "shown": shown_rows(case),
        "above": above(case),
        "effects": effects(case) if case.bayesian else None,
        "influence": influences(case) if case.bayesian else None,
        "split": split(case) if case.bayesian else None,
    }
    return environment().get_template("report.html.j2").render(content)


def environment() -> Environment:
    """Templates of this package; everything that is not Markup is escaped."""
    made = Environment(
        loader=PackageLoader("deepnoise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": counted, "cells": cells}
    return made


def cells(lines: Sequence[Any], *names: str) -> list[list[Any]]:
    """Some fields of each line, in this order: the rows of a table."""
    return [[getattr(line, name) for name in names] for line in lines]
