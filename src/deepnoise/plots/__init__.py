"""Pictures of predictive densities and of chains; every function returns a matplotlib Figure."""

from typing import TYPE_CHECKING

from ..lazy import attributes

if TYPE_CHECKING:
    from .chains import rank, trace
    from .densities import fan, ridge
    from .heatmap import density_heatmap
    from .influence import dependence_curves, influence_bars
    from .reliability import calibration, outcome_skill, sharpness
    from .uncertainty import uncertainty_parts

__all__ = [
    "calibration",
    "density_heatmap",
    "dependence_curves",
    "fan",
    "influence_bars",
    "outcome_skill",
    "rank",
    "ridge",
    "sharpness",
    "trace",
    "uncertainty_parts",
]

# No file may have the name of a function: importing it would put it in the function's place.
_HOME = {
    "calibration": "reliability",
    "density_heatmap": "heatmap",
    "dependence_curves": "influence",
    "fan": "densities",
    "influence_bars": "influence",
    "outcome_skill": "reliability",
    "rank": "chains",
    "ridge": "densities",
    "sharpness": "reliability",
    "trace": "chains",
    "uncertainty_parts": "uncertainty",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
