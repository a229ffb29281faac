"""Densities judged on rows of other folds: ``scorer`` for scikit-learn, and losses by outcome."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..prediction import metrics
from ..prediction.selection import LOSSES, Losses
from .outcomes import exact_rows, representative
from .settings import one_of

NAMES = ("nll", "crps", "interval_score")


@dataclass(frozen=True)
class Scorer:
    """A loss of predictive densities with its sign changed, so that more is better."""

    name: str
    level: float = 0.95

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        model, X = _unwrapped(estimator, X)
        if self.name == "nll":
            return -_nll(model, X, y)
        if not hasattr(model, "predict_density"):
            raise ValueError(
                f"scorer('{self.name}') needs a regressor; for classes use scorer('nll')"
            )
        seen = model.check_outcomes(y)
        if not exact_rows(seen).all():
            raise ValueError(
                f"scorer('{self.name}') needs exact values of y; for windows use scorer('nll')"
            )
        density, values = model.predict_density(X), representative(seen)
        if self.name == "crps":
            return -metrics.crps(density, values)
        return -metrics.interval_score(density, values, self.level)


def scorer(name: str, level: float = 0.95) -> Scorer:
    """Make a score for ``scoring=`` of ``cross_val_score``, ``GridSearchCV`` and the like.

    scikit-learn maximises scores, so each is a loss with its sign changed.  For several at once,
    give scikit-learn a dict of them.  The estimator may be the last step of a pipeline.

    Parameters
    ----------
    name : {"nll", "crps", "interval_score"}
        Negative log likelihood (also of windows, times and classes), continuous ranked
        probability score, or interval score.
    level : float
        Probability of the central intervals that "interval_score" judges.

    Returns
    -------
    function (estimator, X, y) -> float

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from deepnoise import BackpropRegressor, scorer
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = BackpropRegressor(steps=100, random_state=0)
    >>> search = GridSearchCV(model, {"hidden": [3, 5]}, scoring=scorer("crps"), cv=2)
    >>> sorted(search.fit(x, x[:, 0] ** 2).best_params_)
    ['hidden']
    """
    one_of("name", name, NAMES)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")
    return Scorer(name, level)


def _nll(model: Any, X: Any, y: Any) -> float:
    if hasattr(model, "classes_") or hasattr(model, "predict_survival"):
        return float(model.score_report(X, y)["nll"])
    return metrics.nll_seen(model.predict_density(X), model.check_outcomes(y))


def _unwrapped(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The estimator within a search or a pipeline, and X as it sees it."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "named_steps"):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        else:
            return estimator, X


def held_out_losses(
    estimator: Any, X: Any, y: np.ndarray, folds: int, loss: str, seed: int
) -> Losses:
    """Losses with and without inputs, (N, Q) each; every fold is judged by a fit of the others.

    y (N, Q) and the losses are NaN where an outcome is missing.
    """
    from sklearn.model_selection import KFold  # half a second that a fit does not need

    blank = clone(estimator)
    if "checkpoint" in blank.get_params():
        blank.set_params(checkpoint=None)  # its folder holds one fit, and there are many here
    with_inputs, without = np.empty(y.shape), np.empty(y.shape)
    for seen, held in KFold(folds, shuffle=True, random_state=seed).split(y):
        model = clone(blank).fit(_safe_indexing(X, seen), y[seen])
        density = model.predict_density(_safe_indexing(X, held))
        with_inputs[held], without[held] = LOSSES[loss](density, y[held], y[seen])
    return with_inputs, without
