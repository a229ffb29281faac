"""Densities and splits made by hand."""

import numpy as np
import pandas as pd

from deepnoise import PredictiveMixture
from deepnoise.datasets.neuro.features import NeuroTable
from deepnoise.studies.neuro.fit import WITH, WITHOUT, SplitFit
from tests.neuro import toy


def gaussians(mean, sd):
    mean, sd = np.broadcast_arrays(np.asarray(mean, float), np.asarray(sd, float))
    return PredictiveMixture.of(mean.reshape(-1, 1, 1), (sd**2).reshape(-1, 1, 1, 1))


def split(y, with_images, without, number=0, units=None):
    densities = {WITH: with_images, WITHOUT: without}
    rows = np.arange(len(y))
    units = rows if units is None else np.asarray(units)
    return SplitFit(number, rows, rows, np.asarray(y, float), units, densities, {}, None, None)


def table_of(outcome, imaging=1.0, groups=None):
    outcome = np.asarray(outcome, float)
    index = [f"s{n}" for n in range(len(outcome))]
    regions = np.broadcast_to(imaging, (len(index), len(toy.NAMES))).copy()
    imaging = pd.DataFrame(regions, index=index, columns=toy.NAMES)
    covariates = pd.DataFrame({"age": np.arange(len(index), dtype=float)}, index=index)
    families = None if groups is None else pd.Series(groups, index, name="family")
    named = pd.Series(outcome, index, name="g")
    return NeuroTable(imaging, covariates, named, toy.atlas(), groups=families)
