"""The paper's neuroimaging study, for a cohort of one's own or a simulated one."""

from typing import TYPE_CHECKING

from ...lazy import attributes

if TYPE_CHECKING:
    from .fit import NeuroPlan
    from .study import NeuroResult, analyse, run_study

__all__ = [
    "NeuroPlan",
    "NeuroResult",
    "analyse",
    "run_study",
]

_HOME = {
    "NeuroPlan": "fit",
    "NeuroResult": "study",
    "analyse": "study",
    "run_study": "study",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
