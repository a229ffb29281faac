"""A simulated cohort with the paper's shapes and a known truth, written as real NIfTI files.

Maps are smooth random fields around the activations of an atlas's regions, which agree more the
nearer they lie and with their mirror images in the other hemisphere.  The g-score is drawn from a
``Truth`` given the covariates and the region means of the map as written: it is heteroscedastic,
skewed, and known.  With z the standardised features, g | x is a split normal (two halves of normals
that meet at the mode) with

    mean   Σ_j w_j z_j + Σ_j v_j tanh z_j
    sd     s exp(Σ_j u_j z_j)
    skew   k = 0.8 tanh(Σ_j c_j z_j), the difference of the two halves over their sum.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from scipy.special import ndtri

from .atlas import Atlas, imaging
from .images import Extraction

SUBJECTS = 1191
# Noise sd before smoothing, smoothing in voxels, and the step to which values are rounded: a power
# of two, so that float32 images compress well.
NOISE, SMOOTHING, STEP = 4.0, 1.5, 1 / 64
KERNEL_MM = 25.0
ETHNICITIES = {"A": 0.52, "B": 0.20, "C": 0.15, "D": 0.08, "E": 0.05}
MOST_SKEW = 0.8


@dataclass(frozen=True, eq=False)
class SplitNormal:
    """One law a row, by mean, sd and skew in (-1, 1), each (N,)."""

    mean: np.ndarray
    sd: np.ndarray
    skew: np.ndarray

    def quantile(self, levels: ArrayLike) -> np.ndarray:
        """(N, M) at M levels, or with levels (N, 1) one a row."""
        p, k = np.asarray(levels, dtype=float), self.skew[:, None]
        half = self.sd / np.sqrt(1 - self.skew**2 + 4 * self.skew**2 * (1 - 2 / np.pi))
        mode = self.mean - np.sqrt(8 / np.pi) * half * self.skew
        below = (1 - k) * ndtri(np.clip(p / (1 - k), 0, 1))
        above = (1 + k) * ndtri(np.clip((p + k) / (1 + k), 0, 1))
        return mode[:, None] + half[:, None] * np.where(p < (1 - k) / 2, below, above)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One draw a row."""
        return self.quantile(rng.uniform(size=(len(self.mean), 1)))[:, 0]


@dataclass(frozen=True)
class Truth:
    """Which features move the law, and how much; those not named do not.

    ``centre`` and ``scale`` are the mean and sd by which a feature named here is standardised.
    """

    linear: Mapping[str, float]
    saturating: Mapping[str, float]
    spread: Mapping[str, float]
    skew: Mapping[str, float]
    sd: float
    centre: Mapping[str, float] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)

    @property
    def on_mean(self) -> tuple[str, ...]:
        return (*self.linear, *self.saturating)

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.on_mean, *self.spread, *self.skew)))

    def law(self, features: pd.DataFrame) -> SplitNormal:
        """g given the features, columns by name."""
        z = self._standardised(features)
        mean = _sum(z, self.linear) + _sum(np.tanh(z), self.saturating)
        sd = self.sd * np.exp(_sum(z, self.spread))
        return SplitNormal(mean, sd, MOST_SKEW * np.tanh(_sum(z, self.skew)))

    def influence(self, features: pd.DataFrame) -> pd.DataFrame:
        """Mean over rows of |∂E[g|x]/∂z_j| and |∂sd[g|x]/∂z_j|: columns "mean" and "sd"."""
        z = self._standardised(features)
        found = pd.DataFrame(0.0, index=list(features.columns), columns=["mean", "sd"])
        for name in self.on_mean:
            slope = 1 - np.tanh(z[name]) ** 2
            gradient = self.linear.get(name, 0.0) + self.saturating.get(name, 0.0) * slope
            found.loc[name, "mean"] = np.abs(gradient).mean()
        mean_sd = self.law(features).sd.mean()
        for name, weight in self.spread.items():
            found.loc[name, "sd"] = abs(weight) * mean_sd
        return found

    def _standardised(self, features: pd.DataFrame) -> pd.DataFrame:
        names = list(self.features)
        centre, scale = (pd.Series(part, dtype=float)[names] for part in (self.centre, self.scale))
        return (features[names] - centre) / scale


def _sum(z: pd.DataFrame, weights: Mapping[str, float]) -> np.ndarray:
    return z[list(weights)].to_numpy(dtype=float) @ np.array(list(weights.values()))


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


# Regions named in the paper's findings, and some of the working-memory network.
PREFERRED = (
    "Calcarine_L",
    "Calcarine_R",
    "Putamen_L",
    "Putamen_R",
    "Paracentral_Lobule_R",
    "Frontal_Mid_L",
    "Frontal_Mid_R",
    "Parietal_Inf_L",
    "Precuneus_R",
    "Supp_Motor_Area_L",
)
PREFERRED_SPREAD = ("Hippocampus_L", "Thalamus_R", "Putamen_L")
WEIGHTS = (0.26, 0.22, 0.24, -0.20, 0.22, 0.20, 0.18, 0.16, -0.15, 0.14)
SPREAD_WEIGHTS = (0.24, -0.18, 0.15)
SATURATING = 2


def cohort_truth(regions: tuple[str, ...]) -> Truth:
    """Ten regions move the mean (fewer of a small atlas), three the spread, one the skew.

    The regions of the paper's findings where the atlas has them; otherwise evenly spaced ones.
    """
    on_mean: tuple[str, ...] = PREFERRED
    on_spread: tuple[str, ...] = PREFERRED_SPREAD
    if not {*on_mean, *on_spread} <= set(regions):
        count = min(len(WEIGHTS), max(2, len(regions) // 3))
        on_mean = tuple(regions[i] for i in np.linspace(0, len(regions) - 1, count).astype(int))
        on_spread = (*[name for name in regions if name not in on_mean][:2], on_mean[0])
    weights = dict(zip(on_mean, WEIGHTS))
    straight = dict(list(weights.items())[SATURATING:])
    covariates = {"two_back": 0.50, "parental_education": 0.15, "psychopathology": -0.12}
    return Truth(
        linear={**covariates, **straight},
        saturating={name: 1.5 * weights[name] for name in on_mean[:SATURATING]},
        spread={**dict(zip(on_spread, SPREAD_WEIGHTS)), "psychopathology": 0.12},
        skew={"two_back": -0.5, on_mean[0]: 0.6},
        sd=0.65,
    )
