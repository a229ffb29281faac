"""How good the densities are, each score beside the same for one Gaussian, and in plain words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..prediction import metrics
from ..prediction.mixture import GaussianMixture
from .case import Case
from .words import number, percent

# A CRPS that differs by a smaller share is called the same.
SAME = 0.005


@dataclass(frozen=True)
class Score:
    """One line of the table."""

    name: str
    value: str
    plain: str
    reading: str


@dataclass(frozen=True)
class Scores:
    lines: tuple[Score, ...]
    summary: str
    better: bool
    reference: str


def scores(case: Case) -> Scores:
    """Scores on the judged rows, beside those of one Gaussian."""
    y, density = case.observed, case.density
    moments = training_moments(case.model)
    reference = one_gaussian(len(y), *(moments or (y.mean(), y.std())))
    rmse, plain_rmse = (metrics.rmse(d, y) for d in (density, reference))
    nll, plain_nll = (metrics.nll(d, y) for d in (density, reference))
    crps, plain_crps = (metrics.crps(d, y) for d in (density, reference))
    width, plain_width = (float(np.mean(np.diff(d.interval(0.9)))) for d in (density, reference))
    lines = (
        Score(
            "CRPS",
            number(crps),
            number(plain_crps),
            f"Distance between density and observation, in units of {case.target}; a point "
            f"forecast would be charged its absolute error. {_change(crps, plain_crps)}",
        ),
        Score(
            "RMSE",
            number(rmse),
            number(plain_rmse),
            f"Typical miss of the predictive mean, in units of {case.target}. "
            f"{_change(rmse, plain_rmse)}",
        ),
        Score(
            "NLL",
            number(nll),
            number(plain_nll),
            f"Surprise at what was observed. {_odds(plain_nll - nll)}",
        ),
        Score(
            "Width of the 90 % interval",
            number(width),
            number(plain_width),
            "Smaller says more, provided that the intervals hold what they promise: see "
            "calibration.",
        ),
    )
    rows = "the training rows" if moments else "these rows themselves"
    return Scores(
        lines,
        summary(case, crps, plain_crps),
        crps < (1 - SAME) * plain_crps,
        f"Beside it, what is easy to have: one Gaussian with mean and sd of {rows}, for every row",
    )


def one_gaussian(rows: int, mean: float, sd: float) -> GaussianMixture:
    """The same Gaussian for every row."""
    variance = max(float(sd) ** 2, 1e-280)
    return GaussianMixture.of(np.full((rows, 1, 1), mean), np.full((1, 1, 1, 1), variance))


def training_moments(model: Any) -> tuple[float, float] | None:
    """Mean and standard deviation of y in the training rows, if the model knows them."""
    if model.standardize:
        return float(model.units_.y.mean[0]), float(model.units_.y.scale[0])
    if not hasattr(model, "_y"):
        return None
    return float(np.mean(model._y)), float(np.std(model._y))


def summary(case: Case, crps: float, reference: float) -> str:
    share = 1 - crps / reference if reference > 0 else 0.0
    if abs(share) <= SAME:
        return "No better and no worse than one Gaussian for every row: the columns tell nothing."
    if share < 0:
        return (
            f"Worse than one Gaussian for every row: the CRPS is {percent(-share)} larger. "
            "Do not use these predictions before you know why."
        )
    return (
        f"Better than one Gaussian for every row: the CRPS is {percent(share)} smaller, on "
        f"{len(case.rows):,} row{'s' * (len(case.rows) > 1)}."
    )


def _change(value: float, reference: float) -> str:
    if not reference > 0:
        return ""
    share = 1 - value / reference
    return f"{percent(abs(share))} {'less' if share >= 0 else 'more'} than with one Gaussian."


def _odds(gain: float) -> str:
    factor = number(float(np.exp(min(abs(gain), 50.0))), 3)
    if gain < 0:
        return f"One Gaussian found the observations {factor} times as likely as this model did."
    return f"The observations are {factor} times as likely as under one Gaussian (geometric mean)."
