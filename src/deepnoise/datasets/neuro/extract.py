"""Region means of many subjects: in parallel, remembered, with what went wrong by name."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from .atlas import Atlas, Grid
from .images import (
    NAN_VOXELS,
    STANDARDIZE,
    BadImageError,
    Extraction,
    UnreadableImageError,
    common_grid,
    grid_of,
    open_image,
    voxels_of,
)

Progress = Callable[[int, int], None]
CACHE_FORMAT = "1"


@dataclass(frozen=True)
class Problem:
    """A subject that was left out, and why."""

    subject: str
    reason: str


@dataclass(frozen=True, eq=False)
class Extracted:
    """``means`` (subjects, regions), named by both; ``atlas`` on the grid of the images."""

    means: pd.DataFrame
    atlas: Atlas
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class ImageOptions:
    """What is done to images.

    resample : put every image onto the 3 mm MNI grid; otherwise all must share one grid.
    standardize : "none", "subject" (each map has mean 0, sd 1 over the brain), "voxel" (each voxel
        has, across subjects) or "both", in this order.
    nan_voxels : "refuse" an image with NaN inside a region, or "skip" those voxels.
    skip_bad : leave out every image that cannot be used, not only damaged files.
    mask : image whose non-zero voxels count; it must lie on the grid of the images.
    cache : folder of region means, one file an image and setting, named by their content's hash.
    jobs : subjects read at a time; all cores by default.
    """

    resample: bool = False
    standardize: str = "none"
    nan_voxels: str = "refuse"
    skip_bad: bool = False
    mask: Path | None = None
    cache: Path | None = None
    jobs: int = -1

    def __post_init__(self) -> None:
        for name, allowed in (("standardize", STANDARDIZE), ("nan_voxels", NAN_VOXELS)):
            if getattr(self, name) not in allowed:
                choices = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} must be one of {choices}; got {getattr(self, name)!r}")
        if self.jobs == 0:
            raise ValueError(
                "jobs must be a number of subjects read at a time, or -1 for all cores"
            )


def extract(
    images: Mapping[str, Path],
    atlas: Atlas,
    options: ImageOptions = ImageOptions(),  # noqa: B008
    progress: Progress | None = None,
) -> Extracted:
    """Region means of every subject's image.

    A damaged file is left out and listed in ``problems``.  Any other image that cannot be used is
    an error that names its subject, unless ``options.skip_bad``.
    """
    if not images:
        raise ValueError("images: there is no subject")
    run = _Pass(options, progress, len(images))
    headers = dict(run.each(images, lambda path: grid_of(open_image(path)), counted=False))
    run.refuse_if_none_left(headers)
    grid = common_grid(list(headers.values()), options.resample)
    if options.resample is False:
        headers = run.only_on(grid, headers)
    plan = Extraction(
        atlas.on(grid, _mask(options.mask, grid)),
        options.resample,
        options.standardize in ("subject", "both"),
        options.nan_voxels,
    )
    good = {subject: images[subject] for subject in headers}
    if options.standardize in ("voxel", "both"):
        plan = run.with_voxel_moments(plan, good)
    means = dict(run.each(good, partial(_remembered, plan, options.cache)))
    run.refuse_if_none_left(means)
    frame = pd.DataFrame.from_dict(means, orient="index", columns=list(plan.atlas.names))
    return Extracted(frame, plan.atlas, tuple(run.problems))


class _Pass:
    """Passes over subjects that collect problems instead of stopping at the first."""

    def __init__(self, options: ImageOptions, progress: Progress | None, total: int) -> None:
        self.options, self.progress = options, progress
        self.problems: list[Problem] = []
        passes = 2 if options.standardize in ("voxel", "both") else 1
        self.done, self.total = 0, passes * total

    def each(
        self, images: Mapping[str, Path], work: Callable[[Path], Any], counted: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """What ``work`` makes of every image that can be used, in the order of the subjects."""
        # Threads: unzipping and averaging leave Python's lock, and nothing is copied.
        workers = Parallel(self.options.jobs, prefer="threads", return_as="generator")
        results = workers(delayed(_caught)(work, path) for path in images.values())
        refused = []
        for subject, result in zip(images, results):
            if counted:
                self.done += 1
                if self.progress is not None:
                    self.progress(self.done, self.total)
            if not isinstance(result, BadImageError):
                yield subject, result
            elif self.options.skip_bad or isinstance(result, UnreadableImageError):
                self.problems.append(Problem(subject, f"image {result}"))
            else:
                refused.append(Problem(subject, f"image {result}"))
        refuse(refused)

    def only_on(self, grid: Grid, found: dict[str, Grid]) -> dict[str, Grid]:
        odd = [
            Problem(
                subject, f"image has {other} where most have {grid}; resampling makes them equal"
            )
            for subject, other in found.items()
            if not other.same(grid)
        ]
        if not self.options.skip_bad:
            refuse(odd)
        self.problems += odd
        left_out = {problem.subject for problem in odd}
        return {subject: other for subject, other in found.items() if subject not in left_out}

    def with_voxel_moments(self, plan: Extraction, images: Mapping[str, Path]) -> Extraction:
        """The plan with the mean and sd of every voxel across subjects."""
        count, total, squares = (np.zeros(len(plan.inside)) for _ in range(3))
        for _, values in self.each(images, plan.values):
            known = np.isfinite(values)
            kept = np.where(known, values, 0)
            count += known
            total += kept
            squares += kept**2
        mean = total / np.maximum(count, 1)
        spread = np.sqrt(np.maximum(squares / np.maximum(count, 1) - mean**2, 0))
        return replace(plan, voxel_mean=mean, voxel_sd=np.where(spread > 1e-6, spread, 0))

    def refuse_if_none_left(self, found: Mapping[str, Any]) -> None:
        if not found:
            first = self.problems[0]
            raise ValueError(f"no image can be used; subject {first.subject!r}: {first.reason}")


def refuse(problems: list[Problem]) -> None:
    """An error that names the subjects, the first few of them."""
    if problems:
        shown = "; ".join(f"subject {p.subject!r}: {p.reason}" for p in problems[:3])
        more = f"; and {len(problems) - 3} more subjects" if len(problems) > 3 else ""
        raise ValueError(shown + more)


def _caught(work: Callable, path: Path) -> Any:
    try:
        return work(path)
    except BadImageError as error:
        return error


def _remembered(plan: Extraction, cache: Path | None, path: Path) -> np.ndarray:
    """Region means from the cache, or computed and put there."""
    if cache is None:
        return plan.region_means(path)
    file = cache / f"{content_key(plan, path)}.npy"
    if file.exists():
        return np.load(file)
    means = plan.region_means(path)
    cache.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.part.npy")
    np.save(part, means)
    part.replace(file)
    return means


def content_key(plan: Extraction, path: Path) -> str:
    """A hash of everything that the means depend on; no name of a file or subject is in it."""
    key = hashlib.sha256(CACHE_FORMAT.encode() + plan.digest)
    key.update(path.read_bytes())
    return key.hexdigest()


def _mask(path: Path | None, grid: Grid) -> np.ndarray | None:
    if path is None:
        return None
    try:
        image = open_image(path)
        values = voxels_of(image)
    except BadImageError as error:
        raise ValueError(f"mask {path} {error}") from error
    if not grid_of(image).same(grid):
        raise ValueError(f"mask {path} has {grid_of(image)} where the images have {grid}")
    return np.isfinite(values) & (values != 0)
