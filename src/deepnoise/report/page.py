"""Sections → one page that needs nothing else; above them one sentence for all, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .calibration import above, calibration
from .case import ROWS, Case, make_case, provenance
from .convergence import convergence
from .influence import effects, influences, split
from .rows import shown_rows, worst
from .scores import held_out, scores, sharpness
from .words import counted

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError:
    raise ModuleNotFoundError("a report needs Jinja2: pip install 'deepnoise[report]'") from None

PROMISES = {
    "narrow": "Useful, but surer than it should be",
    "biased": "Useful, but its densities lean to one side",
    "wide": "Useful, and more careful than it needs to be",
}
RECALIBRATE = (
    "Widen or shift your decisions accordingly, or stretch the densities with model.recalibrate(X, "
    "y) on rows that are neither these nor those of the fit; then make this page again on new rows."
)


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


@dataclass(frozen=True)
class Overall:
    kind: str
    headline: str
    next_step: str


def overall(
    useful: str | None, calibration: str | None, settled: str | None, advice: str
) -> Overall:
    """The first thing that stands in the way, of three statuses; None where one is not asked."""
    if settled == "broken":
        return Overall("bad", "Do not use this model", advice)
    if useful is None:
        return Overall(
            "warn",
            "How good it is cannot be said",
            "Make this page again with a table that has observed outcomes.",
        )
    if useful != "useful":
        return USELESS[useful]
    if calibration in PROMISES:
        kind = "warn" if calibration == "wide" else "bad"
        return Overall(kind, PROMISES[calibration], RECALIBRATE)
    if settled in ("moving", "apart", "short", "unknown"):
        return Overall("warn", "Useful, but its chains have not settled", advice)
    if calibration == "unknown":
        return Overall(
            "warn",
            "Useful; too few rows to judge its intervals",
            "Make this page again on 20 rows or more before you rely on intervals.",
        )
    return Overall(
        "good",
        "Use it",
        "Predict new rows with deepnoise predict, and make this page again when new outcomes are "
        "known.",
    )


USELESS = {
    "unknown": Overall(
        "warn",
        "Too few rows to judge it",
        "Make this page again on more rows; some dozens give a first answer.",
    ),
    "worse": Overall(
        "bad",
        "Do not use it: ignoring all columns does better",
        "See whether these rows are of the same kind as those of the fit, and look at the rows "
        "predicted worst; then fit fewer columns or, if it has more than ten units, a smaller "
        "network (--hidden 10).",
    ),
    "same": Overall(
        "bad",
        "Not shown to be useful",
        "Judge it on more rows if you have them. If the answer stays, these columns do not tell "
        "the outcome: look for better ones.",
    ),
    "line": Overall(
        "warn",
        "Useful, but a straight line does as well",
        "Use a linear regression, unless you need what only this model gives: densities that "
        "change their shape, and bands on them. More training rows may tell the two apart.",
    ),
    "beaten": Overall(
        "bad",
        "A straight line does better",
        "Use a linear regression, or fit without hidden layers (--hidden none).",
    ),
}
