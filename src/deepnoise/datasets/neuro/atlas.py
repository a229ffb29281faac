"""An atlas: which voxel belongs to which named region, on any grid."""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np


def imaging(module: str) -> Any:
    """A module of nibabel or nilearn, or an error that says how to have it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"brain images need {package}: pip install 'deepnoise[neuro]'"
        ) from None


@dataclass(frozen=True, eq=False)
class Grid:
    """Voxels: how many along each axis, and where they lie in MNI space (mm)."""

    shape: tuple[int, ...]
    affine: np.ndarray

    def __str__(self) -> str:
        sizes = np.sqrt((self.affine[:3, :3] ** 2).sum(axis=0))
        size = " x ".join(f"{edge:g}" for edge in sizes.round(3))
        corner = ", ".join(f"{edge:g}" for edge in self.affine[:3, 3].round(3))
        return f"{' x '.join(map(str, self.shape))} voxels of {size} mm from ({corner})"

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def same(self, other: "Grid") -> bool:
        return self.shape == other.shape and np.allclose(self.affine, other.affine, atol=1e-3)


def mni_grid(voxel: float, shape: tuple[int, int, int]) -> Grid:
    affine = np.diag([voxel, voxel, voxel, 1.0])
    affine[:3, 3] = -90, -126, -72
    return Grid(shape, affine)


# The paper's: 61 x 73 x 61 voxels of 3 mm.
MNI_3MM = mni_grid(3.0, (61, 73, 61))


@dataclass(frozen=True, eq=False)
class Atlas:
    """``labels`` (X, Y, Z) holds ``numbers[r]`` in the region ``names[r]``, others outside."""

    labels: np.ndarray
    affine: np.ndarray
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    title: str = "atlas"

    @property
    def grid(self) -> Grid:
        return Grid(self.labels.shape, self.affine)

    @cached_property
    def region(self) -> np.ndarray:
        """(X, Y, Z): the place r of each voxel's region in ``names``, -1 outside."""
        top = max(int(self.labels.max()), *self.numbers) + 1
        place = np.full(top + 1, -1)
        place[list(self.numbers)] = np.arange(len(self.numbers))
        return place[np.where(self.labels < 0, top, self.labels)]

    def centres(self) -> np.ndarray:
        """Mean MNI coordinate of each region; (R, 3)."""
        inside = np.argwhere(self.region >= 0)
        region = self.region[tuple(inside.T)]
        world = inside @ self.affine[:3, :3].T + self.affine[:3, 3]
        counts = np.bincount(region, minlength=len(self.names))
        sums = [np.bincount(region, weights=axis, minlength=len(self.names)) for axis in world.T]
        return np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]

    def on(self, grid: Grid, mask: np.ndarray | None = None) -> "Atlas":
        """The same regions on another grid, each voxel from its nearest, inside a mask if given."""
        labels = self.labels if self.grid.same(grid) else self._nearest(grid)
        if mask is not None:
            labels = np.where(mask, labels, 0)
        found = Atlas(labels, grid.affine, self.numbers, self.names, self.title)
        counts = np.bincount(found.region[found.region >= 0], minlength=len(self.names))
        empty = [name for name, count in zip(self.names, counts) if not count]
        if empty:
            raise ValueError(
                f"atlas: {len(empty)} regions hold no voxel of the images"
                f"{' inside the mask' if mask is not None else ''}, the first is {empty[0]!r}; "
                f"check the mask, the space of the images, or leave these regions out"
            )
        return found

    def _nearest(self, grid: Grid) -> np.ndarray:
        image = imaging("nilearn.image").resample_img(
            self.image(),
            target_affine=grid.affine,
            target_shape=grid.shape,
            interpolation="nearest",
            force_resample=True,
            copy_header=True,
        )
        return np.asarray(image.dataobj).astype(np.int32)

    def image(self) -> Any:
        """The labels as a NIfTI image."""
        return self._as_image(np.asarray(self.labels, dtype=np.int32))

    def painted(self, values: np.ndarray) -> Any:
        """A NIfTI image with each region's value in its voxels, 0 outside."""
        values = np.append(np.asarray(values, dtype=np.float32), 0)
        return self._as_image(values[self.region])

    def _as_image(self, voxels: np.ndarray) -> Any:
        image = imaging("nibabel").Nifti1Image(voxels, self.affine)
        image.header.set_sform(self.affine, code=4)  # MNI
        image.header.set_qform(self.affine, code=4)
        return image
