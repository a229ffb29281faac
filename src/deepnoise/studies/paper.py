"""The paper's studies.

Table 1 has quantile errors on three laws of noise, Table 2 UCI sets on the fixed splits, and Figure
1 estimated densities on the synthetic laws beside the truth.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..baselines.registry import make, method
from ..datasets import synthetic
from ..datasets.uci import UciSet, load_uci
from ..plots.heatmap import density_panels
from .runner import OutcomeJudge, QuantileJudge, Task
from .spec import Case, Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Sets whose y takes few values: there a spike of the density would win any NLL.
LATTICES = ("wine", "naval")
# Of these, y was rounded: tasters give whole numbers.  Naval's values are a grid of settings.
ROUNDED = {"wine": 1.0}
# Figure 1: methods, and the grid of x and y.
SHOWN = ("bdeepnoise", "de", "vi")
X = np.linspace(-1, 1, 120)
Y = np.linspace(-0.8, 1.8, 180)


class SyntheticStudy:
    """Table 1: tasks of a synthetic spec; replicate k of a law and size is drawn with seed k."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def cases(self) -> list[Case]:
        return self.spec.cases(dict.fromkeys(self.spec.set_names(), self.spec.splits))

    def task(self, case: Case) -> Task:
        law, _, size = case.set.rpartition("-")
        x, y = synthetic.sample(law, int(size), case.split)
        levels = synthetic.LEVELS
        truth = synthetic.true_quantile(law, synthetic.GRID_X, levels)
        return Task(
            case,
            self.spec.settings_of(case.method),
            self.spec.settings_hash(case.method),
            x[:, None],
            y,
            synthetic.GRID_X[:, None],
            QuantileJudge(truth, levels),
        )


class UciStudy:
    """Table 2: tasks of a UCI spec; the sets are read from a folder once."""

    def __init__(self, spec: Spec, folder: str | Path | None = None) -> None:
        self.spec, self._folder = spec, folder

    @cached_property
    def _sets(self) -> dict[str, UciSet]:
        return {name: load_uci(name, self._folder) for name in self.spec.sets}

    def cases(self) -> list[Case]:
        return self.spec.cases({name: data.n_splits for name, data in self._sets.items()})

    def task(self, case: Case) -> Task:
        data = self._sets[case.set]
        train, test = data.split(case.split)
        lattice = np.unique(data.y) if case.set in LATTICES else None
        return Task(
            case,
            self.spec.settings_of(case.method),
            self.spec.settings_hash(case.method),
            data.X[train],
            data.y[train],
            data.X[test],
            OutcomeJudge(data.y[test], lattice),
            ROUNDED.get(case.set),
        )


def figure1(spec: Spec, say: Any = lambda _: None) -> "Figure":
    """Heat maps of the methods of the paper's figure that the spec has, on its largest size.

    The truth, with the observations, is the first row; split 0 is fitted.
    """
    chosen = [name for name in SHOWN if name in spec.methods]
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
