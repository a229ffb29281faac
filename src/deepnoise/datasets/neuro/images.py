"""Region means of contrast maps: of one subject, read and checked, and of many.

Many are read in parallel and remembered, with what went wrong by name.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.ndimage import affine_transform

from .atlas import MNI_3MM, Atlas, Grid, imaging

STANDARDIZE = ("none", "subject", "voxel", "both")
NAN_VOXELS = ("refuse", "skip")
Progress = Callable[[int, int], None]
CACHE_FORMAT = "1"


class BadImageError(ValueError):
    """An image that was read but cannot be used; says why."""


class UnreadableImageError(BadImageError):
    """A file that is no image, or a damaged one."""


def open_image(path: Path) -> Any:
    """The header of an image of three axes; the voxels stay on disk."""
    nibabel = imaging("nibabel")
    try:
        image = nibabel.load(path)
    except Exception as error:  # nibabel, gzip and zlib raise many kinds; all mean a bad file
        raise UnreadableImageError(f"cannot be read: {_reason(error)}") from error
    if len(image.shape) not in (3, 4) or image.shape[3:] not in ((), (1,)):
        shape = " x ".join(map(str, image.shape))
        raise BadImageError(f"must be one map of three axes; it is {shape}")
    return image


def grid_of(image: Any) -> Grid:
    return Grid(tuple(image.shape[:3]), np.asarray(image.affine))


def voxels_of(image: Any) -> np.ndarray:
    """All values as float32 (X, Y, Z)."""
    try:
        values = np.asarray(image.dataobj, dtype=np.float32)
    except Exception as error:
        raise UnreadableImageError(f"cannot be read: {_reason(error)}") from error
    return values.reshape(values.shape[:3])


def _reason(error: Exception) -> str:
    """The first line, without the path: reports must not carry what identifies a subject."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    return kind if not lines or "/" in lines[0] else f"{kind}: {lines[0][:80]}"


@dataclass(frozen=True, eq=False)
class Extraction:
    """How a map becomes one number a region.  ``atlas`` lies on the grid of the maps.

    ``voxel_mean`` and ``voxel_sd`` (V,), where given, standardise every voxel across subjects.
    """

    atlas: Atlas
    resample: bool
    by_subject: bool
    nan_voxels: str
    voxel_mean: np.ndarray | None = None
    voxel_sd: np.ndarray | None = None

    @cached_property
    def inside(self) -> np.ndarray:
        """Flat numbers of the V voxels of all regions."""
        return np.flatnonzero(self.atlas.region.ravel() >= 0)

    @cached_property
    def region(self) -> np.ndarray:
        """The region of each of them."""
        return self.atlas.region.ravel()[self.inside]

    @cached_property
    def digest(self) -> bytes:
        """A hash of all of this."""
        found = hashlib.sha256(f"{self.by_subject} {self.nan_voxels}".encode())
        for part in (self.atlas.region, self.atlas.affine, self.voxel_mean, self.voxel_sd):
            found.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
        return found.digest()

    def values(self, path: Path) -> np.ndarray:
        """The V voxels of a subject, checked; NaN where they may be left out."""
        values = self._on_grid(open_image(path)).ravel()[self.inside].astype(np.float64)
        self._check(values)
        if self.by_subject:
            sd = np.nanstd(values)
            if not sd > 0:
                raise BadImageError("has the same value in every voxel: it cannot be standardised")
            values = (values - np.nanmean(values)) / sd
        return values

    def region_means(self, path: Path) -> np.ndarray:
        """(R,)"""
        values = self.values(path)
        if self.voxel_mean is not None and self.voxel_sd is not None:
            # A voxel that is the same for everyone says nothing.
            with np.errstate(divide="ignore", invalid="ignore"):
                values = (values - self.voxel_mean) / self.voxel_sd
            values = np.where(self.voxel_sd > 0, values, np.nan)
        known = np.isfinite(values)
        counts, sums = (self._by_region(part) for part in (known, np.where(known, values, 0)))
        if not counts.all():
            name = self.atlas.names[int(np.argmin(counts))]
            raise BadImageError(f"region {name!r} does not vary across subjects in any voxel")
        return sums / counts

    def _by_region(self, weights: np.ndarray) -> np.ndarray:
        return np.bincount(self.region, weights=weights, minlength=len(self.atlas.names))

    def _on_grid(self, image: Any) -> np.ndarray:
        wanted, found = self.atlas.grid, grid_of(image)
        if found.same(wanted):
            return voxels_of(image)
        if not self.resample:
            raise BadImageError(
                f"has {found} where {wanted} are expected; resampling makes them equal"
            )
        return resampled(voxels_of(image), found, wanted)

    def _check(self, values: np.ndarray) -> None:
        if np.isinf(values).any():
            raise BadImageError(f"has {np.isinf(values).sum()} infinite voxels")
        missing = np.isnan(values)
        if missing.any() and self.nan_voxels == "refuse":
            name = self.atlas.names[self.region[missing.argmax()]]
            outside = " or lie outside it" if self.resample else ""
            raise BadImageError(
                f"has {missing.sum()} voxels that are NaN{outside}, the first in {name!r}"
            )
        empty = self._by_region(~missing & (values != 0)) == 0
        if empty.any():
            names = [self.atlas.names[r] for r in np.flatnonzero(empty)]
            more = f" and {len(names) - 1} more regions" if len(names) > 1 else ""
            raise BadImageError(f"is empty (0 or NaN in every voxel) in {names[0]!r}{more}")


def resampled(values: np.ndarray, found: Grid, wanted: Grid) -> np.ndarray:
    """Values on another grid, linear between voxels.

    NaN where most of the weight lies on NaN or outside the image: nothing is known there.
    """
    known = np.isfinite(values)
    total, weight = (_linear(part, found, wanted) for part in (np.where(known, values, 0), known))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weight >= 0.5, total / weight, np.nan)


def _linear(values: np.ndarray, found: Grid, wanted: Grid) -> np.ndarray:
    """0 outside the image."""
    # From voxels of one grid to those of the other.
    move = np.linalg.inv(found.affine) @ wanted.affine
    return affine_transform(
        values.astype(np.float32), move[:3, :3], move[:3, 3], output_shape=wanted.shape, order=1
    )


def common_grid(grids: list[Grid], resample: bool) -> Grid:
    """The grid that most images have; 3 mm MNI where they are resampled."""
    if resample:
        return MNI_3MM
    kinds = [(grid.shape, *grid.affine.round(3).ravel().tolist()) for grid in grids]
    return grids[kinds.index(Counter(kinds).most_common(1)[0][0])]


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
