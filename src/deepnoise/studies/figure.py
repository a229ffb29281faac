"""The paper's Figure 1: estimated densities on the synthetic laws, beside the truth."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..baselines.registry import make, method
from ..datasets import synthetic
from ..plots.panels import density_panels
from .spec import Case, Spec
from .synthetic import SyntheticStudy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("bdeepnoise", "de", "vi")
X = np.linspace(-1, 1, 120)
Y = np.linspace(-0.8, 1.8, 180)


def figure1(spec: Spec, say: Any = lambda _: None) -> "Figure":
    """Heat maps of the methods of the paper's figure that the spec has, on its largest size.

    The truth, with the observations, is the first row; split 0 is fitted.
    """
    chosen = [name for name in METHODS if name in spec.methods]
    names = [f"{law}-{max(spec.sizes)}" for law in spec.sets]
    study = SyntheticStudy(spec)
    heights = [[synthetic.true_pdf(law, X, Y) for law in spec.sets]]
    dots = []
    for name in names:
        task = study.task(Case(chosen[0], name, 0, spec.seeds[0]))
        dots.append((task.X[:, 0], task.y))
    for name in chosen:
        line = []
        for set_name in names:
            task = study.task(Case(name, set_name, 0, spec.seeds[0]))
            model = make(name, **task.settings, random_state=task.case.random_state)
            line.append(model.fit(task.X, task.y).predict_density(X[:, None]).pdf_grid(Y))
            say(f"figure: {name} {set_name}")
        heights.append(line)
    rows = ["truth", *(method(name).label for name in chosen)]
    return density_panels(X, Y, heights, rows, names, dots)
