"""Densities judged: ``scorer`` for scikit-learn, losses on rows of other folds, usefulness.

Usefulness asks whether a fitted model is worth having on some rows.  Its rivals have learnt from
the rows of its fit.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from sklearn.base import clone

from ..model.outcome import Window
from ..prediction import metrics
from ..prediction.comparison import Usefulness, one_density, straight_line, usefulness
from ..prediction.density.supported import Density
from ..prediction.metrics import on_latent_scale
from ..prediction.per_draw import spaced
from ..prediction.selection import LOSSES, Losses
from .outcomes import exact_rows, representative, taken
from .settings import one_of
from .table import take

NAMES = ("nll", "crps", "interval_score")
# Rivals of more training rows would cost more and be no better.
MOST_ROWS = 20_000


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
        model = clone(blank).fit(take(X, seen), y[seen])
        density = model.predict_density(take(X, held))
        with_inputs[held], without[held] = LOSSES[loss](density, y[held], y[seen])
    return with_inputs, without


@dataclass(frozen=True, eq=False)
class Rivals:
    """Densities that are easy to have, and the outcomes ``seen`` that they learnt from."""

    no_input: Density
    line: Density
    seen: np.ndarray | Window

    def judge(self, density: Density, y: np.ndarray | Window) -> Usefulness:
        """Gains of a density at outcomes y over both; of outcomes with a support, at their z."""
        (one, z), (rival, _), (line, _) = (
            on_latent_scale(law, y) for law in (density, self.no_input, self.line)
        )
        return usefulness(one, z, rival, line, self.seen)


def usefulness_of(model: Any, X: Any, y: Any) -> Usefulness:
    """Compare the log score of a fitted regressor with those of two simple rivals.

    One rival is a single density for all rows, the other a ridge line with Gaussian errors.  Both
    learn from the training rows.  If the model does not keep these, the rivals learn from the
    rows given here, which favours them.

    Parameters
    ----------
    model : fitted estimator
        A density regressor of one outcome.
    X : table (N, P)
        Rows that were not used to fit.
    y : array (N,), or a ``Window``
        Their outcomes.

    Returns
    -------
    Usefulness

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseRegressor
    >>> x = np.linspace(-1, 1, 80)[:, None]
    >>> small = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> found = usefulness_of(small.fit(x[::2], x[::2, 0]), x[1::2], x[1::2, 0])
    >>> found.no_input.rows
    40
    """
    outcomes = model.check_outcomes(y)
    return rivals_of(model, X, outcomes).judge(model.predict_density(X), outcomes)


def rivals_of(model: Any, X: Any, outcomes: np.ndarray | Window) -> Rivals:
    """Both rivals at the rows of X; ``outcomes`` are those of X, as the model sees them."""
    rows = model.encoded_rows(X)
    x = _features(model, rows)
    known, seen = training_rows(model) if keeps_rows(model) else (x, outcomes)
    pair = one_density(seen, len(x)), straight_line(known, seen, x)
    no_input, line = (model.predictive_.as_outcomes(density, rows) for density in pair)
    return Rivals(no_input, line, seen)


def keeps_rows(model: Any) -> bool:
    """Whether a model still has the rows that it learnt from."""
    return hasattr(model, "rows_")


def training_rows(model: Any) -> tuple[np.ndarray, np.ndarray | Window]:
    """Standardised features and outcomes, in the user's units, of at most 20,000 training rows."""
    rows = spaced(len(model.rows_), MOST_ROWS)
    outcomes = jax.tree.map(model.units_.y.undo, taken(model.rows_.seen, rows))
    return _features(model, model.rows_.x[rows].astype(float)), outcomes


def _features(model: Any, x: np.ndarray) -> np.ndarray:
    """Standardised features, without the scores of some."""
    return x[:, : len(model.units_.x.scale)]
