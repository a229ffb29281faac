"""A tiny brain: eight boxes of 15 mm voxels, and maps of it as real NIfTI files."""

from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd

from deepnoise.datasets.neuro.atlas import Atlas, Grid, mni_grid

GRID = mni_grid(15.0, (13, 15, 11))
NAMES = tuple(f"{side} {place}" for side in "LR" for place in ("low", "high", "back", "front"))


def atlas(grid: Grid = GRID) -> Atlas:
    """Two hemispheres, each cut into four."""
    world = np.moveaxis(np.indices(grid.shape), 0, -1) @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    inside = (np.abs(world) < (62, 80, 55)).all(axis=-1) & (np.abs(world[..., 0]) > 5)
    quarter = 2 * (world[..., 1] > 0) + (world[..., 2] > 0)
    labels = np.where(inside, 10 + 4 * (world[..., 0] > 0) + quarter, 0)
    return Atlas(labels.astype(np.int32), grid.affine, tuple(range(10, 18)), NAMES, "toy")


def write(path: Path, values: np.ndarray, affine: np.ndarray = GRID.affine) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(np.asarray(values, np.float32), affine), path)
    return path


def maps(folder: Path, count: int = 6, seed: int = 0) -> dict[str, Path]:
    """Maps of noise, by subject."""
    rng = np.random.default_rng(seed)
    shape = (count, *GRID.shape)
    return {
        f"s{n}": write(folder / f"sub-s{n}.nii.gz", values)
        for n, values in enumerate(rng.normal(1.0, 2.0, shape))
    }


def values(path: Path) -> np.ndarray:
    return np.asarray(nib.load(path).dataobj)


def damage(path: Path) -> None:
    """Cut a file off in the middle."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def save_atlas(folder: Path) -> tuple[Path, Path]:
    """The atlas as files: labels and names."""
    toy = atlas()
    nib.save(toy.image(), folder / "labels.nii.gz")
    pd.DataFrame({"label": toy.numbers, "name": toy.names}).to_csv(folder / "names.csv")
    return folder / "labels.nii.gz", folder / "names.csv"
