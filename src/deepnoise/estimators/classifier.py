"""``BDeepNoiseClassifier``: class probabilities from latent utilities with noise in every layer."""

from dataclasses import replace
from typing import Any, Self

import jax
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..inference.posterior import LINKS, Posterior
from ..model.outcome import Choice, Levels, LogitChoice, LogitLevels
from ..prediction.classes import ClassUncertainty, log_seen
from ..prediction.credible import Band
from . import chains, settings
from .base import replicated
from .class_predictive import ClassPredictive
from .files import estimator_header
from .folds import TrainingRows
from .sampled import SampledEstimator
from .scale import NetworkScale
from .units import Inputs, Standardizer, Units


class BDeepNoiseClassifier(ClassifierMixin, SampledEstimator[ClassPredictive]):
    """Predict class probabilities by a Bayesian neural network with noise in every layer.

    Two classes, and ordered classes, are intervals of one latent utility.  Of several classes
    without an order, each has a utility, and the largest one decides.  X may hold NaN.

    Parameters
    ----------
    ordered : bool or list
        Whether the classes have an order: that of their sorted values (True) or of a list.  The
        cut points between them are learnt.
    link : {"probit", "logit"}
        Noise between utility and class: normal, or logistic.  With several classes, "logit" is a
        softmax of the utilities.
    hidden : tuple of int
        See :class:`BDeepNoiseRegressor`.
    activation : str or PiecewiseLinear
        See :class:`BDeepNoiseRegressor`.
    prior : str or dict
        See :class:`BDeepNoiseRegressor`.
    chains : int
        See :class:`BDeepNoiseRegressor`.
    warmup : int, optional
        See :class:`BDeepNoiseRegressor`.
    draws : int, optional
        See :class:`BDeepNoiseRegressor`.
    thin : int, optional
        See :class:`BDeepNoiseRegressor`.
    max_sweeps : int, optional
        See :class:`BDeepNoiseRegressor`.
    paths : int
        See :class:`BDeepNoiseRegressor`.
    init : {"gradient", "prior"}
        Where chains start: at gradient fits, or at draws of the prior, from which they take much
        longer to settle.
    sampler : {"interweaved", "gibbs"}
        See :class:`BDeepNoiseRegressor`.
    standardize : bool or "scores"
        See :class:`BDeepNoiseRegressor`.
    dtype : {"float32", "float64"}
        See :class:`BDeepNoiseRegressor`.
    devices : int or "all"
        See :class:`BDeepNoiseRegressor`.
    checkpoint : path, optional
        See :class:`BDeepNoiseRegressor`.
    progress : None, bool or function
        See :class:`BDeepNoiseRegressor`.
    random_state : int, RandomState or None
        See :class:`BDeepNoiseRegressor`.

    Attributes
    ----------
    classes_ : array (C,)
        The classes, in the order of the columns of ``predict_proba``.
    posterior_ : Posterior
        Posterior draws of the parameters.
    diagnostics_ : Diagnostics
        R-hat and effective sample sizes of class probabilities, computed when first asked for.
    predictive_ : ClassPredictive
        What predictions are made from, for whoever needs more than the methods below.

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
        warmup=None,
        draws=None,
        thin=None,
        max_sweeps=None,
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
        self.max_sweeps = max_sweeps
        self.paths = paths
        self.init = init
        self.sampler = sampler
        self.standardize = standardize
        self.dtype = dtype
        self.devices = devices
        self.checkpoint = checkpoint
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the probabilities of the classes given X.

        Parameters
        ----------
        X : array (N, P), pandas or polars frame
        y : array (N,)
            Classes: numbers, texts or booleans.
        sample_weight : array (N,) of whole numbers, optional
            A row of weight k counts as k equal rows.

        Returns
        -------
        self
        """
        params = self.get_params(deep=False)
        settings.plan(params, 0, 1)
        settings.count("paths", self.paths, 1)
        standardize = settings.standardize(self.standardize)
        self.__dict__.pop("seed_", None)
        X = self._checked(X) if y is not None else self._checked(X, y)
        named = column_or_1d(y, warn=True)
        self.classes_ = self._learn_classes(named)
        labels = self._places(named)
        check_consistent_length(X, labels)
        self.encoder_, x = self._learn_inputs(X)
        if sample_weight is not None:
            rows = replicated(sample_weight, len(x))
            x, labels = x[rows], labels[rows]
        ordered = len(self.classes_) == 2 or self.ordered is not False
        outcomes = 1 if ordered else len(self.classes_)
        self.units_ = Units(Inputs.learn(x, standardize), Standardizer.identity(outcomes))
        seed = chains.fit_seed(self.random_state, self.checkpoint)
        outcome = "ordered" if ordered else "choice"
        settings.one_of("link", self.link, LINKS)
        plan = settings.plan(params, seed, len(x), outcome, len(self.classes_), self.link)

        seen = self._seen_as(labels[:, None] if ordered else labels)
        inputs, numbers = self.units_.x.apply(x), _values(labels, outcomes)
        self.rows_ = TrainingRows.given(plan, inputs, numbers, seen)
        self.chain_weights_ = np.full(plan.chains, 1 / plan.chains)
        header = estimator_header(self, seed)
        self._keep(chains.run(plan, params, self.rows_, None, header, self.predictive_of))
        self.seed_ = seed
        return self

    def _learn_classes(self, y: np.ndarray) -> np.ndarray:
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if isinstance(self.ordered, bool | np.bool_):
            classes = unique_labels(y)
        elif not isinstance(self.ordered, list | tuple | np.ndarray):
            raise ValueError(f"ordered must be True, False or a list; got {self.ordered!r}")
        else:
            classes = np.asarray(self.ordered)
            if len(set(classes.tolist())) < len(classes) or set(classes) != set(unique_labels(y)):
                raise ValueError(
                    "ordered must list every class of y once, from the lowest to the highest"
                )
        if len(classes) < 2:
            raise ValueError(
                f"y must hold at least two classes; it has only one class: {classes[0]!r}"
            )
        return classes

    def _seen_as(self, labels: np.ndarray) -> Levels | Choice:
        """Labels (N, 1) are levels of one utility, (N,) choices among several."""
        if labels.ndim == 2:
            return LogitLevels(labels) if self.link == "logit" else Levels(labels)
        return LogitChoice(labels) if self.link == "logit" else Choice(labels)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``; (N, C)."""
        rows = self.encoded_rows(X)
        return self.predictive_.probabilities(rows)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row; (N,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def probability_bands(self, X: Any, level: float = 0.95) -> Band:
        """Return class probabilities with credible intervals.

        Parameters
        ----------
        X : table (N, P)
        level : float
            Posterior probability of the interval.

        Returns
        -------
        Band
            Mean over the draws, lower and upper end; (N, C) each.
        """
        rows = self.encoded_rows(X)
        return self.predictive_.bands(rows, level)

    def uncertainty(self, X: Any) -> ClassUncertainty:
        """Split the entropy of the predicted class into noise and what more data could tell."""
        rows = self.encoded_rows(X)
        return self.predictive_.uncertainty(rows)

    def score_report(self, X: Any, y: ArrayLike) -> dict[str, float]:
        """Judge the probabilities: accuracy, nll (the log loss) and Brier score.

        The Brier score is the mean of Σ_c (P(c) - 1[y = c])², from 0 to 2.
        """
        p, labels = self.predict_proba(X), self._places(y)
        check_consistent_length(p, labels)
        return {
            "accuracy": float(np.mean(p.argmax(axis=1) == labels)),
            "nll": -float(np.mean(log_seen(p, labels))),
            "brier": float(np.mean(np.sum((p - np.eye(p.shape[1])[labels]) ** 2, axis=1))),
        }

    def _places(self, y: ArrayLike) -> np.ndarray:
        """Where among ``classes_`` each label is."""
        place = {value: c for c, value in enumerate(self.classes_.tolist())}
        labels = column_or_1d(y).tolist()
        unknown = [value for value in labels if value not in place]
        if unknown:
            raise ValueError(f"y holds {unknown[0]!r}, a class that was not there when fitting")
        return np.array([place[value] for value in labels])

    def predictive_of(self, posterior: Posterior) -> ClassPredictive:
        """What predictions would be made from other draws; also of chains that still run."""
        return ClassPredictive(
            encoder=self.encoder_,
            units=self.units_,
            posterior=posterior,
            chain_weights=self.chain_weights_,
            rows=self.rows_,
            scale=NetworkScale(),
            paths=self.paths,
            classes=self.classes_,
            link=self.link,
        )

    def header(self) -> dict[str, Any]:
        kept = {"classes": self.classes_.tolist(), "classes_dtype": self.classes_.dtype.str}
        return super().header() | kept

    def restore(self, header: dict[str, Any]) -> None:
        super().restore(header)
        kind = header["classes_dtype"]
        if np.dtype(kind).kind == "O":
            kind = object
        self.classes_ = np.array(header["classes"], dtype=kind)
        self.rows_ = replace(self.rows_, seen=self._seen_as(jax.tree.leaves(self.rows_.seen)[0]))


def _values(labels: np.ndarray, outcomes: int) -> np.ndarray:
    """Labels as numbers where one utility is behind them, else one column a class."""
    return labels[:, None].astype(float) if outcomes == 1 else np.eye(outcomes)[labels]
