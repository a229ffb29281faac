"""A simulated cohort with the paper's shapes and a known truth, written as real NIfTI files.

Maps are smooth random fields around the activations of an atlas's regions, which agree more the
nearer they lie and with their mirror images in the other hemisphere.  The g-score is drawn from
``truth`` given the covariates and the region means of the map as written.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.ndimage import gaussian_filter

from .atlas import Atlas, imaging
from .images import Extraction
from .truth import Truth, cohort_truth

SUBJECTS = 1191
# Noise sd before smoothing, smoothing in voxels, and the step to which values are rounded: a power
# of two, so that float32 images compress well.
NOISE, SMOOTHING, STEP = 4.0, 1.5, 1 / 64
KERNEL_MM = 25.0
ETHNICITIES = {"A": 0.52, "B": 0.20, "C": 0.15, "D": 0.08, "E": 0.05}


@dataclass(frozen=True, eq=False)
class Cohort:
    """Files of a simulated cohort, and the law its outcomes came from."""

    folder: Path
    table: Path
    images: Path
    atlas: Atlas
    truth: Truth


def simulate_cohort(
    folder: str | Path,
    atlas: Atlas,
    subjects: int = SUBJECTS,
    seed: int = 0,
    jobs: int = -1,
    progress: Callable[[int, int], None] | None = None,
) -> Cohort:
    """Write ``subjects.csv`` and ``images/sub-0001.nii.gz``, ... to a folder.

    Images have the grid of the atlas; for the paper's, put it there with ``atlas.on(MNI_3MM)``.
    """
    if subjects < 2:
        raise ValueError(f"subjects must be at least 2; got {subjects}")
    folder = Path(folder)
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    names = list(atlas.names)
    activation = activations(rng, atlas, subjects)
    baseline = rng.normal(0.0, 0.5, len(names))
    paths = [images / f"sub-{n:04d}.nii.gz" for n in range(1, subjects + 1)]
    extraction = Extraction(atlas, resample=False, by_subject=False, nan_voxels="refuse")
    workers = Parallel(jobs, prefer="threads", return_as="generator")
    write = delayed(_write_map)
    jobs_done = workers(
        write(paths[n], extraction, baseline + activation[n], (seed, n)) for n in range(subjects)
    )
    means = []
    for row in jobs_done:
        means.append(row)
        if progress is not None:
            progress(len(means), subjects)
    regions = pd.DataFrame(means, columns=names)
    table = covariates(rng, regions)
    truth = _standardised(cohort_truth(atlas.names), table.join(regions))
    outcome = truth.law(table.join(regions)).sample(rng)
    table.insert(0, "subject", [path.name.removesuffix(".nii.gz") for path in paths])
    table.insert(1, "g_score", outcome.round(4))
    table.to_csv(folder / "subjects.csv", index=False)
    return Cohort(folder, folder / "subjects.csv", images, atlas, truth)


def activations(rng: np.random.Generator, atlas: Atlas, subjects: int) -> np.ndarray:
    """(subjects, regions), variance 1: a share for the whole brain, for neighbours, for itself."""
    centres = atlas.centres()
    folded = np.column_stack([np.abs(centres[:, 0]), centres[:, 1:]])
    distance2 = ((folded[:, None] - folded[None]) ** 2).sum(axis=-1)
    covariance = 0.1 + 0.4 * np.exp(-distance2 / (2 * KERNEL_MM**2)) + 0.5 * np.eye(len(centres))
    return rng.normal(size=(subjects, len(centres))) @ np.linalg.cholesky(covariance).T


def covariates(rng: np.random.Generator, regions: pd.DataFrame) -> pd.DataFrame:
    """The paper's eight; the 2-back score goes with a few regions, income with education."""
    n = len(regions)
    engaged = regions.iloc[:, :: max(1, regions.shape[1] // 4)]
    shared = ((engaged - engaged.mean()) / engaged.std()).mean(axis=1).to_numpy()
    education = np.clip(rng.normal(15, 2.5, n), 8, 21).round()
    income = np.clip(0.9 * (education - 15) + rng.normal(6.5, 2.0, n), 1, 10).round()
    married = rng.uniform(size=n) < 1 / (1 + np.exp(-0.4 * (income - 4)))
    return pd.DataFrame(
        {
            "two_back": (0.6 * shared + rng.normal(0, 0.9, n)).round(4),
            "psychopathology": rng.gamma(4.0, 0.5, n).round(4),
            "age": rng.uniform(9, 11, n).round(2),
            "sex": rng.choice(["F", "M"], n),
            "parental_education": education,
            "marital_status": np.where(married, "married", "not married"),
            "income": income,
            "ethnicity": rng.choice(list(ETHNICITIES), n, p=list(ETHNICITIES.values())),
        }
    )


def _write_map(path: Path, extraction: Extraction, levels: np.ndarray, key: tuple[int, int]):
    """One map, smooth, 0 outside the regions; its region means as they will be read."""
    rng, region = np.random.default_rng(key), extraction.atlas.region
    field = np.append(levels, 0.0).astype(np.float32)[region]
    field = field + rng.normal(0, NOISE, region.shape).astype(np.float32)
    values = gaussian_filter(field, SMOOTHING, truncate=3.0)
    values = np.where(region >= 0, np.round(values / STEP) * STEP, 0).astype(np.float32)
    nibabel = imaging("nibabel")
    nibabel.save(nibabel.Nifti1Image(values, extraction.atlas.affine), path)
    return extraction.region_means(path)


def _standardised(truth: Truth, features: pd.DataFrame) -> Truth:
    used = features[list(truth.features)]
    return replace(truth, centre=used.mean().to_dict(), scale=used.std().to_dict())
