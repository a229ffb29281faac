"""Is a fitted model worth having on these rows?  Rivals have learnt from the rows of its fit."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..model.outcome import Window
from ..prediction.comparison import Usefulness, one_density, straight_line, usefulness
from ..prediction.density.supported import Density
from ..prediction.metrics import on_latent_scale
from .outcomes import taken

# Rivals of more training rows would cost more and be no better.
MOST_ROWS = 20_000


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
    no_input, line = (model.as_outcomes(density, rows) for density in pair)
    return Rivals(no_input, line, seen)


def keeps_rows(model: Any) -> bool:
    """Whether a model still has the rows that it learnt from."""
    return hasattr(model, "rows_")


def training_rows(model: Any) -> tuple[np.ndarray, np.ndarray | Window]:
    """Standardised features and outcomes, in the user's units, of at most 20,000 training rows."""
    total = len(model.rows_)
    rows = np.linspace(0, total - 1, min(total, MOST_ROWS)).astype(int)
    outcomes = jax.tree.map(model.units_.y.undo, taken(model.rows_.seen, rows))
    return _features(model, model.rows_.x[rows].astype(float)), outcomes


def _features(model: Any, x: np.ndarray) -> np.ndarray:
    """Standardised features, without the scores of some."""
    return x[:, : len(model.units_.x.scale)]
