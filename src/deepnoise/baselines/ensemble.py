"""``DeepEnsembleRegressor``: networks from different starts, mixed equally (the paper's DE)."""

from ..estimators import settings
from ..estimators.base import DensityRegressor
from .backprop import GaussianNetwork
from .trained import TrainedNetwork


class DeepEnsembleRegressor(TrainedNetwork, DensityRegressor):
    """Deep ensembles of Lakshminarayanan, Pritzel and Blundell (2017).

    The prediction is the mixture of the members' Gaussians itself, not a Gaussian of its moments.

    Parameters
    ----------
    hidden : tuple of int
        See ``BackpropRegressor``.
    activation : str or PiecewiseLinear
        See ``BackpropRegressor``.
    steps : int, optional
        See ``BackpropRegressor``.
    validation : float
        See ``BackpropRegressor``; every member holds out rows of its own.
    standardize : bool or "scores"
        See ``BackpropRegressor``.
    random_state : int, RandomState or None
        See ``BackpropRegressor``.
    members : int
        Networks, trained side by side.
    adversarial : float
        Size of the adversarial moves of X in training, in standard deviations of a feature; 0 for
        none (the authors use 0.01 of a feature's range).

    Attributes
    ----------
    weights_ : dict of arrays, with a leading axis for the members

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import DeepEnsembleRegressor
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> model = DeepEnsembleRegressor(hidden=(5,), steps=100, random_state=0).fit(x, x[:, 0] ** 2)
    >>> model.predict_density(x).n_components
    5
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        members=5,
        adversarial=0.0,
        steps=None,
        validation=0.1,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.members = members
        self.adversarial = adversarial
        self.steps = steps
        self.validation = validation
        self.standardize = standardize
        self.random_state = random_state

    def _members(self) -> int:
        return settings.count("members", self.members, 1)

    def check_settings(self) -> None:
        super().check_settings()
        self._members()
        settings.not_negative("adversarial", self.adversarial)

    def _network(self) -> GaussianNetwork:
        return GaussianNetwork(*self._shape(), float(self.adversarial))
