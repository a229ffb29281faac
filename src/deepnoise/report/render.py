"""Sections → one page that needs nothing else."""

from typing import Any

from numpy.typing import ArrayLike

from .calibration import calibration
from .case import ROWS, Case, make_case
from .convergence import convergence
from .densities import shown_rows
from .influence import influences, split
from .provenance import provenance
from .scores import scores
from .sharpness import sharpness
from .words import counted
from .worst import worst

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError:
    raise ModuleNotFoundError("a report needs Jinja2: pip install 'deepnoise[report]'") from None


def report(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    rows: int = ROWS,
    show: tuple[int, ...] = (),
    target: str = "y",
    source: str = "the table",
) -> str:
    """A self-contained HTML page about a fitted model and how it does on these rows.

    Parameters
    ----------
    model : fitted estimator
    X : table (N, P)
        Rows to judge the model on, best such as it was not fitted on.
    y : array (N,), optional
        What was observed; without it the page has no scores and no calibration.
    rows : int
        At most so many rows are judged, drawn at random, and the page says so.
    show : tuple of int
        Rows, counted from 1, whose densities are drawn; by default six.
    target, source : str
        What to call y and the table.

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
    return render(make_case(model, X, y, rows, show, target, source))


def render(case: Case) -> str:
    observed = case.y is not None
    content = {
        "case": case,
        "about": provenance(case),
        "scores": scores(case) if observed else None,
        "calibration": calibration(case) if observed else None,
        "sharpness": sharpness(case) if observed else None,
        "worst": worst(case) if observed else None,
        "shown": shown_rows(case),
        "influence": influences(case) if case.bayesian else None,
        "split": split(case) if case.bayesian else None,
        "convergence": convergence(case) if case.bayesian else None,
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
    made.filters["counted"] = counted
    return made
