"""What was fitted on what, with which settings and versions: enough to do it again."""

import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import __version__
from ..estimators.encode import NEW
from .case import Case
from .scores import training_moments
from .words import counted, number

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "blackjax", "optax", "pandas")
NOT_SETTINGS = ("checkpoint", "progress")


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
