"""The paper's Table 2: UCI sets on the fixed splits."""

from functools import cached_property
from pathlib import Path

import numpy as np

from ..datasets.uci import UciSet, load_uci
from .spec import Case, Spec
from .work import OutcomeJudge, Task

# Sets whose y takes few values: there a spike of the density would win any NLL.
LATTICES = ("wine", "naval")


class UciStudy:
    """Tasks of a UCI spec; the sets are read from a folder once."""

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
        )
