"""The paper's Table 1: quantile errors on three laws of noise."""

from ..datasets import synthetic
from .spec import Case, Spec
from .work import QuantileJudge, Task


class SyntheticStudy:
    """Tasks of a synthetic spec; replicate k of a law and size is drawn with seed k."""

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
