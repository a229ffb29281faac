"""Brain images and covariates as one table of features, and cohorts with a known truth."""

from typing import TYPE_CHECKING

from ...lazy import attributes

if TYPE_CHECKING:
    from .atlas import MNI_3MM, Atlas, aal90, mni_grid, parcels, read_atlas
    from .cohort import Cohort, simulate_cohort
    from .features import Columns, NeuroTable, load_neuro, read_subjects
    from .images import ImageOptions

__all__ = [
    "MNI_3MM",
    "Atlas",
    "Cohort",
    "Columns",
    "ImageOptions",
    "NeuroTable",
    "aal90",
    "load_neuro",
    "mni_grid",
    "parcels",
    "read_atlas",
    "read_subjects",
    "simulate_cohort",
]

_HOME = {
    "Atlas": "atlas",
    "Cohort": "cohort",
    "Columns": "features",
    "ImageOptions": "images",
    "MNI_3MM": "atlas",
    "NeuroTable": "features",
    "aal90": "atlas",
    "load_neuro": "features",
    "mni_grid": "atlas",
    "parcels": "atlas",
    "read_atlas": "atlas",
    "read_subjects": "features",
    "simulate_cohort": "cohort",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
