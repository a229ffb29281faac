"""Brain images and covariates as one table of features, and cohorts with a known truth."""

from typing import TYPE_CHECKING

from ...lazy import attributes

if TYPE_CHECKING:
    from .atlas import MNI_3MM, Atlas, mni_grid
    from .cohort import Cohort, simulate_cohort
    from .extract import ImageOptions
    from .features import NeuroTable, load_neuro
    from .regions import aal90, parcels, read_atlas
    from .table import Columns, read_subjects

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
    "Columns": "table",
    "ImageOptions": "extract",
    "MNI_3MM": "atlas",
    "NeuroTable": "features",
    "aal90": "regions",
    "load_neuro": "features",
    "mni_grid": "atlas",
    "parcels": "regions",
    "read_atlas": "regions",
    "read_subjects": "table",
    "simulate_cohort": "cohort",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
