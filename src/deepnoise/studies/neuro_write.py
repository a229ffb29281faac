"""The folder of the neuroimaging study: page, figures, tables, maps, models."""

import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .. import __version__
from . import neuro_brain as brain
from . import neuro_figures as figures
from . import neuro_tables as tables
from . import neuro_words as words
from .neuro_fit import WITH, WITHOUT
from .neuro_page import picture, render, rows

if TYPE_CHECKING:
    from .neuro import NeuroResult

DPI = 150
SHOWN = 20
FOLDERS = {WITH: "with-images", WITHOUT: "without-images"}
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


def write_study(result: "NeuroResult", out: Path, identifiers: bool) -> None:
    """All files; see ``docs/neuro.md`` for the list."""
    for name in ("figures", "tables", "maps", "models"):
        (out / name).mkdir(parents=True, exist_ok=True)
    atlas = result.table.atlas
    maps = {part: brain.painted(result.regions, atlas, part) for part in ("mean", "spread")}
    shown = {}
    for name, draw in _pictures(result, maps).items():
        figure, file = draw(), out / "figures" / f"{name}.png"
        figure.savefig(file, dpi=DPI)
        figure.savefig(file.with_suffix(".svg"), metadata={"Date": None})
        shown[name] = picture(file)
    pages = {part: brain.interactive(maps[part], f"influence on the {part}") for part in maps}
    for part, image in maps.items():
        image.to_filename(out / "maps" / f"influence-{part}.nii.gz")
        (out / "figures" / f"brain-{part}.html").write_text(pages[part], "utf-8")
    for name, frame in _tables(result, identifiers).items():
        frame.to_csv(out / "tables" / f"{name}.csv", index=False)
    for fit in result.fits:
        for name, model in fit.models.items():
            model.set_params(progress=None)
            model.save(out / "models" / f"split-{fit.number + 1}" / FOLDERS[name])
    summary = json.dumps(_summary(result), indent=1, allow_nan=False)
    (out / "summary.json").write_text(summary, "utf-8")
    page = render(_content(result) | {"pictures": shown, "brain": pages["mean"]})
    (out / "report.html").write_text(page, "utf-8")


def _pictures(result: "NeuroResult", maps: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    level, outcome = result.plan.level, str(result.table.outcome.name)
    jobs: dict[str, Callable[[], Any]] = {
        "violins": lambda: figures.violins(result.first, level, outcome),
        "widths": lambda: figures.width_scatter(result.fits, level),
        "influence": lambda: figures.influence_figure(result.influence, outcome),
        "referral": lambda: figures.referral_curve(result.referral, outcome),
    }
    for part, image in maps.items():
        jobs[f"glass-{part}"] = partial(brain.glass_brain, image)
        jobs[f"mosaic-{part}"] = partial(brain.mosaic, image)
    truth = result.truth
    if truth is not None:
        jobs["truth"] = lambda: figures.truth_figure(truth)
    return jobs


def _tables(result: "NeuroResult", identifiers: bool) -> dict[str, pd.DataFrame]:
    found = {
        "scores": result.scores,
        "comparison": result.comparison,
        "widths": pd.DataFrame([result.widths]),
        "predictions": tables.predictions(result.first, result.table, identifiers),
        "influence": result.influence,
        "regions": result.regions,
        "referral": result.referral,
    }
    if result.truth is not None and result.truth_numbers is not None:
        found["truth"] = result.truth
        found["truth-summary"] = pd.DataFrame([result.truth_numbers])
    if identifiers and result.table.problems:
        left_out = [(problem.subject, problem.reason) for problem in result.table.problems]
        found["left-out"] = pd.DataFrame(left_out, columns=["subject", "reason"])
    return found


def _summary(result: "NeuroResult") -> dict[str, Any]:
    mean_scores = tables.over_splits(result.scores).set_index("method")
    return {
        "subjects": len(result.table),
        "left_out": len(result.table.problems),
        "splits": result.plan.splits,
        "seed": result.plan.seed,
        "atlas": result.table.atlas.title,
        "settings": _settings(result),
        "convergence": {
            name: model.diagnostics_.verdict for name, model in result.first.models.items()
        },
        "scores": json.loads(mean_scores.to_json(orient="index")),
        "widths": result.widths,
        "truth": result.truth_numbers,
        "versions": _versions(),
    }


def _settings(result: "NeuroResult") -> dict[str, Any]:
    left_out = ("checkpoint", "progress", "random_state")
    params = result.first.models[WITH].get_params(deep=False)
    return {name: str(value) for name, value in params.items() if name not in left_out}


def _versions() -> dict[str, str]:
    packages = ("jax", "numpy", "scikit-learn", "nilearn", "nibabel")
    return {"deepnoise": __version__, **{name: version(name) for name in packages}}


def _content(result: "NeuroResult") -> dict[str, Any]:
    """What the page says."""
    table, plan = result.table, result.plan
    means = tables.over_splits(result.scores)
    diagnostics = result.first.models[WITH].diagnostics_
    return {
        "title": f"What predicts {table.outcome.name}, and how surely",
        "simulated": result.truth is not None,
        "findings": words.findings(result, means),
        "warning": words.caution(diagnostics),
        "subjects": len(table),
        "held_out": len(result.first.test),
        "splits": plan.splits,
        "regions": table.imaging.shape[1],
        "atlas": table.atlas.title,
        "covariates": list(table.covariates.columns),
        "outcome": str(table.outcome.name),
        "left_out": len(table.problems),
        "percent_level": words.percent(plan.level),
        "widening": words.widening(result.widths, plan.level),
        "scores": rows(means.rename(columns=_score_name)),
        "top_regions": rows(_top_regions(result.regions, plan.splits)),
        "truth": _truth(result),
        "verdict": diagnostics.verdict,
        "settings": ", ".join(f"{name} {value}" for name, value in _settings(result).items()),
        "versions": ", ".join(f"{name} {value}" for name, value in _versions().items()),
    }


def _score_name(name: str) -> str:
    """Such as "coverage" for "coverage_90"; abbreviations in capitals."""
    short = name.split("_")[0] + (" (sd)" if name.endswith(" (sd)") else "")
    return {"r2": "R²", "method": "method"}.get(short, short.upper() if len(short) < 5 else short)


def _top_regions(regions: pd.DataFrame, splits: int) -> pd.DataFrame:
    """Under headings that need no explanation."""
    top = regions.head(SHOWN)
    ends = [f"{low:.2f} to {high:.2f}" for low, high in zip(top["mean_lower"], top["mean_upper"])]
    places = [f"{x:.0f}, {y:.0f}, {z:.0f}" for x, y, z in zip(top["x"], top["y"], top["z"])]
    columns = {
        "region": top["region"],
        "on the mean": top["mean"],
        "95 % interval": ends,
        "on the spread": top["spread"],
        "centre (MNI, mm)": places,
    }
    if splits > 1:
        columns["in the top ten of splits"] = [words.percent(share) for share in top["top_share"]]
    return pd.DataFrame(columns)


def _truth(result: "NeuroResult") -> dict[str, Any] | None:
    found = result.truth_numbers
    if found is None:
        return None
    pairs = [(text, found[name]) for name, text in TRUTH_NAMES.items() if name in found]
    return {
        "words": words.recovery(found),
        "table": rows(pd.DataFrame(pairs, columns=["measure", "value"])),
    }
