"""The folder of the neuroimaging study: page, figures, tables, maps, models."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ... import __version__
from . import brain, figures, tables
from .fit import WITH, WITHOUT
from .page import content, picture, render

if TYPE_CHECKING:
    from .study import NeuroResult

DPI = 150
FOLDERS = {WITH: "with-images", WITHOUT: "without-images"}


def write_study(result: "NeuroResult", out: Path, identifiers: bool) -> None:
    """All files; see ``docs/how_to/neuro.md`` for the list."""
    for name in ("figures", "tables", "maps", "models"):
        (out / name).mkdir(parents=True, exist_ok=True)
    regions, atlas = result.regions, result.table.atlas
    maps = {
        part: brain.painted(regions, atlas, part, floor.most)
        for part, floor in result.floor.items()
        if regions[f"{part}_above_floor"].any()
    }
    shown = {}
    for name, draw in _pictures(result, maps).items():
        figure, file = draw(), out / "figures" / f"{name}.png"
        figure.savefig(file, dpi=DPI)
        figure.savefig(file.with_suffix(".svg"), metadata={"Date": None})
        shown[name] = picture(file)
    pages = {part: brain.interactive(maps[part], f"influence on the {part}") for part in maps}
    for part, text in pages.items():
        (out / "figures" / f"brain-{part}.html").write_text(text, "utf-8")
    for part in result.floor:
        whole = brain.painted(regions, atlas, part)
        whole.to_filename(out / "maps" / f"influence-{part}.nii.gz")
    for name, frame in _tables(result, identifiers).items():
        frame.to_csv(out / "tables" / f"{name}.csv", index=False)
    for fit in result.fits:
        for name, model in fit.models.items():
            model.set_params(progress=None)
            model.save(out / "models" / f"split-{fit.number + 1}" / FOLDERS[name])
    summary = json.dumps(_plain(_summary(result)), indent=1, allow_nan=False)
    (out / "summary.json").write_text(summary, "utf-8")
    said = content(result, _settings(result), _versions())
    page = render(said | {"pictures": shown, "brain": pages.get("mean")})
    (out / "report.html").write_text(page, "utf-8")


def _pictures(result: "NeuroResult", maps: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    level, outcome = result.plan.level, str(result.table.outcome.name)
    jobs: dict[str, Callable[[], Any]] = {
        "violins": lambda: figures.violins(result.first, level, outcome),
        "widths": lambda: figures.width_scatter(result.fits, level),
        "influence": lambda: figures.influence_figure(result.influence, result.floor, outcome),
        "referral": lambda: figures.referral_curve(result.referral, outcome),
    }
    for part, image in maps.items():
        jobs[f"glass-{part}"] = partial(brain.glass_brain, image)
        jobs[f"mosaic-{part}"] = partial(brain.mosaic, image, result.table.atlas)
    truth = result.truth
    if truth is not None:
        jobs["truth"] = lambda: figures.truth_figure(truth)
    return jobs


def _tables(result: "NeuroResult", identifiers: bool) -> dict[str, pd.DataFrame]:
    found = {
        "scores": result.pooled,
        "scores-by-split": result.scores,
        "comparison": result.comparison,
        "widths": pd.DataFrame([result.widths]),
        "predictions": tables.predictions(result.first, result.table, identifiers),
        "influence": result.influence,
        "regions": result.regions,
        "referral": result.referral,
        "floor": pd.DataFrame([{"part": p, **asdict(f)} for p, f in result.floor.items()]),
    }
    if result.truth is not None and result.truth_numbers is not None:
        found["truth"] = result.truth
        found["truth-summary"] = pd.DataFrame([result.truth_numbers])
    if identifiers and result.table.problems:
        left_out = [(problem.subject, problem.reason) for problem in result.table.problems]
        found["left-out"] = pd.DataFrame(left_out, columns=["subject", "reason"])
    return found


def _summary(result: "NeuroResult") -> dict[str, Any]:
    return {
        "subjects": len(result.table),
        "left_out": len(result.table.problems),
        "splits": result.plan.splits,
        "seed": result.plan.seed,
        "groups": None if result.table.groups is None else str(result.table.groups.name),
        "level": result.plan.level,
        "atlas": result.table.atlas.title,
        "settings": _settings(result),
        "convergence": {
            name: model.diagnostics_.verdict for name, model in result.first.models.items()
        },
        "scores": result.pooled.set_index("method").to_dict("index"),
        "comparison": result.comparison.to_dict("records"),
        "widths": result.widths,
        "floor": {part: asdict(found) for part, found in result.floor.items()},
        "truth": result.truth_numbers,
        "versions": _versions(),
    }


def _plain(value: Any) -> Any:
    """For JSON, which has no NaN and no infinity: null."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _settings(result: "NeuroResult") -> dict[str, Any]:
    left_out = ("checkpoint", "progress", "random_state")
    params = result.first.models[WITH].get_params(deep=False)
    return {name: str(value) for name, value in params.items() if name not in left_out}


def _versions() -> dict[str, str]:
    packages = ("jax", "numpy", "scikit-learn", "nilearn", "nibabel")
    return {"deepnoise": __version__, **{name: version(name) for name in packages}}
