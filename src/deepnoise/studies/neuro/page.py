"""One self-contained page of the study, for a clinician; it looks like the report."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from . import findings
from .findings import between, percent, rounded, with_error
from .fit import WITH

if TYPE_CHECKING:
    from .study import NeuroResult

DECIMALS = 3
SHOWN = 20
TRUTH_NAMES = {
    "rank_correlation": "rank correlation of influence on the mean",
    "rank_correlation_best_possible": "the most it could be (most regions tie at 0)",
    "rank_correlation_ridge": "rank correlation of ridge weights",
    "precision_at_10": "share of the strongest ten regions that are true",
    "precision_at_10_ridge": "share of the ten largest ridge weights that are true",
    "rank_correlation_spread": "rank correlation of influence on the spread",
    "rank_correlation_spread_best_possible": "the most it could be",
    "precision_spread": "share of the strongest regions on the spread that are true",
    "correlation_of_sd": "rank correlation of predicted and true spread of test subjects",
    "quantile_error": "mean error of predicted quantiles (5, 25, 50, 75, 95 %)",
    "rmse_of_truth": "RMSE of the true mean, which no method can beat in the long run",
}


def render(content: Mapping[str, Any]) -> str:
    """The page, in the report's style; every value is escaped but the pictures' addresses."""
    try:
        from jinja2 import ChoiceLoader, PackageLoader
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the page needs Jinja2: pip install 'deepnoise[report]'"
        ) from None
    from ...report.page import environment

    shared = environment()
    shared.loader = ChoiceLoader(
        [PackageLoader("deepnoise.studies"), PackageLoader("deepnoise.report")]
    )
    return shared.get_template("neuro.html").render(content)


def picture(path: Path) -> str:
    """A PNG file as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def content(
    result: "NeuroResult", settings: Mapping[str, str], versions: Mapping[str, str]
) -> dict[str, Any]:
    """What the page says; pictures are added to it."""
    table, plan = result.table, result.plan
    return {
        "title": f"What predicts {table.outcome.name}, and how surely",
        "simulated": result.truth is not None,
        "answers": findings.answers(result),
        "findings": findings.findings(result),
        "cautions": findings.few_units(result),
        "subjects": len(table),
        "held_out": len(result.first.test),
        "splits": plan.splits,
        "groups": None if table.groups is None else str(table.groups.name),
        "regions": table.imaging.shape[1],
        "atlas": table.atlas.title,
        "covariates": list(table.covariates.columns),
        "outcome": str(table.outcome.name),
        "left_out": len(table.problems),
        "level": percent(plan.level),
        "widening": findings.widening(result.widths, result.pooled, plan.level),
        "scores": rows(score_rows(result.pooled)),
        "comparison": rows(comparison_rows(result.comparison)),
        "floor": {part: rounded(found.most) for part, found in result.floor.items()},
        "painted": {p: int(result.regions[f"{p}_above_floor"].sum()) for p in result.floor},
        "top_regions": rows(_top_regions(result.regions, plan.splits)),
        "truth": _truth(result),
        "verdict": result.first.models[WITH].diagnostics_.verdict,
        "settings": settings,
        "versions": versions,
    }


def rows(frame: pd.DataFrame) -> dict[str, Any]:
    """Head and body of an HTML table; numbers are rounded."""
    body = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return {"head": list(frame.columns), "body": body}


def _cell(value: Any) -> str:
    return f"{value:.{DECIMALS}g}" if isinstance(value, float) else str(value)


def score_rows(pooled: pd.DataFrame) -> pd.DataFrame:
    """Scores of every method with standard errors; coverage beside what chance allows."""
    names = {"rmse": "RMSE", "r2": "R²", "nll": "NLL", "crps": "CRPS", "width": "width"}
    columns = {"method": list(pooled["method"])}
    for name, label in names.items():
        columns[label] = [with_error(*pair) for pair in zip(pooled[name], pooled[f"{name}_se"])]
    columns["coverage"] = [percent(share) for share in pooled["coverage"]]
    allowed = zip(pooled["chance_low"], pooled["chance_high"])
    columns["chance allows"] = [f"{percent(low)} to {percent(high)}" for low, high in allowed]
    return pd.DataFrame(columns)


def comparison_rows(comparison: pd.DataFrame) -> pd.DataFrame:
    """Paired differences with their intervals, a row a method."""
    text = [
        f"{rounded(row.value)} ({between(row.lower, row.upper)})" for row in comparison.itertuples()
    ]
    wide = comparison.assign(text=text).pivot(index="method", columns="score", values="text")
    wide = wide.loc[comparison["method"].unique(), comparison["score"].unique()]
    return wide.rename_axis(columns=None).reset_index()


def _top_regions(regions: pd.DataFrame, splits: int) -> pd.DataFrame:
    """Under headings that need no explanation."""
    top = regions.head(SHOWN)
    columns = {
        "region": top["region"],
        "on the mean": top["mean"],
        "95 % interval": [between(*ends) for ends in zip(top["mean_lower"], top["mean_upper"])],
        "above the floor": ["yes" if above else "no" for above in top["mean_above_floor"]],
        "on the spread": top["spread"],
        "above its floor": ["yes" if above else "no" for above in top["spread_above_floor"]],
        "centre (MNI, mm)": [
            f"{x:.0f}, {y:.0f}, {z:.0f}" for x, y, z in zip(top["x"], top["y"], top["z"])
        ],
    }
    if splits > 1:
        columns["in the top ten of splits"] = [percent(share) for share in top["top_share"]]
    return pd.DataFrame(columns)


def _truth(result: "NeuroResult") -> dict[str, Any] | None:
    found = result.truth_numbers
    if found is None:
        return None
    pairs = [(text, found[name]) for name, text in TRUTH_NAMES.items() if name in found]
    return {
        "words": findings.recovery(found),
        "table": rows(pd.DataFrame(pairs, columns=["measure", "value"])),
    }
