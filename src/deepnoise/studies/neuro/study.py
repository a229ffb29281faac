"""The neuroimaging study: from a table of features to a folder of results.

Paper: sec:abcd, fig:violin-withimg, fig:violin-noimg, fig:brain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...datasets.neuro.cohort import Truth
from ...datasets.neuro.features import NeuroTable
from . import scores, tables
from .fit import WITH, WITHOUT, NeuroPlan, SplitFit, fit_splits
from .floor import Floor, influence_floor
from .truth import truth_summary, truth_table
from .write import write_study

__all__ = ["NeuroPlan", "NeuroResult", "analyse", "run_study"]


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
    known = None if truth is None else truth_table(fits[0], table, truth)
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
        None if truth is None else truth_summary(fits[0], table, truth),
    )
