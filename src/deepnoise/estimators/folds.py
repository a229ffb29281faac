"""The rows of a fit, as its chains know them, and in folds for cross-fitted chains.

A chain that leaves a fold out gets the other rows only, in units that are learnt from them:
nothing that it does depends on the rows of its fold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np

from ..inference.posterior import Plan
from ..inference.streams import FOLDS
from ..model.network import Theta
from ..model.outcome import Choice, Levels, Window
from .outcomes import representative, taken
from .scale import NetworkScale
from .settings import check_float32
from .units import Units

LEAST_KEPT = 2


@dataclass(frozen=True, eq=False)
class Folds:
    """Encoded rows x (N, P), outcomes y as given, and z, what the network is of, by ``scale``.

    ``of`` (N,) are the folds of the rows, ``units`` those of each fold's chains.
    """

    x: np.ndarray
    y: Any
    z: Any
    scale: NetworkScale
    of: np.ndarray
    units: tuple[Units, ...]

    @classmethod
    def drawn(cls, x: np.ndarray, y: Any, scale: NetworkScale, plan: Plan) -> "Folds | None":
        """Rows shuffled by the plan's seed and dealt to its folds, whose sizes differ by one."""
        if not plan.folds:
            return None
        if np.isnan(x).any():
            raise ValueError("cross_fit needs X without missing values; fill them or drop the rows")
        if len(x) < plan.folds + LEAST_KEPT:
            raise ValueError(
                f"cross_fit={plan.folds} needs {plan.folds + LEAST_KEPT} rows or more; got {len(x)}"
            )
        order = np.random.default_rng([FOLDS, plan.seed]).permutation(len(x))
        of = np.empty(len(x), int)
        of[order] = np.arange(len(x)) % plan.folds
        kept = (np.flatnonzero(of != fold) for fold in range(plan.folds))
        z = scale.of(x, y)
        units = tuple(scale.units(x[rows], taken(z, rows)) for rows in kept)
        return cls(x, y, z, scale, of, units)

    @property
    def count(self) -> int:
        """The number of folds."""
        return len(self.units)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a model folder keeps of them."""
        if isinstance(self.y, Window):
            return {"given_x": self.x, "given_lower": self.y.lower, "given_upper": self.y.upper}
        return {"given_x": self.x, "given_y": self.y}

    def kept(self, fold: int) -> np.ndarray:
        """Numbers of the rows that the chains of a fold see."""
        return np.flatnonzero(self.of != fold)

    def held(self, fold: int) -> np.ndarray:
        """Numbers of the rows that the chains of a fold do not see."""
        return np.flatnonzero(self.of == fold)

    def inputs(self, fold: int, x: np.ndarray) -> np.ndarray:
        """Inputs of the network for encoded rows, in the units of a fold's chains."""
        units = self.units[fold].x
        return self.scale.inputs(units.apply(x), units)

    def outcomes(self, fold: int) -> np.ndarray:
        """Numbers (n, Q) for the outcomes that a fold's chains see, in their units."""
        z = self.units[fold].y.apply(taken(self.z, self.kept(fold)))
        return np.nan_to_num(representative(z))

    def given(self, plan: Plan) -> tuple[np.ndarray, Any, np.ndarray]:
        """x (chain, n, P), what was seen of z (chain, n, Q) and which rows count (chain, n).

        n is the number of rows of the fullest chain.
        """
        most = int(max(len(self.kept(fold)) for fold in range(self.count)))

        def filled(a: np.ndarray) -> np.ndarray:
            empty = np.zeros((most - len(a), *a.shape[1:]))
            return np.concatenate([a, empty]).astype(plan.dtype)

        def one(fold: int) -> tuple:
            kept, units = self.kept(fold), self.units[fold]
            x, z = self.inputs(fold, self.x[kept]), units.y.apply(taken(self.z, kept))
            return jax.tree.map(filled, (x, z, np.ones(len(kept))))

        folds = [one(fold) for fold in range(self.count)]
        chains = [folds[chain % self.count] for chain in range(plan.chains)]
        return jax.tree.map(lambda *parts: np.stack(parts), *chains)

    def common(self, draws: Theta, units: Units) -> Theta:
        """Draws (chain, draw, ...) of all chains in the same units: the same laws of z given x.

        Inputs that are constant zeros in all units stay so.
        """
        chains = [self._of_chain(c, draws, units) for c in range(len(draws.beta[0]))]
        return jax.tree.map(lambda *parts: np.stack(parts), *chains)

    def _of_chain(self, chain: int, draws: Theta, units: Units) -> Theta:
        constant = list(self.scale.constant_inputs(units.x))
        own = self.units[chain % self.count]
        theta = jax.tree.map(lambda a: np.asarray(a[chain], float), draws)
        beta, gamma, tau2 = list(theta.beta), list(theta.gamma), list(theta.tau2)
        ratio, shift = _between(units.x, own.x)
        ratio[constant], shift[constant] = 1.0, 0.0
        gamma[0] = gamma[0] + beta[0] @ shift
        beta[0] = beta[0] * ratio
        ratio, shift = _between(own.y, units.y)
        gamma[-1] = gamma[-1] * ratio + shift
        beta[-1] = beta[-1] * ratio[:, None]
        tau2[-1] = tau2[-1] * ratio**2
        return Theta(tuple(beta), tuple(gamma), tuple(tau2), theta.sigma2)


