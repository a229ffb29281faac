"""One subject's contrast map: read, checked, and averaged over the regions of an atlas."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import affine_transform

from .atlas import MNI_3MM, Atlas, Grid, imaging

STANDARDIZE = ("none", "subject", "voxel", "both")
NAN_VOXELS = ("refuse", "skip")


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
