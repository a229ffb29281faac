"""What a report is about: a fitted model, how it was made, and the rows on which it is judged."""

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .. import __version__
from ..estimators.encode import NEW
from ..estimators.outcomes import Window, as_window, exact_rows, representative, taken
from ..estimators.table import take, whole_rows
from ..prediction.density.supported import Density, SupportedDensity
from .words import counted, number

# A page is read by people: more rows would cost minutes and change no sentence.
ROWS = 500
# Gradients and variance parts cost far more a row than densities.
DETAIL_ROWS = 50
SHOWN = 6
SEED = 0
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "blackjax", "optax", "pandas")
NOT_SETTINGS = ("checkpoint", "progress")


@dataclass(frozen=True, eq=False)
class Case:
    """``X``, ``seen`` and ``density`` are of the rows that are judged, numbered in ``rows``.

    ``rows`` count from 1, as in the file; there are ``total``.  ``seen`` are outcomes as the model
    sees them, (N, 1) or windows of them; None if they are not known.  ``shown`` are places, in
    these arrays, of the rows whose densities are drawn.  ``labels`` name rows, where there are any.
    ``thresholds`` are those c of which P(y >= c) is wanted.  ``log`` tells that the model speaks of
    log time and the page of time.
    """

    model: Any
    X: Any
    seen: np.ndarray | Window | None
    density: Density
    rows: np.ndarray
    total: int
    shown: np.ndarray
    target: str
    source: str
    labels: tuple[str, ...]
    thresholds: tuple[float, ...]
    log: bool

    @property
    def sampled(self) -> bool:
        return len(self.rows) < self.total

    @property
    def outcomes(self) -> np.ndarray | Window:
        """What was observed, where that is known."""
        if self.seen is None:
            raise ValueError("y is not known")
        return self.seen

    @property
    def exact(self) -> np.ndarray:
        """Places of the rows whose outcome was seen exactly."""
        return np.flatnonzero(exact_rows(self.outcomes))

    @property
    def values(self) -> np.ndarray:
        """Outcomes of the rows that were seen exactly, as the model sees them."""
        return representative(self.outcomes)[self.exact, 0]

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of every outcome, (N,) each, as the model sees them; equal where seen."""
        seen = self.outcomes
        pair = (seen.lower, seen.upper) if isinstance(seen, Window) else (seen, seen)
        return pair[0][:, 0], pair[1][:, 0]

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The same in the user's units."""
        lower, upper = self.bounds
        return self.out(lower), self.out(upper)

    @property
    def windowed(self) -> int:
        """How many rows were not seen exactly."""
        return 0 if self.seen is None else len(self.rows) - len(self.exact)

    @property
    def bayesian(self) -> bool:
        """Whether the model has draws of which more can be said."""
        return hasattr(self.model, "posterior_")

    @property
    def unit(self) -> str:
        """The scale on which the model speaks, in words."""
        if isinstance(self.density, SupportedDensity):
            return f"the network's scale of {self.target}"
        return f"log {self.target}" if self.log else self.target

    def out(self, values: Any) -> np.ndarray:
        """Values of the model's scale in the user's units."""
        return np.exp(values) if self.log else np.asarray(values, float)

    def pdf_grid(self, density: Density, grid: np.ndarray) -> np.ndarray:
        """Densities in the user's units, on a grid of them."""
        return density.pdf_grid(np.log(grid)) / grid if self.log else density.pdf_grid(grid)

    def called(self, place: int) -> str:
        """The name of a row, such as "row 12 (id a7)"."""
        name = f"row {self.rows[place]}"
        return f"{name} ({self.labels[place]})" if self.labels else name

    def observation(self, place: int) -> str:
        """An outcome in words: a number, or between what it lies."""
        lower, upper = (float(end[place]) for end in self.bounds)
        low, high = (number(float(self.out(end))) for end in (lower, upper))
        if lower == upper:
            return low
        if np.isinf(lower):
            return "unknown" if np.isinf(upper) else f"below {high}"
        return f"above {low}" if np.isinf(upper) else f"{low} to {high}"

    def details(self) -> np.ndarray:
        """Places of rows without gaps for what is expensive, evenly spaced."""
        whole = whole_rows(self.model, self.X)
        places = np.linspace(0, len(whole) - 1, min(len(whole), DETAIL_ROWS)).round().astype(int)
        return whole[places]


def make_case(
    model: Any,
    X: Any,
    y: Any = None,
    rows: int = ROWS,
    show: tuple[int, ...] = (),
    target: str = "y",
    source: str = "the table",
    labels: Sequence[str] = (),
    above: Sequence[float] = (),
) -> Case:
    """Rows are drawn at random, always the same, if there are more than ``rows``.

    ``show`` are numbers, from 1, of rows to be drawn; by default six, spread over the predictions.
    """
    if not hasattr(model, "predict_density"):
        raise ValueError(
            f"a report is about densities of numbers; {type(model).__name__} predicts classes: "
            "see its predict_proba, probability_bands and uncertainty"
        )
    total = len(X)
    outside = [n for n in show if not 1 <= n <= total]
    if outside:
        raise ValueError(f"show must be rows from 1 to {total}; got {outside[0]}")
    if labels and len(labels) != total:
        raise ValueError(f"labels must have one text for each of {total} rows; got {len(labels)}")
    log = hasattr(model, "predict_survival")
    if log and not all(c > 0 for c in above):
        raise ValueError("above must be positive times")
    chosen = judged_rows(total, rows, show)
    few = take(X, chosen)
    seen = None if y is None else taken(observed(model, y, total), chosen)
    lazy = model.predict_density(few)
    if lazy.n_outcomes > 1:
        raise ValueError(f"a report is of one outcome; the model has {lazy.n_outcomes}")
    # Every section reads the components: they are computed once.
    density = lazy.stored()
    shown = np.searchsorted(chosen, np.array(show, int) - 1) if show else spread(density)
    names = tuple(str(labels[n]) for n in chosen) if labels else ()
    about = (target, source, names, tuple(map(float, above)), log)
    return Case(model, few, seen, density, chosen + 1, total, shown, *about)


