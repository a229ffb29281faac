"""``BDeepNoiseClassifier``: class probabilities from latent utilities with noise in every layer."""

from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..inference.posterior import LINKS
from ..model.outcome import Choice, Levels, LogitChoice, LogitLevels
from ..prediction.classes import ClassUncertainty, class_probabilities, uncertainty
from ..prediction.credible import Band, band, check_level, joined
from . import settings
from .base import draw_seed, replicated
from .chains import PosteriorChains
from .table import TableInputs
from .units import Inputs, Standardizer, Units


class BDeepNoiseClassifier(PosteriorChains, TableInputs, ClassifierMixin, BaseEstimator):
    """Classification by a Bayesian neural network with noise in every layer.

    Two classes, and ordered ones, are cut from one latent utility; of several classes the one with
    the largest utility is seen.  Utilities are drawn exactly within the sweep.

    Parameters
    ----------
    ordered : bool or list
        Classes have an order, that of their sorted values or of the list; the cut points between
        them are learnt.
    link : {"probit", "logit"}
        Noise between utilities and the class: normal, or logistic (softmax of several utilities).
    hidden, activation, prior, chains, warmup, draws, thin, paths, init, sampler, standardize,
    dtype, checkpoint, progress, random_state
        As of :class:`BDeepNoiseRegressor`.  X may hold NaN.

    Attributes
    ----------
    classes_ : array (C,)
    posterior_ : Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseClassifier
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = BDeepNoiseClassifier(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> model.fit(X, X[:, 0] > 0).predict([[-0.9], [0.9]])
    array([False,  True])
    """

    def __init__(
        self,
        hidden=(20, 20),
        activation="hard_tanh",
        prior="default",
        ordered=False,
        link="probit",
        chains=4,
        warmup=800,
        draws=200,
        thin=4,
        paths=10,
        init="gradient",
        sampler="interweaved",
        standardize=True,
        dtype="float32",
        devices=1,
        checkpoint=None,
        progress=None,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.prior = prior
        self.ordered = ordered
        self.link = link
        self.chains = chains
        self.warmup = warmup
        self.draws = draws
        self.thin = thin
        self.paths = paths
        self.init = init
        self.sampler = sampler
        self.standardize = standardize
        self.dtype = dtype
        self.devices = devices
        self.checkpoint = checkpoint
        self.progress = progress
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "BDeepNoiseClassifier":
        """Learn the probabilities of the classes y (N,) given X (N, P)."""
        params = self.get_params(deep=False)
        settings.plan(params, 0, 1)
        settings.count("paths", self.paths, 1)
        standardize = settings.standardize(self.standardize)
        self.__dict__.pop("seed_", None)
        X = self._checked(X) if y is not None else self._checked(X, y)
        self.classes_, labels = self._learn_classes(y)
        check_consistent_length(X, labels)
        self.encoder_, x = self._learn_inputs(X)
        if sample_weight is not None:
            rows = replicated(sample_weight, len(x))
            x, labels = x[rows], labels[rows]
        ordered = len(self.classes_) == 2 or self.ordered is not False
        outcomes = 1 if ordered else len(self.classes_)
        self.units_ = Units(Inputs.learn(x, standardize), Standardizer.identity(outcomes))
        found = self._checkpoint_seed()
        seed = draw_seed(self.random_state) if found is None else found
        outcome = "ordered" if ordered else "choice"
        settings.one_of("link", self.link, LINKS)
        plan = settings.plan(params, seed, len(x), outcome, len(self.classes_), self.link)
        seen = self._seen_as(labels[:, None] if ordered else labels)
        self._begin(plan, self.units_.x.apply(x), _values(labels, outcomes), seen)
        self.seed_ = seed
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "seed_")

    def _learn_classes(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if isinstance(self.ordered, bool | np.bool_):
            classes = unique_labels(y)
        elif not isinstance(self.ordered, list | tuple | np.ndarray):
            raise ValueError(f"ordered must be True, False or a list; got {self.ordered!r}")
        else:
            classes = np.asarray(self.ordered)
            if len(set(classes.tolist())) < len(classes) or set(classes) != set(unique_labels(y)):
                raise ValueError("ordered must hold every class of y once, in their order")
        if len(classes) < 2:
            raise ValueError(
                f"y must hold at least two classes; it has only one class: {classes[0]!r}"
            )
        place = {value: c for c, value in enumerate(classes.tolist())}
        return classes, np.array([place[value] for value in y.tolist()])

    def _seen_as(self, labels: np.ndarray) -> Levels | Choice:
        """Labels (N, 1) are levels of one utility, (N,) choices among several."""
        if labels.ndim == 2:
            return LogitLevels(labels) if self.link == "logit" else Levels(labels)
        return LogitChoice(labels) if self.link == "logit" else Choice(labels)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, in the order of ``classes_``; (N, C)."""
        densities = self._draw_densities_at(self._rows(X))
        found = [densities.average(p) for _, p in self._probabilities(densities)]
        return np.clip(np.concatenate(found), 0.0, 1.0)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row; (N,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def probability_bands(self, X: Any, level: float = 0.95) -> Band:
        """P(class | x, Θ) across draws: mean and ends of the credible interval, (N, C) each."""
        check_level(level)
        densities = self._draw_densities_at(self._rows(X))
        parts = [band(densities, p, level) for _, p in self._probabilities(densities)]
        return joined(parts, outcomes=2)

    def uncertainty(self, X: Any) -> ClassUncertainty:
        """Entropy of the predicted class, split into noise and what more data could tell."""
        densities = self._draw_densities_at(self._rows(X))
        return uncertainty(densities, (p for _, p in self._probabilities(densities)))

    def _probabilities(self, densities):
        cuts = self.posterior_.run.beside.cuts
        flat = None if cuts is None else np.asarray(cuts, float).reshape(-1, cuts.shape[-1])
        return class_probabilities(densities, flat, self.link)

    def _header(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist(), "classes_dtype": self.classes_.dtype.str}

    def _restore(self, header: dict[str, Any]) -> None:
        kind = header["classes_dtype"]
        if np.dtype(kind).kind == "O":
            kind = object
        self.classes_ = np.array(header["classes"], dtype=kind)
        self._seen = self._seen_as(jax.tree.leaves(self._seen)[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _values(labels: np.ndarray, outcomes: int) -> np.ndarray:
    """Labels as numbers where one utility is behind them, else one column a class."""
    return labels[:, None].astype(float) if outcomes == 1 else np.eye(outcomes)[labels]
