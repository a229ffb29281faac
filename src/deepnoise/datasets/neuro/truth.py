"""The law of a simulated g-score: heteroscedastic, skewed, and known.

With z the standardised features, g | x is a split normal (two halves of normals that meet at the
mode) with

    mean   Σ_j w_j z_j + Σ_j v_j tanh z_j
    sd     s exp(Σ_j u_j z_j)
    skew   k = 0.8 tanh(Σ_j c_j z_j), the difference of the two halves over their sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

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