def given_rows(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, Any]:
    """x and y, from :meth:`Folds.arrays`."""
    if "given_lower" in rows:
        return rows["given_x"], Window(rows["given_lower"], rows["given_upper"])
    return rows["given_x"], rows["given_y"]


def _between(one: Any, other: Any) -> tuple[np.ndarray, np.ndarray]:
    """(ratio, shift) so that ratio · v + shift is in the other units what v is in the first."""
    scale, mean = np.array(other.scale), np.array(other.mean)
    return np.array(one.scale) / scale, (np.array(one.mean) - mean) / scale


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows in standardised units, which the chains of a fit were given.

    ``x`` (N, P) are inputs of the network, NaN where missing.  ``y`` (N, Q) has a number for every
    outcome.  ``seen`` is what is known of outcomes: ``y`` itself, windows, levels or choices.
    """

    x: np.ndarray
    y: np.ndarray
    seen: Any

    @classmethod
    def given(cls, plan: Plan, x: np.ndarray, y: Any, seen: Any = None) -> "TrainingRows":
        """Rows in the precision of a plan; ``seen`` is y by default, numbers or windows."""
        numbers = np.nan_to_num(representative(y))
        if plan.dtype == "float32":
            check_float32(x, numbers, "use standardize=True or dtype='float64'")
        numbers = numbers.astype(plan.dtype)
        if isinstance(y, Window):
            seen = Window(y.lower.astype(plan.dtype), y.upper.astype(plan.dtype))
        return cls(x.astype(plan.dtype), numbers, numbers if seen is None else seen)

    def __len__(self) -> int:
        return len(self.x)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a model folder keeps of them, by name."""
        if self.seen is self.y:
            return {"x": self.x, "y": self.y}
        seen = {name: np.asarray(a) for name, a in vars(self.seen).items()}
        return {"x": self.x, "y": self.y, **seen}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "TrainingRows":
        """The inverse of :meth:`arrays`, which may hold other arrays too."""
        for kind in (Window, Levels, Choice):
            names = [part.name for part in fields(kind)]
            if set(names) <= set(arrays):
                return cls(arrays["x"], arrays["y"], kind(*(arrays[name] for name in names)))
        return cls(arrays["x"], arrays["y"], arrays["y"])


def row_arrays(rows: TrainingRows, folds: Folds | None) -> dict[str, np.ndarray]:
    """What a model folder keeps of the rows of a fit."""
    return rows.arrays() | ({} if folds is None else folds.arrays())