def judged_rows(total: int, most: int, show: tuple[int, ...]) -> np.ndarray:
    """Places of the rows that are judged, in order: all, or a sample and those to be shown."""
    if total <= most:
        return np.arange(total)
    drawn = np.random.default_rng(SEED).choice(total, most, replace=False)
    return np.union1d(drawn, np.array(show, int) - 1)


def observed(model: Any, y: Any, total: int) -> np.ndarray | Window:
    """Outcomes as the model sees them: (N, 1), or windows."""
    if hasattr(model, "predict_survival") or as_window(y) is not None:
        seen = model.check_outcomes(y)
        if len(representative(seen)) != total:
            raise ValueError(f"y must have one outcome for each of {total} rows")
        return seen
    values = np.asarray(y, dtype=float)
    if values.size != total:
        raise ValueError(f"y must have one value for each of {total} rows; got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("y must be finite")
    return values.reshape(total, 1)


def spread(density: Density) -> np.ndarray:
    """A few rows, evenly spaced in the order of their medians."""
    order = np.argsort(density.quantile(0.5), kind="stable")
    return order[np.linspace(0, len(order) - 1, min(len(order), SHOWN)).round().astype(int)]


@dataclass(frozen=True)
class ColumnInfo:
    name: str
    kind: str
    typical: str


@dataclass(frozen=True)
class Provenance:
    facts: tuple[tuple[str, str], ...]
    columns: tuple[ColumnInfo, ...]
    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    made: str


def provenance(case: Case) -> Provenance:
    return Provenance(
        facts(case),
        columns(case.model),
        settings(case.model),
        versions(),
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )


def facts(case: Case) -> tuple[tuple[str, str], ...]:
    model = case.model
    judged = f"{counted(case.total, 'row')} of {case.source}"
    if case.sampled:
        judged = f"{counted(len(case.rows), 'row')} drawn at random of {judged}"
    lines = [("Method", type(model).__name__), ("Outcome", case.target)]
    if hasattr(model, "rows_"):
        lines.append(("Fitted on", counted(len(model.rows_), "row")))
    lines += [("Columns", str(len(model.encoder_.columns))), ("Judged on", judged)]
    if moments := training_moments(model):
        mean, sd = map(number, moments)
        lines.append((f"{case.unit} when fitting", f"mean {mean}, sd {sd}"))
    if case.windowed:
        lines.append(("Not seen exactly", f"{counted(case.windowed, 'row')}: censored or rounded"))
    if case.bayesian:
        plan, drawn = model.posterior_.plan, model.posterior_.run.n_draws
        width = " → ".join(map(str, plan.hidden)) or "no hidden layer"
        lines.append(("Network", f"{width}, {counted(len(plan.hidden), 'hidden layer')}"))
        lines.append(
            ("Posterior", f"{counted(plan.chains, 'chain')} of {counted(drawn, 'draw')} each")
        )
    return tuple(lines)


def columns(model: Any) -> tuple[ColumnInfo, ...]:
    """Every column of the training table, with its typical values."""
    found, j = [], 0
    for column in model.encoder_.columns:
        mean, scale = model.units_.x.mean[j], model.units_.x.scale[j]
        if column.levels is None:
            found.append(ColumnInfo(column.name, "number", f"{number(mean)} ± {number(scale)}"))
        else:
            levels = [name for name in column.levels if not (column.site and name == NEW)]
            shown = ", ".join(levels[:6]) + (", …" if len(levels) > 6 else "")
            kind = "sites" if column.site else "categories"
            found.append(ColumnInfo(column.name, f"{len(levels)} {kind}", shown))
        j += len(column.encoded_names)
    return tuple(found)


def settings(model: Any) -> tuple[tuple[str, str], ...]:
    params = model.get_params(deep=False)
    given = {name: str(value) for name, value in params.items() if name not in NOT_SETTINGS}
    return (*sorted(given.items()), ("seed", str(model.seed_)))


def versions() -> tuple[tuple[str, str], ...]:
    found = [("deepnoise", __version__), ("Python", sys.version.split()[0])]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return (*found, ("system", f"{platform.system()} {platform.machine()}"))


def training_moments(model: Any) -> tuple[float, float] | None:
    """Mean and standard deviation of y in the training rows, if the model knows them."""
    if model.standardize:
        return float(model.units_.y.mean[0]), float(model.units_.y.scale[0])
    if not hasattr(model, "rows_"):
        return None
    return float(np.mean(model.rows_.y)), float(np.std(model.rows_.y))
