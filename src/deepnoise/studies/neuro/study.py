"""The neuroimaging study: from a table of features to a folder of results.

Paper: sec:abcd, fig:violin-withimg, fig:violin-noimg, fig:brain.  The folder holds page, figures,
tables, maps and models.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from ... import __version__
from ...datasets.neuro.cohort import Truth
from ...datasets.neuro.features import NeuroTable
from . import figures, scores, tables
from .fit import WITH, WITHOUT, Floor, NeuroPlan, SplitFit, fit_splits, influence_floor
from .page import content, picture, render

DPI = 150
FOLDERS = {WITH: "with-images", WITHOUT: "without-images"}


@dataclass(frozen=True, eq=False)
class NeuroResult:
    """All that the study found; ``truth`` and ``truth_numbers`` only of a simulated cohort.

    ``scores`` are by split, ``pooled`` of all splits together with standard errors, ``comparison``
    paired differences of loss from ours, ``floor`` the influence that chance allows a region.
    """

    table: NeuroTable
    plan: NeuroPlan
    fits: list[SplitFit]
    scores: pd.DataFrame
    pooled: pd.DataFrame
    comparison: pd.DataFrame
    widths: dict[str, float]
    influence: pd.DataFrame
    floor: dict[str, Floor]
    regions: pd.DataFrame
    referral: pd.DataFrame
    truth: pd.DataFrame | None
    truth_numbers: dict[str, float] | None

    @property
    def first(self) -> SplitFit:
        """The split of which pictures are drawn."""
        return self.fits[0]


def run_study(
    table: NeuroTable,
    out: str | Path,
    plan: NeuroPlan = NeuroPlan(),  # noqa: B008
    *,
    truth: Truth | None = None,
    identifiers: bool = False,
    say: Callable[[str], None] = lambda _: None,
    progress: Any = False,
) -> NeuroResult:
    """Fit, analyse, and write a folder with a page, figures, tables, maps and models.

    Parameters
    ----------
    table : NeuroTable
        From ``deepnoise.datasets.neuro.load_neuro``.
    out : path
    plan : NeuroPlan
    truth : Truth, optional
        Of a simulated cohort.
    identifiers : bool
        Write subjects' identifiers beside predictions; otherwise they are nowhere in the folder.
    say : function (str), optional
        Told what is being done.
    progress : bool, or function (model) -> function
        Progress of the chains, as of ``BDeepNoiseRegressor``.
    """
    result = analyse(table, plan, truth=truth, say=say, progress=progress)
    say("drawing and writing")
    write_study(result, Path(out), identifiers)
    return result


def analyse(
    table: NeuroTable,
    plan: NeuroPlan,
    *,
    truth: Truth | None = None,
    say: Callable[[str], None] = lambda _: None,
    progress: Any = False,
) -> NeuroResult:
    """All fits and all numbers; nothing is written."""
    fits = list(fit_splits(table, plan, say, progress))
    regions = tuple(table.imaging.columns)
    influence = tables.influence_table(fits, regions)
    floor = influence_floor(table, plan, fits[0], say, progress)
    certain = tuple(name for name in fits[0].densities if name in (WITH, WITHOUT, "deep ensemble"))
    known = None if truth is None else scores.truth_table(fits[0], table, truth)
    return NeuroResult(
        table,
        plan,
        fits,
        scores.split_scores(fits, plan.level),
        scores.pooled_scores(fits, plan.level),
        scores.comparison(fits),
        scores.width_comparison(fits, plan.level),
        influence,
        floor,
        tables.region_table(influence, table.atlas, floor),
        tables.referral(fits, certain),
        known,
        None if truth is None else scores.truth_summary(fits[0], table, truth),
    )


def write_study(result: NeuroResult, out: Path, identifiers: bool) -> None:
    """All files; see ``docs/how_to/neuro.md`` for the list."""
    for name in ("figures", "tables", "maps", "models"):
        (out / name).mkdir(parents=True, exist_ok=True)
    regions, atlas = result.regions, result.table.atlas
    maps = {
        part: figures.painted(regions, atlas, part, floor.most)
        for part, floor in result.floor.items()
        if regions[f"{part}_above_floor"].any()
    }
    shown = {}
    for name, draw in _pictures(result, maps).items():
        figure, file = draw(), out / "figures" / f"{name}.png"
        figure.savefig(file, dpi=DPI)
        figure.savefig(file.with_suffix(".svg"), metadata={"Date": None})
        shown[name] = picture(file)
    pages = {part: figures.interactive(maps[part], f"influence on the {part}") for part in maps}
    for part, text in pages.items():
        (out / "figures" / f"brain-{part}.html").write_text(text, "utf-8")
    for part in result.floor:
        whole = figures.painted(regions, atlas, part)
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


def _pictures(result: NeuroResult, maps: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    level, outcome = result.plan.level, str(result.table.outcome.name)
    jobs: dict[str, Callable[[], Any]] = {
        "violins": lambda: figures.violins(result.first, level, outcome),
        "widths": lambda: figures.width_scatter(result.fits, level),
        "influence": lambda: figures.influence_figure(result.influence, result.floor, outcome),
        "referral": lambda: figures.referral_curve(result.referral, outcome),
    }
    for part, image in maps.items():
        jobs[f"glass-{part}"] = partial(figures.glass_brain, image)
        jobs[f"mosaic-{part}"] = partial(figures.mosaic, image, result.table.atlas)
    truth = result.truth
    if truth is not None:
        jobs["truth"] = lambda: figures.truth_figure(truth)
    return jobs


def _tables(result: NeuroResult, identifiers: bool) -> dict[str, pd.DataFrame]:
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


def _summary(result: NeuroResult) -> dict[str, Any]:
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


def _settings(result: NeuroResult) -> dict[str, Any]:
    left_out = ("checkpoint", "progress", "random_state")
    params = result.first.models[WITH].get_params(deep=False)
    return {name: str(value) for name, value in params.items() if name not in left_out}


def _versions() -> dict[str, str]:
    packages = ("jax", "numpy", "scikit-learn", "nilearn", "nibabel")
    return {"deepnoise": __version__, **{name: version(name) for name in packages}}
